/*
 * hl-seal: the passphrase, from a descriptor or from the terminal without echo. It is in this
 * process's memory only, and wiped there.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "policy/seal/seal.h"

#include "base/banned.h"

/* Signals that would end us and leave the terminal without echo. */
static const int deadly[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM };

void
seal_secret_done(struct seal_secret *secret)
{
	explicit_bzero(secret, sizeof(*secret));
}

static int
cannot_read(struct hl_err *err)
{
	return errno == EINTR ? hl_err_set(err, HLS_12, "interrupted while the passphrase was read")
			      : hl_err_sys(err, HLS_12, "cannot read the passphrase");
}

/* Signals that are blocked come in here alone, so that none is lost between a look and a read. */
static int
wait_for_byte(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	sigset_t none;

	sigemptyset(&none);
	return ppoll(&ready, 1, NULL, &none) == 1 ? 0 : -1;
}

/* One line, byte by byte, so that what is behind it stays for whoever reads on. */
static int
read_line(int fd, struct seal_secret *secret, struct hl_err *err)
{
	secret->len = 0;
	for (;;) {
		char byte;
		ssize_t n = wait_for_byte(fd) == 0 ? read(fd, &byte, 1) : -1;
		if (n < 0)
			return cannot_read(err);
		if (n == 0 || byte == '\n')
			break;
		if (byte == '\0')
			return hl_err_set(err, HLS_12, "the passphrase has a NUL byte in it");
		if (secret->len == SEAL_SECRET_MAX)
			return hl_err_set(err, HLS_12, "the passphrase is longer than %d bytes",
			    SEAL_SECRET_MAX);
		secret->bytes[secret->len++] = byte;
	}
	secret->bytes[secret->len] = '\0';
	return secret->len > 0 ? 0 : hl_err_set(err, HLS_12, "the passphrase is empty");
}

/* Only to make ppoll(2) return. */
static void
on_signal(int number)
{
	(void)number;
}

static int
ask(int fd, const char *prompt, struct seal_secret *secret, struct hl_err *err)
{
	if (hl_write_full(fd, prompt, strlen(prompt)) != 0)
		return hl_err_sys(err, HLS_12, "cannot write to the terminal");
	int status = read_line(fd, secret, err);
	/* The newline that was typed is not echoed either. */
	(void)!write(fd, "\n", 1);
	return status;
}

static int
ask_twice(int fd, struct seal_secret *secret, struct hl_err *err)
{
	struct seal_secret again = { 0 };

	int status = ask(fd, "New passphrase: ", secret, err);
	if (status == 0)
		status = ask(fd, "Once more: ", &again, err);
	if (status == 0 &&
	    (again.len != secret->len || memcmp(again.bytes, secret->bytes, again.len) != 0))
		status = hl_err_set(err, HLS_12, "the two passphrases differ");
	seal_secret_done(&again);
	return status;
}

/* For good: who was interrupted here is about to end. */
static void
hold_signals(void)
{
	struct sigaction interrupt = { .sa_handler = on_signal };
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < HL_ARRAY_SIZE(deadly); i++) {
		sigaddset(&held, deadly[i]);
		sigaction(deadly[i], &interrupt, NULL);
	}
	sigprocmask(SIG_BLOCK, &held, NULL);
}

static int
ask_quietly(int fd, bool is_new, struct seal_secret *secret, struct hl_err *err)
{
	struct termios before, quiet;

	if (tcgetattr(fd, &before) != 0)
		return hl_err_sys(err, HLS_12, "the passphrase's terminal is none");
	hold_signals();
	quiet = before;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	quiet.c_lflag |= ICANON | ISIG;
	/* A stop would leave it without echo as well. */
	quiet.c_cc[VSUSP] = _POSIX_VDISABLE;
	int status = tcsetattr(fd, TCSAFLUSH, &quiet) == 0
			 ? 0
			 : hl_err_sys(err, HLS_12, "cannot turn the terminal's echo off");
	if (status == 0)
		status = is_new ? ask_twice(fd, secret, err) : ask(fd, "Passphrase: ", secret, err);
	(void)tcsetattr(fd, TCSAFLUSH, &before);
	return status;
}

int
seal_secret_read(enum seal_passphrase from, int fd, bool is_new, struct seal_secret *ret_secret,
    struct hl_err *err)
{
	struct seal_secret secret = { 0 };
	int status;

	if (from == SEAL_PASSPHRASE_TERMINAL) {
		status = ask_quietly(fd, is_new, &secret, err);
	} else if (from == SEAL_PASSPHRASE_DESCRIPTOR) {
		status = read_line(fd, &secret, err);
	} else {
		status =
		    hl_err_set(err, HLS_12, "the key has a passphrase, and there is no terminal");
		hl_err_help(err, "give it with --passphrase-fd N");
	}
	if (status == 0)
		*ret_secret = secret;
	seal_secret_done(&secret);
	return status;
}
