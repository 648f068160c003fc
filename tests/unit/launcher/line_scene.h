/*
 * One end of a socket read and written in lines, and the other, which a test holds.
 */
#ifndef HL_TESTS_UNIT_LAUNCHER_LINE_SCENE_H
#define HL_TESTS_UNIT_LAUNCHER_LINE_SCENE_H

#include <sys/socket.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/line.h"

struct line_scene {
	struct hl_loop *loop;
	struct line line;
	int peer;
};

static void
on_drained(void *context)
{
	(void)context;
}

static void
line_scene_begin(struct line_scene *scene, const struct line_calls *calls)
{
	struct hl_err err = { 0 };
	int ends[2];

	assert_int_equal(hl_loop_new(&scene->loop, &err), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	int fds[2] = { ends[0], fcntl(ends[0], F_DUPFD_CLOEXEC, 3) };
	assert_int_equal(line_open(&scene->line, scene->loop, fds, calls, &err), 0);
	scene->peer = ends[1];
}

static void
line_scene_finish(struct line_scene *scene)
{
	line_close(&scene->line);
	hl_loop_free(scene->loop);
	close(scene->peer);
}

#endif
