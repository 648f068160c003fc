/*
 * A pull is the one part of a start that takes minutes, so it is told: on a terminal by one line
 * that is written again and again, elsewhere by a line when it begins and one when it has ended.
 * Only numbers come from the engine.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/run.h"

#include "base/banned.h"

static void
put_numbers(struct hl_buf *line, const struct image_progress *progress)
{
	if (progress->layers == 0)
		return;
	hl_buf_putf(line, ": %" PRIu32 " of %" PRIu32 " layers", progress->layers_done,
	    progress->layers);
	if (progress->total != 0)
		hl_buf_putf(line, ", %.1f of %.1f MiB", (double)progress->bytes / 1048576,
		    (double)progress->total / 1048576);
}

/* \r and "erase to the end of the line": nothing of an earlier, longer line stays. A name that
 * does not fit on a line would make each writing a new one, so it is cut.
 */
static void
rewrite_line(const struct image_progress *progress)
{
	struct hl_buf line;

	hl_buf_init(&line, 1024);
	hl_buf_puts(&line, "\r\033[K");
	if (progress->state == IMAGE_PULL_BEGINS || progress->state == IMAGE_PULL_GOES_ON) {
		char name[33];
		snprintf(name, sizeof(name), "%s", progress->image);
		hl_buf_puts(&line, "pulling '");
		hl_buf_printable(&line, name, strlen(name));
		hl_buf_puts(&line, strlen(progress->image) < sizeof(name) ? "'" : "...'");
		put_numbers(&line, progress);
	}
	/* If stderr is gone there is nobody to tell. */
	if (!line.failed && hl_write_full(STDERR_FILENO, line.data, line.len) != 0)
		errno = 0;
	hl_buf_done(&line);
}

void
pulling_tell(void *context, const struct image_progress *progress)
{
	struct pulling *pulling = context;

	if (progress->state == IMAGE_PULL_BEGINS) {
		pulling->since_ms = hl_now_mono_ms();
		pulling->is_on_terminal = !report_is_quiet() && isatty(STDERR_FILENO);
		if (!pulling->is_on_terminal)
			report_note("pulling image '%s'", progress->image);
	}
	if (pulling->is_on_terminal)
		rewrite_line(progress);
	if (progress->state == IMAGE_PULL_ENDS)
		report_note("pulled image '%s' in %.1f s", progress->image,
		    (double)(hl_now_mono_ms() - pulling->since_ms) / 1000);
}
