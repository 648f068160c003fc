/*
 * hl-seal: asked by the launcher over descriptor 3, and ended with it. It holds a private key for
 * as long as one answer takes.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include <openssl/crypto.h>

#include "policy/seal/seal.h"

#include "base/banned.h"

/* false: the launcher is gone, or is not the launcher. */
static bool
serve(const unsigned char *packet, size_t len)
{
	struct hl_buf out;

	hl_buf_init(&out, SEAL_PACKET_MAX);
	bool is_sent = seal_answer(packet, len, &out) == 0 &&
		       send(SEAL_CONTROL_FD, out.data, out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
	hl_buf_done(&out);
	return is_sent;
}

/* No core, no debugger of the same user, no set-user-ID program, no configuration of OpenSSL's that
 * could load code. */
static bool
close_up(void)
{
	const struct rlimit none = { 0, 0 };

	return prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       setrlimit(RLIMIT_CORE, &none) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR &&
	       OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) == 1;
}

int
main(void)
{
	struct hl_err err = { 0 };
	unsigned char *packet HL_AUTO_FREE = malloc(SEAL_PACKET_MAX);

	if (packet == NULL || hl_fd_ensure_std(&err) != 0 || !close_up())
		return 1;
	for (;;) {
		ssize_t n = recv(SEAL_CONTROL_FD, packet, SEAL_PACKET_MAX, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			return 0;
		if (n < 0 || !serve(packet, (size_t)n))
			return 1;
	}
}
