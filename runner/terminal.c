/*
 * The terminal of a PTY call: a pair of the sandbox's own devpts (pts(4)). The command has the
 * slave as 0, 1, 2 and controlling terminal; the master is ours, and what is written into it is the
 * host's input only. That a command cannot type into it itself (TIOCSTI) is the filter's business.
 */
#include <sys/ioctl.h>

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "runner/loop.h"

#include "base/banned.h"

#ifndef TIOCGPTPEER
# define TIOCGPTPEER _IO('T', 0x41) /* Linux 4.13: the slave without its name */
#endif

int
terminal_open(int *ret_master, int *ret_slave)
{
	const int unlock = 0;

	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master < 0)
		return -1;
	int slave = -1;
	if (ioctl(master, TIOCSPTLCK, &unlock) == 0)
		slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0) {
		close(master);
		return -1;
	}
	*ret_master = master;
	*ret_slave = slave;
	return 0;
}

int
terminal_resize(int master, uint32_t rows, uint32_t columns)
{
	const struct winsize size = { .ws_row = (unsigned short)rows,
		.ws_col = (unsigned short)columns };

	return ioctl(master, TIOCSWINSZ, &size);
}

/* To whoever is in the foreground: the group that the terminal's own keys would reach. */
void
terminal_signal(int master, int number)
{
	pid_t group = 0;

	if (master >= 0 && ioctl(master, TIOCGPGRP, &group) == 0 && group > 1)
		kill(-group, number);
}

char
terminal_end_of_input(int master)
{
	struct termios settings;

	if (master < 0 || tcgetattr(master, &settings) != 0 || (settings.c_lflag & ICANON) == 0)
		return 0;
	return (char)settings.c_cc[VEOF];
}
