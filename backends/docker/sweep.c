/*
 * Containers that nobody removed. hl-engine was killed together with its launcher: each carries the
 * name of its owner, which says whether that launcher still lives. Or they are kept, and the time
 * that they were kept for is over: their owner is who made them, and another launcher may use them
 * by now, so it is the session's lock that says whether somebody does.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/docker/helper.h"
#include "backends/docker/settings.h"
#include "backends/docker/start.h"

#include "base/banned.h"

/* Of an owner that is not here nobody can say whether it lives: its container is left alone while
 * it runs, and goes when it has ended and is not just made. */
static bool
is_left(const char *owner, const char *ended)
{
	switch (docker_owner_look(owner)) {
	case DOCKER_OWNER_DEAD:
		return true;
	case DOCKER_OWNER_ELSEWHERE:
		return strcmp(ended, "ended") == 0;
	case DOCKER_OWNER_LIVES:
	case DOCKER_OWNER_MALFORMED:
		return false;
	}
	return false;
}

/* What cannot be read is not over. */
static bool
is_over(const char *lease, const char *since)
{
	struct hl_err ignored = { 0 };
	uint64_t seconds, begin;
	time_t now = time(NULL);

	return hl_parse_u64(lease, 0, UINT32_MAX, &seconds, &ignored) == 0 &&
	       hl_parse_u64(since, 1, UINT32_MAX, &begin, &ignored) == 0 && now > 0 &&
	       begin + seconds <= (uint64_t)now;
}

/* name: "" = all of ours. */
static int
ask_list(struct docker_helper *helper, const char *name, struct hl_strv *ret_items,
    struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, 1024);
	hl_wire_put_u8(&request, ENGINE_LIST);
	hl_wire_put_string(&request, name);
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_LISTED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	hl_wire_strv(&wire, ret_items);
	bool is_good = hl_wire_is_complete(&wire) && !ret_items->failed &&
		       ret_items->len % ENGINE_LIST_FIELDS == 0;
	hl_buf_done(&answer);
	return is_good ? 0 : hl_peer_malformed(&helper->peer, err);
}

struct sweep {
	const struct engine_place *place;
	struct docker_helper helper;
	char digest[HL_SHA256_HEX_SIZE]; /* of our state directory */
	const char *session;             /* to be forgotten; NULL = all that are over */
	size_t removed;
};

static int
take_away(struct sweep *sweep, char *const *item, bool is_forced, struct hl_err *err)
{
	const struct docker_remove_call call = { item[ENGINE_LIST_NAME], item[ENGINE_LIST_RUN],
		is_forced };

	if (docker_helper_remove(&sweep->helper, &call, err) != 0)
		return -1;
	sweep->removed++;
	return 0;
}

static int
take_kept_away(struct sweep *sweep, char *const *item, struct hl_err *err)
{
	if (take_away(sweep, item, true, err) != 0)
		return -1;
	docker_keep_forget(sweep->place->state_dir, item[ENGINE_LIST_NAME]);
	return 0;
}

/* What was told of it is older than our hold of its session: one that was used between the two has
 * a lease that begins later, or is another one of that name. */
static int
take_held_away(struct sweep *sweep, const char *name, const char *run, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv items;
	int status = 0;

	hl_strv_init(&items, (size_t)ENGINE_LIST_MAX * ENGINE_LIST_FIELDS);
	if (ask_list(&sweep->helper, name, &items, err) != 0)
		return -1;
	for (size_t i = 0; i + ENGINE_LIST_FIELDS <= items.len; i += ENGINE_LIST_FIELDS) {
		char *const *item = &items.v[i];
		if (strcmp(item[ENGINE_LIST_NAME], name) == 0 &&
		    strcmp(item[ENGINE_LIST_RUN], run) == 0 &&
		    is_over(item[ENGINE_LIST_LEASE], item[ENGINE_LIST_SINCE]) &&
		    docker_owner_look(item[ENGINE_LIST_OWNER]) != DOCKER_OWNER_LIVES &&
		    take_kept_away(sweep, item, err) != 0)
			status = -1;
	}
	return status;
}

/* Of another state directory's nobody here can take the session: one that has ended is asked to be
 * removed as such, and an engine does not do that when it has been started meanwhile. */
static int
sweep_kept(struct sweep *sweep, char *const *item, struct hl_err *err)
{
	const struct engine_place *place = sweep->place;
	const char *session = item[ENGINE_LIST_SESSION];
	bool is_own = strcmp(item[ENGINE_LIST_PLACE], sweep->digest) == 0;

	if (sweep->session != NULL)
		return is_own && strcmp(session, sweep->session) == 0
			   ? take_kept_away(sweep, item, err)
			   : 0;
	if (!is_over(item[ENGINE_LIST_LEASE], item[ENGINE_LIST_SINCE]))
		return 0;
	if (!is_own) {
		bool is_dead = is_left(item[ENGINE_LIST_OWNER], item[ENGINE_LIST_STATE]);
		bool has_ended = strcmp(item[ENGINE_LIST_STATE], "ended") == 0;
		return is_dead && has_ended ? take_away(sweep, item, false, err) : 0;
	}
	if (place->hold == NULL || !place->hold(place->context, session))
		return 0;
	int status = take_held_away(sweep, item[ENGINE_LIST_NAME], item[ENGINE_LIST_RUN], err);
	place->release(place->context);
	return status;
}

static int
sweep_one(struct sweep *sweep, char *const *item, struct hl_err *err)
{
	if (item[ENGINE_LIST_LEASE][0] != '\0')
		return sweep_kept(sweep, item, err);
	if (sweep->session != NULL || !is_left(item[ENGINE_LIST_OWNER], item[ENGINE_LIST_STATE]))
		return 0;
	return take_away(sweep, item, true, err);
}

static int
sweep_all(struct sweep *sweep, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv items;
	struct docker_opened opened = { 0 };
	const struct engine_place *place = sweep->place;

	docker_place(place->state_dir, sweep->digest);
	hl_strv_init(&items, (size_t)ENGINE_LIST_MAX * ENGINE_LIST_FIELDS);
	if (docker_helper_reach(&sweep->helper,
		&(struct docker_reach){ place->helper_path, place->endpoint, 0 }, &opened, err) < 0)
		return -1;
	docker_opened_done(&opened);
	int status = ask_list(&sweep->helper, "", &items, err);
	/* A list that was refused is no list, however much of it was read. */
	const size_t len = status == 0 ? items.len : 0;
	/* One that cannot be removed does not keep the others; it is told behind them. */
	for (size_t i = 0; i + ENGINE_LIST_FIELDS <= len && !sweep->helper.peer.is_broken;
	     i += ENGINE_LIST_FIELDS)
		if (sweep_one(sweep, &items.v[i], err) != 0)
			status = -1;
	docker_helper_end(&sweep->helper);
	return status;
}

int
engine_sweep(const struct engine_place *place, size_t *ret_removed, struct hl_err *err)
{
	struct sweep sweep = { .place = place };
	int status = sweep_all(&sweep, err);

	*ret_removed = sweep.removed;
	return status;
}

int
engine_forget(const struct engine_place *place, const char *session, size_t *ret_removed,
    struct hl_err *err)
{
	struct sweep sweep = { .place = place, .session = session };
	int status = sweep_all(&sweep, err);

	*ret_removed = sweep.removed;
	return status;
}
