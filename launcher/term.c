/*
 * The terminal on standard input, in raw mode while a shell inside has it. Whatever ends us, the
 * caller's shell must find it as it was: exit(3), a fatal signal, an abort. Only SIGKILL is past
 * us.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "launcher/face.h"

#include "base/banned.h"

/* Of the process, as the terminal is: a signal handler has no other way to it. */
static struct termios saved;
static volatile sig_atomic_t is_raw;

void
term_restore(void)
{
	if (!is_raw)
		return;
	is_raw = 0;
	/* tcsetattr(3) is safe in a handler (signal-safety(7)). */
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &saved) != 0)
		return; /* the terminal is gone */
}

static void
on_fatal(int number)
{
	term_restore();
	raise(number); /* SA_RESETHAND: now as if there were no handler */
}

static void
watch_fatal(void)
{
	static const int fatal[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGALRM };
	const struct sigaction action = {
		.sa_handler = on_fatal,
		.sa_flags = (int)(SA_RESETHAND | SA_NODEFER),
	};

	for (size_t i = 0; i < HL_ARRAY_SIZE(fatal); i++)
		if (sigaction(fatal[i], &action, NULL) != 0)
			continue;
}

int
term_raw(struct hl_err *err)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &saved) != 0)
		return hl_err_set(err, HLU_22, "standard input is not a terminal");
	if (atexit(term_restore) != 0)
		return hl_err_oom(err);
	watch_fatal();
	raw = saved;
	cfmakeraw(&raw);
	is_raw = 1;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0)
		return 0;
	is_raw = 0;
	return hl_err_sys(err, HLU_22, "the terminal cannot be set");
}

bool
term_size(uint32_t *ret_rows, uint32_t *ret_columns)
{
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
		return false;
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
	return true;
}
