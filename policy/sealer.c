/*
 * hl-seal as a peer of the launcher: made with nothing of ours but, to sign, the descriptors of a
 * key and of a passphrase.
 */
#include "policy/sealer.h"

#include <sys/signalfd.h>

#include <signal.h>
#include <string.h>

#include "base/banned.h"

/* While somebody may be asked for a passphrase. */
enum {
	PERSON_MS = 40 * 60 * 1000,
};

/* In our session, because it may ask at the terminal. All signatures of a note are checked in
 * milliseconds: the times are for a broken hl-seal. */
const struct hl_peer_kind policy_sealer = {
	.name = "hl-seal",
	.broken = HLS_13,
	.cancelled = HLS_13,
	.packet_max = SEAL_PACKET_MAX,
	.fds_len = 2,
	.answer_ms = 30 * 1000,
	.end_ms = 5 * 1000,
	.failed = SEAL_FAILED,
};

const int policy_sealer_signals[SEALER_SIGNALS] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

/* Readable when a signal waits that would end us, were it not held back. One that is not held back
 * ends us at once, and one that is ignored is not to end anything. */
static int
open_cancel(struct hl_err *err)
{
	const int *deadly = policy_sealer_signals;
	sigset_t held, set;

	sigemptyset(&set);
	if (sigprocmask(SIG_BLOCK, NULL, &held) != 0)
		return hl_err_sys(err, HLS_13, "sigprocmask");
	for (size_t i = 0; i < SEALER_SIGNALS; i++) {
		struct sigaction action;
		if (sigismember(&held, deadly[i]) == 1 &&
		    sigaction(deadly[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&set, deadly[i]);
	}
	/* Never read: whoever holds them back takes them. */
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : hl_err_sys(err, HLS_13, "signalfd");
}

int
policy_sealer_start(struct hl_peer *sealer, const struct sealer_start *start, struct hl_err *err)
{
	_Static_assert((int)SEAL_KEY_FD == SEAL_CONTROL_FD + 1, "the first one that is given");
	_Static_assert((int)SEAL_PASSPHRASE_FD == SEAL_KEY_FD + 1, "the second one");
	const int fds[] = { start->key_fd, start->passphrase_fd };

	*sealer = (struct hl_peer){ .pidfd = -1, .control = -1, .cancel_fd = -1 };
	if (start->path == NULL)
		return hl_err_set(err, HLS_13,
		    "'hl-seal' is not beside 'hermes-launch', and only it checks signatures");
	int cancel HL_AUTO_FD = open_cancel(err);
	if (cancel < 0 || hl_peer_start(sealer, &policy_sealer, start->path, fds, err) != 0)
		return -1;
	sealer->cancel_fd = hl_take_fd(&cancel);
	if (start->passphrase_fd >= 0)
		sealer->answer_ms = PERSON_MS;
	return 0;
}

void
policy_sealer_end(struct hl_peer *sealer)
{
	const bool is_there = sealer->pid > 0;

	/* It has nothing to clean up, and may wait for a person: told to end at once. */
	if (sealer->is_broken)
		sealer->end_ms = 0;
	hl_peer_end(sealer);
	if (is_there)
		hl_close_ptr(&sealer->cancel_fd);
	sealer->cancel_fd = -1;
}

static int
read_verdicts(struct hl_peer *sealer, const struct hl_buf *answer, size_t n, bool *is_right,
    struct hl_err *err)
{
	struct hl_wire wire;

	hl_wire_init(&wire, answer->data + 1, answer->len - 1);
	bool is_good = hl_wire_u32(&wire) == n;
	for (size_t i = 0; is_good && i < n; i++) {
		uint8_t verdict = hl_wire_u8(&wire);
		is_good = verdict <= 1;
		is_right[i] = verdict == 1;
	}
	if (is_good && hl_wire_is_complete(&wire))
		return 0;
	memset(is_right, 0, n * sizeof(*is_right));
	return hl_peer_malformed(sealer, err);
}

int
policy_sealer_verify(struct hl_peer *sealer, const struct sealer_claim *claims, size_t n,
    bool *is_right, struct hl_err *err)
{
	struct hl_buf request, answer;

	HL_BUG_ON(n > NOTE_SIGNATURES_MAX);
	hl_buf_init(&request, SEAL_PACKET_MAX);
	hl_wire_put_u8(&request, SEAL_VERIFY);
	hl_wire_put_u32(&request, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		hl_wire_put_bytes(&request, claims[i].text, claims[i].text_len);
		hl_wire_put_bytes(&request, claims[i].key->bytes, NOTE_KEY_SIZE);
		hl_wire_put_bytes(&request, claims[i].signature, NOTE_SIGNATURE_SIZE);
	}
	int status = hl_peer_ask(sealer, &request, SEAL_VERIFIED, &answer, err);
	hl_buf_done(&request);
	if (status != 0)
		return -1;
	status = read_verdicts(sealer, &answer, n, is_right, err);
	hl_buf_done(&answer);
	return status;
}
