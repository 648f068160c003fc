/*
 * Our arguments, as others see them. /proc/PID/cmdline shows every user of the host the memory that
 * execve(2) has put them in, one behind the other, for as long as a process and its children live.
 * For the one who typed them that is how it is; a keeper outlives them by hours. So they are copied
 * before they are read, and whoever stays writes a title over the place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/launcher.h"

#include "base/banned.h"

int
args_take(int argc, char **argv, struct args *ret_args, struct hl_err *err)
{
	size_t count = argc > 0 ? (size_t)argc : 0;
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += strlen(argv[i]) + 1;
	char **copies = calloc(count + 1, sizeof(*copies));
	char *text = malloc(len + 1);
	if (copies == NULL || text == NULL) {
		free(copies);
		free(text);
		return hl_err_oom(err);
	}
	*ret_args = (struct args){ .argv = copies, .shown = count > 0 ? argv[0] : NULL };
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(argv[i]) + 1;
		if (argv[i] == ret_args->shown + ret_args->shown_len)
			ret_args->shown_len += size;
		copies[i] = memcpy(text, argv[i], size);
		text += size;
	}
	return 0;
}

/* The last byte stays NUL: else the kernel takes what stands behind for a part of the title, which
 * is the environment (proc_pid_cmdline(5)). */
void
args_hide(const struct args *args, const char *name)
{
	if (args->shown_len == 0)
		return;
	explicit_bzero(args->shown, args->shown_len);
	snprintf(args->shown, args->shown_len, "hermes-launch: session %s", name);
}
