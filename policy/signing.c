/*
 * Keys and signatures made for a person: opens the files, lets hl-seal do what is secret, and
 * writes what is public.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/note.h"
#include "policy/policy.h"
#include "policy/sealer.h"
#include "policy/signatures.h"

#include "base/banned.h"

/* hl-seal for one question, with signals held back: an interruption ends the wait, and we clean up
 * before it reaches us. */
struct errand {
	struct hl_peer sealer;
	sigset_t before;
	int passphrase_fd; /* of ours, or -1 */
	enum seal_passphrase passphrase;
};

static void
hold_signals(sigset_t *ret_before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SEALER_SIGNALS; i++)
		sigaddset(&set, policy_sealer_signals[i]);
	sigprocmask(SIG_BLOCK, &set, ret_before);
}

static int
open_passphrase(const struct policy_sign_request *request, struct errand *errand,
    struct hl_err *err)
{
	errand->passphrase = SEAL_PASSPHRASE_NONE;
	if (request->passphrase_fd >= 0) {
		errand->passphrase = SEAL_PASSPHRASE_DESCRIPTOR;
		errand->passphrase_fd = fcntl(request->passphrase_fd, F_DUPFD_CLOEXEC, 3);
		return errand->passphrase_fd >= 0
			   ? 0
			   : hl_err_sys(err, HLS_12, "--passphrase-fd %d", request->passphrase_fd);
	}
	errand->passphrase_fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (errand->passphrase_fd >= 0)
		errand->passphrase = SEAL_PASSPHRASE_TERMINAL;
	return 0;
}

static int
errand_begin(struct errand *errand, const struct policy_sign_request *request, int key_fd,
    struct hl_err *err)
{
	*errand = (struct errand){ .passphrase_fd = -1 };
	hold_signals(&errand->before);
	if (open_passphrase(request, errand, err) != 0)
		return -1;
	const struct sealer_start start = { request->seal_path, key_fd, errand->passphrase_fd };
	return policy_sealer_start(&errand->sealer, &start, err);
}

static void
errand_end(struct errand *errand)
{
	policy_sealer_end(&errand->sealer);
	hl_close_ptr(&errand->passphrase_fd);
	errand->passphrase_fd = -1;
	sigprocmask(SIG_SETMASK, &errand->before, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * A new key
 */
static int
ask_for_key(struct errand *errand, const struct policy_sign_request *request,
    struct note_key *ret_key, struct hl_err *err)
{
	struct hl_buf question, answer;
	struct hl_wire wire;
	size_t len = 0;

	if (!request->wants_passphrase && request->passphrase_fd < 0)
		errand->passphrase = SEAL_PASSPHRASE_NONE;
	else if (errand->passphrase == SEAL_PASSPHRASE_NONE)
		return hl_err_set(err, HLS_12, "there is no terminal to ask for a passphrase");
	hl_buf_init(&question, SEAL_PACKET_MAX);
	hl_wire_put_u8(&question, SEAL_KEYGEN);
	hl_wire_put_u8(&question, (uint8_t)errand->passphrase);
	hl_wire_put_string(&question, request->signer);
	int status = hl_peer_ask(&errand->sealer, &question, SEAL_MADE, &answer, err);
	hl_buf_done(&question);
	if (status != 0)
		return -1;
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	const void *bytes = hl_wire_bytes(&wire, &len);
	if (hl_wire_is_complete(&wire) && len == NOTE_KEY_SIZE)
		policy_note_key_init(ret_key, request->signer, bytes);
	else
		status = hl_peer_malformed(&errand->sealer, err);
	hl_buf_done(&answer);
	return status;
}

/* Never over a file that is there. */
static int
create(const char *path, mode_t mode, enum hl_code code, struct hl_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd >= 0 ? fd : hl_err_sys(err, code, "cannot create '%s'", path);
}

static int
write_public(const char *path, const struct hl_buf *text, struct hl_err *err)
{
	int fd HL_AUTO_FD = create(path, 0644, HLS_10, err);

	if (fd < 0)
		return -1;
	if (hl_write_full(fd, text->data, text->len) == 0 && hl_write_full(fd, "\n", 1) == 0 &&
	    fsync(fd) == 0)
		return 0;
	hl_err_sys(err, HLS_10, "cannot write '%s'", path);
	(void)unlink(path);
	return -1;
}

static int
make_key(const struct policy_sign_request *request, const char *public_path,
    struct hl_buf *ret_public, struct hl_err *err)
{
	struct errand errand;
	struct note_key key;
	int fd HL_AUTO_FD = create(request->key_file, 0600, HLS_11, err);

	if (fd < 0)
		return -1;
	int status = errand_begin(&errand, request, fd, err);
	if (status == 0)
		status = ask_for_key(&errand, request, &key, err);
	if (status == 0) {
		policy_note_put_key(ret_public, &key);
		status = hl_buf_check(ret_public, "public key", err);
	}
	if (status == 0)
		status = write_public(public_path, ret_public, err);
	/* Half a key is none. */
	if (status != 0)
		(void)unlink(request->key_file);
	errand_end(&errand);
	return status;
}

int
policy_keygen(const struct policy_sign_request *request, struct hl_buf *ret_public,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf path = { 0 };

	hl_buf_init(ret_public, NOTE_KEY_TEXT_MAX);
	hl_buf_init(&path, 4096);
	hl_buf_putf(&path, "%s.pub", request->key_file);
	if (hl_buf_check(&path, "name of the key", err) != 0)
		return -1;
	if (!policy_note_is_key_name(request->signer, strlen(request->signer))) {
		hl_err_set(err, HLU_01, "'%.80s' is no name for a key", request->signer);
		return hl_err_help(err, "1 to 128 of letters, digits and . _ / : @ -");
	}
	return make_key(request, path.data, ret_public, err);
}

/* ------------------------------------------------------------------------------------------------
 * A signature
 */
static int
open_key(const char *path, struct hl_err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return hl_err_sys(err, errno == ENOENT ? HLU_02 : HLS_11,
		    "cannot open the private key '%s'", path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) == 0 &&
	    (st.st_uid == geteuid() || st.st_uid == 0))
		return fd;
	hl_close_ptr(&fd);
	hl_err_set(err, HLS_11, "the private key '%s' is not a file of yours alone", path);
	return hl_err_help(err, "chmod 600 '%.200s'", path);
}

/* The name of the key is the file's, or the caller's where the file has none. */
static int
settle_name(const struct policy_sign_request *request, const char *name, const char **ret_name,
    struct hl_err *err)
{
	*ret_name = name[0] != '\0' ? name : request->signer;
	if (*ret_name == NULL) {
		hl_err_set(err, HLU_01, "the key file does not say the key's name");
		return hl_err_help(err, "give it with --signer NAME");
	}
	if (!policy_note_is_key_name(*ret_name, strlen(*ret_name)))
		return hl_err_set(err, HLU_01, "'%.80s' is no name for a key", *ret_name);
	if (request->signer != NULL && strcmp(request->signer, *ret_name) != 0)
		return hl_err_set(err, HLU_01, "the key is called '%.80s', not '%.80s'", *ret_name,
		    request->signer);
	return 0;
}

struct made_signature {
	struct note_key key;
	unsigned char bytes[NOTE_SIGNATURE_SIZE];
};

static int
take_signature(struct errand *errand, const struct policy_sign_request *request,
    const struct hl_buf *answer, struct made_signature *ret_made, struct hl_err *err)
{
	struct hl_wire wire;
	size_t public_len = 0, signature_len = 0;
	const char *name;

	hl_wire_init(&wire, answer->data + 1, answer->len - 1);
	const char *of_file = hl_wire_string(&wire);
	const void *public = hl_wire_bytes(&wire, &public_len);
	const void *signature = hl_wire_bytes(&wire, &signature_len);
	if (!hl_wire_is_complete(&wire) || public_len != NOTE_KEY_SIZE ||
	    signature_len != NOTE_SIGNATURE_SIZE)
		return hl_peer_malformed(&errand->sealer, err);
	if (settle_name(request, of_file, &name, err) != 0)
		return -1;
	policy_note_key_init(&ret_made->key, name, public);
	memcpy(ret_made->bytes, signature, NOTE_SIGNATURE_SIZE);
	return 0;
}

static int
ask_for_signature(const struct policy_sign_request *request, const struct hl_buf *text,
    struct made_signature *ret_made, struct hl_err *err)
{
	struct errand errand;
	struct hl_buf question, answer;
	int key HL_AUTO_FD = open_key(request->key_file, err);

	if (key < 0)
		return -1;
	hl_buf_init(&question, SEAL_PACKET_MAX);
	int status = errand_begin(&errand, request, key, err);
	hl_wire_put_u8(&question, SEAL_SIGN_POLICY);
	hl_wire_put_u8(&question, (uint8_t)errand.passphrase);
	hl_wire_put_bytes(&question, text->data, text->len);
	if (status == 0)
		status = hl_peer_ask(&errand.sealer, &question, SEAL_SIGNED, &answer, err);
	if (status == 0) {
		status = take_signature(&errand, request, &answer, ret_made, err);
		hl_buf_done(&answer);
	}
	hl_buf_done(&question);
	errand_end(&errand);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * FILE.sig
 */

/* The note that is there, when it is about the same bytes: then others have signed it too, and its
 * end is theirs as well. */
static bool
read_note(const struct hl_buf *bytes, struct policy_statement *statement, bool has_time,
    struct note *ret_note)
{
	struct policy_statement old;
	struct hl_err ignored = { 0 };

	if (policy_note_parse(bytes->len > 0 ? bytes->data : "", bytes->len, ret_note, &ignored) !=
		0 ||
	    policy_statement_parse(ret_note->text, ret_note->text_len, &old, &ignored) != 0 ||
	    strcmp(old.id, statement->id) != 0 || old.revision != statement->revision ||
	    strcmp(old.sha256, statement->sha256) != 0)
		return false;
	if (has_time)
		return strcmp(old.not_after, statement->not_after) == 0;
	memcpy(statement->not_after, old.not_after, sizeof(old.not_after));
	return true;
}

static void
put_others(struct hl_buf *out, const struct note *note, const struct note_key *own)
{
	for (size_t i = 0; i < note->len; i++) {
		if (policy_note_is_by(&note->signatures[i], own))
			continue;
		hl_buf_put(out, note->signatures[i].line, note->signatures[i].line_len);
		hl_buf_putc(out, '\n');
	}
}

/* Replaces FILE.sig as a whole. */
static int
write_note(const char *file, const struct hl_buf *text, struct hl_err *err)
{
	HL_AUTO_FREE char *path = NULL;
	HL_AUTO_FREE char *new = NULL;
	char unique[HL_ULID_SIZE];

	if (hl_ulid(unique, err) != 0)
		return -1;
	if (asprintf(&path, "%s.sig", file) < 0 || asprintf(&new, "%s.sig.%s", file, unique) < 0)
		return hl_err_oom(err);
	int fd HL_AUTO_FD = create(new, 0644, HLS_04, err);
	if (fd < 0)
		return -1;
	if (hl_write_full(fd, text->data, text->len) == 0 && fsync(fd) == 0 &&
	    rename(new, path) == 0)
		return 0;
	hl_err_sys(err, HLS_04, "cannot write '%s'", path);
	(void)unlink(new);
	return -1;
}

static int
fill_statement(const struct policy_sign_request *request, const struct policy_layer *layer,
    struct policy_statement *statement, struct hl_err *err)
{
	*statement = (struct policy_statement){ .revision = layer->revision };
	if (layer->revision == 0) {
		hl_err_set(err, HLP_03, "the policy has no revision, and a signed one needs it");
		return hl_err_help(err, "write revision: 1, and count up with every change");
	}
	snprintf(statement->id, sizeof(statement->id), "%s", layer->id);
	memcpy(statement->sha256, layer->sha256, sizeof(statement->sha256));
	return request->not_after != NULL
		   ? policy_statement_time(request->not_after, statement->not_after, err)
		   : 0;
}

static int
sign_beside(const struct policy_sign_request *request, const char *file,
    struct policy_statement *statement, struct made_signature *ret_made, struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf old = { 0 };
	HL_AUTO(hl_buf_done) struct hl_buf text = { 0 };
	struct note *note HL_AUTO_FREE = calloc(1, sizeof(*note));
	bool is_there = false;

	if (note == NULL)
		return hl_err_oom(err);
	hl_buf_init(&old, NOTE_MAX);
	hl_buf_init(&text, NOTE_MAX);
	if (policy_signature_read(file, &old, &is_there, err) != 0)
		return -1;
	bool is_joint = is_there && read_note(&old, statement, request->not_after != NULL, note);
	policy_statement_put(&text, statement);
	if (hl_buf_check(&text, "note", err) != 0 ||
	    ask_for_signature(request, &text, ret_made, err) != 0)
		return -1;
	hl_buf_putc(&text, '\n');
	if (is_joint)
		put_others(&text, note, &ret_made->key);
	policy_note_put_signature(&text, &ret_made->key, ret_made->bytes);
	if (hl_buf_check(&text, "note", err) != 0)
		return -1;
	return write_note(file, &text, err);
}

int
policy_sign(const struct policy_sign_request *request, const struct policy_layer *layer,
    char ret_signer[POLICY_SIGNER_SIZE], struct hl_err *err)
{
	struct policy_statement statement;
	struct made_signature made;

	if (fill_statement(request, layer, &statement, err) != 0 ||
	    sign_beside(request, layer->file, &statement, &made, err) != 0)
		return -1;
	snprintf(ret_signer, POLICY_SIGNER_SIZE, "%s", made.key.name);
	return 0;
}
