/*
 * A peer that speaks in lines: one message a line, in both directions, over two descriptors or one.
 * Private to launcher/.
 *
 *  1. line_open() with a loop; on_line() is called for each line, without its end.
 *  2. line_put() queues bytes. While more than LINE_HIGH wait to be written nothing is read, so
 * that a peer that asks and does not listen stops itself and costs a bounded amount of memory.
 *  3. on_end() once: end of file, an error, a line longer than LINE_MAX_BYTES, more queued than
 *     LINE_QUEUE_MAX, or no memory for what was read.
 *  4. line_close() at any time, also inside the callbacks.
 */
#ifndef HL_LAUNCHER_LINE_H
#define HL_LAUNCHER_LINE_H

#include <stdbool.h>

#include "base/base.h"

enum {
	LINE_MAX_BYTES = 1 << 20,
	LINE_HIGH = 1 << 20,
	LINE_QUEUE_MAX = 256 << 20,
};

struct line_calls {
	void (*on_line)(void *context, const char *line, size_t len);
	void (*on_end)(void *context, const char *why); /* why NULL: end of file */
	void (*on_drained)(void *context);              /* nothing waits to be written */
	void *context;
};

struct line {
	struct hl_loop *loop;
	struct line_calls calls;
	int in_fd, out_fd; /* ours */
	struct hl_source *in, *out;
	struct hl_buf from, to;
	size_t sent; /* of `to`, written already */
	bool is_ended, is_reading, is_in_callback, is_closed;
	bool writes_pages; /* out_fd may block: at most PIPE_BUF bytes at a time (pipe(7)) */
};

/* Takes both descriptors, which must differ; on failure they are closed. */
int line_open(struct line *line, struct hl_loop *loop, const int fds[2],
    const struct line_calls *calls, struct hl_err *err) HL_MUST_CHECK;
void line_put(struct line *line, const void *bytes, size_t len);
/* Ends it as an error of its own does; what is queued is still written. */
void line_fail(struct line *line, const char *why);
size_t line_queued(const struct line *line);
/* Something is queued, and there is still somebody to read it. */
bool line_is_writing(const struct line *line);
/* Writes what is queued, for at most ms, then nothing more is read or written. */
void line_flush(struct line *line, unsigned ms);
void line_close(struct line *line);

#endif
