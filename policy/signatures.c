/*
 * Whether each file of a stack is signed as the host's trust file wants it.
 *
 * What a signature covers is a digest, and the digest that it is held against is of the buffer that
 * was parsed; the file is not read again. Signatures come first: what a note says is looked at only
 * when a trusted key has said it. Every doubt is an error.
 */
#include "policy/signatures.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/note.h"
#include "policy/revisions.h"
#include "policy/sealer.h"
#include "policy/trust.h"

#include "base/banned.h"

/* One check of a whole stack. */
struct checking {
	const struct policy_load_request *request;
	struct policy_arena *arena;
	struct policy_findings *findings;
	struct trust trust;
	struct hl_peer sealer; /* started when the first signature is there */
	bool has_sealer;
	struct revisions revisions;
	bool has_revisions;
};

/* What is known of one file's signatures. */
struct verdict {
	struct diag diag;
	const struct trust_layer *layer;
	struct policy_read *read;
	bool accepts_unsigned;
	struct note note;
	struct sealer_claim claims[NOTE_SIGNATURES_MAX];
	bool is_right[NOTE_SIGNATURES_MAX];
	size_t len;
};

static const struct diag_at whole_file = { 0, 0, 0 };

/* ------------------------------------------------------------------------------------------------
 * FILE.sig
 */
static int
open_signature(const char *path, bool *ret_is_there, struct hl_err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);

	*ret_is_there = fd >= 0 || errno != ENOENT;
	if (fd < 0)
		return *ret_is_there ? hl_err_sys(err, HLS_04, "cannot open '%s'", path) : -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	hl_close_ptr(&fd);
	return hl_err_set(err, HLS_04, "'%s' is not a regular file", path);
}

int
policy_signature_read(const char *file, struct hl_buf *bytes, bool *ret_is_there,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf path = { 0 };

	hl_buf_init(&path, 4096 + 8);
	hl_buf_putf(&path, "%s.sig", file);
	if (hl_buf_check(&path, "name of a signature", err) != 0)
		return -1;
	int fd HL_AUTO_FD = open_signature(path.data, ret_is_there, err);
	if (fd < 0)
		return *ret_is_there ? -1 : 0;
	return hl_read_file(fd, bytes, path.data, HLS_04, err);
}

/* ------------------------------------------------------------------------------------------------
 * Who has signed
 */

/* Every signature by a key of the layer. One key twice is one signer: see count_signers(). */
static void
collect_claims(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->note.len; i++) {
		const struct note_signature *signature = &verdict->note.signatures[i];
		for (size_t k = 0; k < verdict->layer->keys_len; k++) {
			const struct note_key *key = &verdict->layer->keys[k];
			if (!signature->is_ed25519 || !policy_note_is_by(signature, key))
				continue;
			verdict->claims[verdict->len++] = (struct sealer_claim){
				.text = verdict->note.text,
				.text_len = verdict->note.text_len,
				.key = key,
				.signature = signature->bytes,
			};
			break;
		}
	}
}

static int
verify_claims(struct checking *checking, struct verdict *verdict, struct hl_err *err)
{
	const struct sealer_start start = { .path = checking->request->seal_path,
		.key_fd = -1,
		.passphrase_fd = -1 };

	if (!checking->has_sealer && policy_sealer_start(&checking->sealer, &start, err) != 0)
		return -1;
	checking->has_sealer = true;
	return policy_sealer_verify(&checking->sealer, verdict->claims, verdict->len,
	    verdict->is_right, err);
}

/* Distinct keys, and their names. */
static size_t
count_signers(const struct verdict *verdict, struct hl_buf *names)
{
	size_t n = 0;

	for (size_t k = 0; k < verdict->layer->keys_len; k++) {
		bool has_signed = false;
		for (size_t i = 0; i < verdict->len; i++)
			has_signed =
			    has_signed || verdict->claims[i].key == &verdict->layer->keys[k];
		if (has_signed)
			hl_buf_putf(names, "%s%s", n++ > 0 ? ", " : "",
			    verdict->layer->keys[k].name);
	}
	return n;
}

/* ------------------------------------------------------------------------------------------------
 * What a trusted note says
 */
static bool
is_statement_of(struct verdict *verdict, const struct policy_statement *statement)
{
	const struct policy_layer *row = &verdict->read->row;

	if (row->id == NULL || strcmp(statement->id, row->id) != 0)
		policy_diag_error(&verdict->diag, HLS_06, whole_file,
		    "the signature is of the policy %.130s, not of this one", statement->id);
	else if (statement->revision != row->revision)
		policy_diag_error(&verdict->diag, HLS_06, whole_file,
		    "the signature is of revision %llu, and the file is revision %llu",
		    (unsigned long long)statement->revision, (unsigned long long)row->revision);
	else if (strcmp(statement->sha256, row->sha256) != 0)
		policy_diag_error(&verdict->diag, HLS_06, whole_file,
		    "the file was changed after it was signed");
	else if (policy_statement_is_over(statement, hl_now_real_us()))
		policy_diag_error(&verdict->diag, HLS_09, whole_file,
		    "the policy was signed until %s", statement->not_after);
	else
		return true;
	policy_diag_help(&verdict->diag, "sign it again: hermes-launch policy sign");
	return false;
}

static int
check_rollback(struct checking *checking, struct verdict *verdict,
    const struct policy_statement *statement, struct hl_err *err)
{
	if (checking->request->state_dir == NULL)
		return 0;
	if (!checking->has_revisions &&
	    policy_revisions_read(checking->request->state_dir, &checking->revisions, err) != 0)
		return -1;
	checking->has_revisions = true;
	uint64_t seen = policy_revisions_of(&checking->revisions, statement->id);
	if (statement->revision >= seen)
		return 0;
	policy_diag_error(&verdict->diag, HLP_33, whole_file,
	    "%.130s is revision %llu, and revision %llu was in force here", statement->id,
	    (unsigned long long)statement->revision, (unsigned long long)seen);
	policy_diag_help(&verdict->diag,
	    "a signed policy may only grow: sign it with revision %llu",
	    (unsigned long long)seen + 1);
	return 0;
}

static int
accept_signed(struct checking *checking, struct verdict *verdict, const struct hl_buf *names,
    struct hl_err *err)
{
	struct policy_statement statement;

	if (policy_statement_parse(verdict->note.text, verdict->note.text_len, &statement, err) !=
	    0) {
		policy_diag_error(&verdict->diag, HLS_04, whole_file, "FILE.sig: %s", err->msg);
		return 0;
	}
	if (!is_statement_of(verdict, &statement))
		return 0;
	verdict->read->row.signer = policy_arena_dup(checking->arena, names->data, names->len);
	if (verdict->read->row.signer == NULL)
		return hl_err_oom(err);
	return check_rollback(checking, verdict, &statement, err);
}

/* ------------------------------------------------------------------------------------------------
 * One file
 */

/* Not signed as the layer wants it; which is no fault where unsigned is accepted. */
static void
count_as_unsigned(struct verdict *verdict, enum hl_code code, const char *why)
{
	if (verdict->accepts_unsigned)
		return;
	policy_diag_error(&verdict->diag, code, whole_file, "%s", why);
	if (!verdict->layer->is_named)
		policy_diag_help(&verdict->diag, "name the layer '%s' in the host's trust file",
		    verdict->read->row.layer);
	else
		policy_diag_help(&verdict->diag,
		    "hermes-launch policy sign, with a key that the trust file names");
}

static int
judge_claims(struct checking *checking, struct verdict *verdict, struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf names = { 0 };
	char why[96];

	if (verify_claims(checking, verdict, err) != 0)
		return -1;
	for (size_t i = 0; i < verdict->len; i++) {
		if (verdict->is_right[i])
			continue;
		policy_diag_error(&verdict->diag, HLS_05, whole_file,
		    "the signature by %s is wrong", verdict->claims[i].key->name);
		return 0;
	}
	hl_buf_init(&names, TRUST_KEYS_MAX * (NOTE_NAME_MAX + 2));
	size_t signers = count_signers(verdict, &names);
	if (hl_buf_check(&names, "signers", err) != 0)
		return -1;
	if (signers >= verdict->layer->threshold)
		return accept_signed(checking, verdict, &names, err);
	snprintf(why, sizeof(why), "%zu of the %zu signatures that the layer needs are there",
	    signers, verdict->layer->threshold);
	count_as_unsigned(verdict, HLS_08, why);
	return 0;
}

static int
check_note(struct checking *checking, struct verdict *verdict, const struct hl_buf *bytes,
    struct hl_err *err)
{
	if (policy_note_parse(bytes->len > 0 ? bytes->data : "", bytes->len, &verdict->note, err) !=
	    0) {
		policy_diag_error(&verdict->diag, HLS_04, whole_file,
		    "FILE.sig is not a signed note: %s", err->msg);
		return 0;
	}
	collect_claims(verdict);
	if (verdict->len > 0)
		return judge_claims(checking, verdict, err);
	count_as_unsigned(verdict, HLS_07,
	    verdict->layer->is_named
		? "no signature is by a key that this host trusts for the layer"
		: "this host trusts no key for the layer");
	return 0;
}

static int
check_file(struct checking *checking, const struct signed_file *file, struct verdict *verdict,
    struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf bytes = { 0 };
	struct hl_err cause = { 0 };
	bool is_there = false;

	hl_buf_init(&bytes, NOTE_MAX);
	policy_diag_init(&verdict->diag, checking->findings, file->finding_name);
	HL_BUG_ON(file->read->rank >= TRUST_LAYERS);
	/* A file of the host directory that names no layer is of the host's. */
	verdict->layer = &checking->trust.layers[file->read->rank < 0 ? 0 : file->read->rank];
	verdict->read = file->read;
	/* What is accepted of root's own directory is not of a file that only says "host". */
	verdict->accepts_unsigned =
	    verdict->layer->accepts_unsigned && (file->read->is_host_file || file->read->rank > 0);
	if (policy_signature_read(file->read->row.file, &bytes, &is_there, &cause) != 0) {
		policy_diag_error(&verdict->diag, HLS_04, whole_file, "%s", cause.msg);
		return 0;
	}
	if (is_there)
		return check_note(checking, verdict, &bytes, err);
	count_as_unsigned(verdict, HLS_03,
	    "the policy is not signed, and this host does not accept that of its layer");
	return 0;
}

static int
check_all(struct checking *checking, const struct signed_files *files, struct hl_err *err)
{
	struct verdict *verdict HL_AUTO_FREE = malloc(sizeof(*verdict));

	if (verdict == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < files->len; i++) {
		memset(verdict, 0, sizeof(*verdict));
		if (check_file(checking, &files->v[i], verdict, err) != 0)
			return -1;
	}
	return 0;
}

int
policy_signatures_check(const struct policy_load_request *request, struct policy *policy,
    const struct signed_files *files, struct policy_findings *findings, struct hl_err *err)
{
	struct checking checking = {
		.request = request,
		.arena = &policy->arena,
		.findings = findings,
	};

	if (policy_trust_read(request, &policy->arena, findings, &checking.trust, err) != 0)
		return -1;
	policy->has_trust = checking.trust.is_there;
	/* A trust file with a fault in it says nothing of the rest. */
	if (!checking.trust.is_there || findings->errors > 0)
		return 0;
	int status = check_all(&checking, files, err);
	policy_sealer_end(&checking.sealer);
	policy_revisions_done(&checking.revisions);
	return status;
}

int
policy_remember(const struct policy *policy, const char *state_dir, struct hl_err *err)
{
	size_t n = 0;

	if (!policy->has_trust)
		return 0;
	struct revision *seen HL_AUTO_FREE = calloc(POLICY_FOLDS_MAX, sizeof(*seen));
	if (seen == NULL)
		return hl_err_oom(err);
	for (size_t i = 0; i < policy->layers_len; i++) {
		const struct policy_layer *row = &policy->layers[i]->row;
		if (row->signer == NULL)
			continue;
		snprintf(seen[n].id, sizeof(seen[n].id), "%s", row->id);
		seen[n++].revision = row->revision;
	}
	return policy_revisions_raise(state_dir, seen, n, err);
}
