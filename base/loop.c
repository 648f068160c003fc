/*
 * The event loop: epoll(7) behind callbacks, deadlines in a binary heap.
 *
 * A source that is removed while a turn is being handed out may stand further down in the kernel's
 * report, so it is only marked then and freed when the turn is over: what was removed is never
 * called again. The runner has a loop of its own and does not use this one.
 */
#include <sys/epoll.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#include "base/banned.h"

enum {
	EVENTS = 64,
	NOT_IN_HEAP = -1
};

struct hl_source {
	struct hl_loop *loop;
	struct hl_watch watch;
	struct hl_source *next, *previous; /* of the loop's list, or of its dead */
	ssize_t place;                     /* in the heap, or NOT_IN_HEAP */
	bool is_file;                      /* a regular file: always ready */
	bool is_dead;
};

struct hl_loop {
	int epoll;
	bool is_stopped, is_turning;
	struct hl_source *sources, *dead;
	struct hl_source **heap; /* deadlines, the earliest first */
	size_t heap_len, heap_capacity;
	size_t files; /* sources that are always ready */
};

int
hl_loop_new(struct hl_loop **ret_loop, struct hl_err *err)
{
	struct hl_loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return hl_err_oom(err);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		free(loop);
		return hl_err_sys(err, HLI_02, "cannot make an epoll descriptor");
	}
	*ret_loop = loop;
	return 0;
}

static void
bury(struct hl_loop *loop)
{
	while (loop->dead != NULL) {
		struct hl_source *next = loop->dead->next;
		free(loop->dead);
		loop->dead = next;
	}
}

void
hl_loop_free(struct hl_loop *loop)
{
	if (loop == NULL)
		return;
	HL_BUG_ON(loop->is_turning);
	while (loop->sources != NULL)
		hl_source_remove(loop->sources);
	bury(loop);
	free(loop->heap);
	close(loop->epoll);
	free(loop);
}

/* ------------------------------------------------------------------------------------------------
 * The heap
 */
static void
heap_put(struct hl_loop *loop, size_t place, struct hl_source *source)
{
	loop->heap[place] = source;
	source->place = (ssize_t)place;
}

static void
heap_up(struct hl_loop *loop, size_t place)
{
	struct hl_source *source = loop->heap[place];

	while (place > 0) {
		size_t parent = (place - 1) / 2;
		if (loop->heap[parent]->watch.when_ms <= source->watch.when_ms)
			break;
		heap_put(loop, place, loop->heap[parent]);
		place = parent;
	}
	heap_put(loop, place, source);
}

static void
heap_down(struct hl_loop *loop, size_t place)
{
	struct hl_source *source = loop->heap[place];

	for (;;) {
		size_t child = 2 * place + 1;
		if (child >= loop->heap_len)
			break;
		if (child + 1 < loop->heap_len &&
		    loop->heap[child + 1]->watch.when_ms < loop->heap[child]->watch.when_ms)
			child++;
		if (loop->heap[child]->watch.when_ms >= source->watch.when_ms)
			break;
		heap_put(loop, place, loop->heap[child]);
		place = child;
	}
	heap_put(loop, place, source);
}

static int
heap_add(struct hl_loop *loop, struct hl_source *source)
{
	if (loop->heap_len == loop->heap_capacity) {
		size_t capacity = loop->heap_capacity > 0 ? loop->heap_capacity * 2 : 16;
		struct hl_source **heap =
		    reallocarray(loop->heap, capacity, sizeof(struct hl_source *));
		if (heap == NULL)
			return -1;
		loop->heap = heap;
		loop->heap_capacity = capacity;
	}
	loop->heap[loop->heap_len] = source;
	heap_up(loop, loop->heap_len++);
	return 0;
}

static void
heap_remove(struct hl_loop *loop, struct hl_source *source)
{
	size_t place = (size_t)source->place;
	struct hl_source *last = loop->heap[--loop->heap_len];

	source->place = NOT_IN_HEAP;
	if (last == source)
		return;
	heap_put(loop, place, last);
	heap_up(loop, place);
	heap_down(loop, (size_t)last->place);
}

/* ------------------------------------------------------------------------------------------------
 * Sources
 */
static int
watch_fd(struct hl_loop *loop, struct hl_source *source, struct hl_err *err)
{
	struct epoll_event event = { .events = source->watch.events, .data.ptr = source };

	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, source->watch.fd, &event) == 0)
		return 0;
	if (errno != EPERM)
		return hl_err_sys(err, HLI_02, "cannot watch descriptor %d", source->watch.fd);
	source->is_file = true;
	loop->files++;
	return 0;
}

int
hl_loop_add(struct hl_loop *loop, const struct hl_watch *watch, struct hl_source **ret_source,
    struct hl_err *err)
{
	struct hl_source *source = calloc(1, sizeof(*source));

	if (source == NULL)
		return hl_err_oom(err);
	source->loop = loop;
	source->watch = *watch;
	source->place = NOT_IN_HEAP;
	if (watch->fd >= 0 && watch_fd(loop, source, err) != 0) {
		free(source);
		return -1;
	}
	if (watch->fd < 0 && heap_add(loop, source) != 0) {
		free(source);
		return hl_err_oom(err);
	}
	source->next = loop->sources;
	if (source->next != NULL)
		source->next->previous = source;
	loop->sources = source;
	*ret_source = source;
	return 0;
}

void
hl_source_events(struct hl_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	if (source->is_dead || source->watch.fd < 0 || source->watch.events == events)
		return;
	source->watch.events = events;
	/* Cannot fail: it is there, and a change allocates nothing. */
	if (!source->is_file)
		HL_BUG_ON(
		    epoll_ctl(source->loop->epoll, EPOLL_CTL_MOD, source->watch.fd, &event) != 0);
}

void
hl_source_remove(struct hl_source *source)
{
	if (source == NULL || source->is_dead)
		return;
	struct hl_loop *loop = source->loop;
	source->is_dead = true;
	if (source->watch.fd >= 0 && !source->is_file)
		epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->watch.fd, NULL);
	if (source->is_file)
		loop->files--;
	if (source->place != NOT_IN_HEAP)
		heap_remove(loop, source);
	if (source->previous != NULL)
		source->previous->next = source->next;
	else
		loop->sources = source->next;
	if (source->next != NULL)
		source->next->previous = source->previous;
	source->next = loop->dead;
	loop->dead = source;
	if (!loop->is_turning)
		bury(loop);
}

/* ------------------------------------------------------------------------------------------------
 * Turns
 */
static bool
has_ready_file(const struct hl_loop *loop)
{
	if (loop->files == 0)
		return false;
	for (const struct hl_source *source = loop->sources; source != NULL; source = source->next)
		if (source->is_file && source->watch.events != 0)
			return true;
	return false;
}

static int
patience(const struct hl_loop *loop)
{
	enum {
		LONGEST = 3600 * 1000
	};

	if (has_ready_file(loop))
		return 0;
	if (loop->heap_len == 0)
		return -1;
	uint64_t now = hl_now_mono_ms(), when = loop->heap[0]->watch.when_ms;
	if (when <= now)
		return 0;
	return when - now < LONGEST ? (int)(when - now) : LONGEST;
}

static void
call(struct hl_source *source, uint32_t events)
{
	if (!source->is_dead)
		source->watch.fn(source->watch.context, events);
}

/* Only those that were there when the turn began: one that is added meanwhile waits for the next,
 * so that a deadline which sets itself again in the past cannot keep everybody else waiting. */
static void
call_deadlines(struct hl_loop *loop)
{
	size_t most = loop->heap_len;
	uint64_t now = most > 0 ? hl_now_mono_ms() : 0;

	for (; most > 0 && loop->heap_len > 0 && !loop->is_stopped; most--) {
		struct hl_source *source = loop->heap[0];
		if (source->watch.when_ms > now)
			break;
		hl_loop_fn *fn = source->watch.fn;
		void *context = source->watch.context;
		hl_source_remove(source);
		fn(context, 0);
	}
}

static void
call_files(struct hl_loop *loop)
{
	struct hl_source *source = loop->files > 0 ? loop->sources : NULL;

	while (source != NULL && !loop->is_stopped) {
		/* Removed meanwhile, its next leads into the dead: they are not called. */
		struct hl_source *next = source->next;
		if (source->is_file && source->watch.events != 0)
			call(source, source->watch.events);
		if (next != NULL && next->is_dead)
			break; /* the rest has its turn next time */
		source = next;
	}
}

int
hl_loop_run(struct hl_loop *loop, struct hl_err *err)
{
	struct epoll_event events[EVENTS];

	loop->is_stopped = false;
	while (!loop->is_stopped) {
		int n = epoll_wait(loop->epoll, events, EVENTS, patience(loop));
		if (n < 0 && errno != EINTR)
			return hl_err_sys(err, HLI_02, "cannot wait for events");
		loop->is_turning = true;
		for (int i = 0; i < n && !loop->is_stopped; i++)
			call(events[i].data.ptr, events[i].events);
		call_files(loop);
		call_deadlines(loop);
		loop->is_turning = false;
		bury(loop);
	}
	return 0;
}

void
hl_loop_stop(struct hl_loop *loop)
{
	loop->is_stopped = true;
}
