/*
 * policy keygen, sign and verify. What is secret is hl-seal's; here are the command line and what a
 * person is told.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "launcher/launcher.h"

#include "base/banned.h"

static int
one_operand(const struct request *request, const char *what, struct hl_err *err)
{
	if (request->argv_len == 1)
		return 0;
	return hl_err_set(err, HLU_01, "%s %s is given",
	    request->argv_len == 0 ? "no" : "more than one", what);
}

/* What the options say, and who makes signatures on this host. */
static int
begin(const struct request *request, const struct host *host, struct policy_sign_request *ret_what,
    struct hl_err *err)
{
	uint64_t fd = 0;

	*ret_what = (struct policy_sign_request){
		.seal_path = host->seal_path,
		.key_file = request->key,
		.signer = request->signer,
		.passphrase_fd = -1,
		.wants_passphrase = request->wants_passphrase,
		.not_after = request->not_after,
	};
	if (request->passphrase_fd == NULL)
		return 0;
	if (hl_parse_u64(request->passphrase_fd, 0, INT_MAX, &fd, err) != 0)
		return hl_err_set(err, HLU_01, "--passphrase-fd '%.20s' is no descriptor's number",
		    request->passphrase_fd);
	ret_what->passphrase_fd = (int)fd;
	return 0;
}

int
verb_policy_keygen(const struct request *request)
{
	struct hl_buf public HL_AUTO(hl_buf_done) = { 0 };
	struct policy_sign_request what;
	struct host host;
	struct hl_err err = { 0 };

	if (one_operand(request, "key file", &err) != 0)
		return verb_fail(&err);
	if (request->signer == NULL) {
		hl_err_set(&err, HLU_01, "the key has no name");
		hl_err_help(&err, "hermes-launch policy keygen --signer NAME FILE");
		return verb_fail(&err);
	}
	if (host_facts(request, &host, &err) != 0 || begin(request, &host, &what, &err) != 0)
		return verb_fail(&err);
	what.key_file = request->argv[0];
	if (policy_keygen(&what, &public, &err) != 0)
		return verb_fail(&err);
	printf("%s\n", public.data);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * sign
 */

/* The file by itself; its findings are told. */
static int
load_one(const struct request *request, const struct policy_load_request *what,
    struct policy **ret_policy, struct hl_err *err)
{
	struct policy_findings findings;
	int status = policy_load_file(what, ret_policy, &findings, err);

	report_findings(&findings, request);
	if (status != 0) {
		/* The findings have told the place, and its name goes with them. */
		err->where = (struct hl_where){ 0 };
		if (findings.errors > 0)
			hl_err_set(err, err->code, "'%.200s' is refused", what->files[0]);
	}
	policy_findings_done(&findings);
	return status;
}

static struct policy_load_request
what_to_load(const struct host *host, const char *const *file)
{
	return (struct policy_load_request){
		.files = file,
		.files_len = 1,
		.cwd = host->cwd,
		.caller = host->uid,
		.home = host->home,
	};
}

int
verb_policy_sign(const struct request *request)
{
	char signer[POLICY_SIGNER_SIZE];
	struct policy_sign_request what;
	struct policy *policy = NULL;
	struct host host;
	struct hl_err err = { 0 };

	if (one_operand(request, "policy file", &err) != 0)
		return verb_fail(&err);
	if (request->key == NULL) {
		hl_err_set(&err, HLU_01, "no private key is given");
		hl_err_help(&err, "hermes-launch policy sign --key KEY FILE");
		return verb_fail(&err);
	}
	if (host_facts(request, &host, &err) != 0 || begin(request, &host, &what, &err) != 0)
		return verb_fail(&err);
	const char *file = request->argv[0];
	const struct policy_load_request load = what_to_load(&host, &file);
	if (load_one(request, &load, &policy, &err) != 0)
		return verb_fail(&err);
	const struct policy_layer *layer = policy_layer_at(policy, 0);
	int status = policy_sign(&what, layer, signer, &err);
	if (status == 0)
		printf("%s.sig: %s revision %llu, signed by %s\n", file, layer->id,
		    (unsigned long long)layer->revision, signer);
	policy_free(policy);
	return status == 0 ? 0 : verb_fail(&err);
}

/* ------------------------------------------------------------------------------------------------
 * verify
 */

/* The text of a public key, or the file that it stands in. */
static int
read_public(const char *given, struct hl_buf *text, struct hl_err *err)
{
	hl_buf_init(text, 4096);
	if (strchr(given, '+') != NULL && strchr(given, '/') != given) {
		hl_buf_puts(text, given);
		return hl_buf_check(text, "public key", err);
	}
	int fd HL_AUTO_FD = open(given, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return hl_err_sys(err, HLU_02, "cannot open the public key '%s'", given);
	if (hl_read_file(fd, text, given, HLS_10, err) != 0)
		return -1;
	return text->len > 0 && strlen(text->data) == text->len
		   ? 0
		   : hl_err_set(err, HLS_10, "'%.200s' is no public key", given);
}

/* What is wrong with a signature; everything else leaves the question open. */
static bool
is_answer(enum hl_code code)
{
	return (code >= HLS_03 && code <= HLS_09) || code == HLP_33;
}

/* 0 yes, 1 no, else the exit status of what went wrong. */
static int
verify_one(const struct request *request, const struct policy_load_request *load)
{
	struct policy *policy = NULL;
	struct hl_err err = { 0 };

	if (load_one(request, load, &policy, &err) != 0) {
		int status = verb_fail(&err);
		return is_answer(err.code) ? 1 : status;
	}
	const struct policy_layer *layer = policy_layer_at(policy, 0);
	if (layer->signer != NULL)
		printf("%s: %s revision %llu, signed by %s\n", load->files[0], layer->id,
		    (unsigned long long)layer->revision, layer->signer);
	else
		printf("%s: %s is not signed, and this host accepts that\n", load->files[0],
		    layer->id);
	bool is_signed = layer->signer != NULL;
	policy_free(policy);
	return is_signed ? 0 : 1;
}

static int
no_trust(const char *file, struct hl_err *err)
{
	hl_err_set(err, HLU_02, "there is no trust file '%s'", file);
	return hl_err_help(err, "say whose signature is wanted: --key FILE.pub");
}

int
verb_policy_verify(const struct request *request)
{
	struct hl_buf key HL_AUTO(hl_buf_done) = { 0 };
	struct host host;
	struct hl_err err = { 0 };
	int status = 0;

	if (request->argv_len == 0) {
		hl_err_set(&err, HLU_01, "no policy file is given");
		return verb_fail(&err);
	}
	if (host_facts(request, &host, &err) != 0 ||
	    (request->key != NULL && read_public(request->key, &key, &err) != 0))
		return verb_fail(&err);
	if (request->key == NULL && !host_has_trust()) {
		no_trust(host_trust_file(), &err);
		return verb_fail(&err);
	}
	for (size_t i = 0; i < request->argv_len; i++) {
		const char *file = request->argv[i];
		struct policy_load_request load = what_to_load(&host, &file);
		host_trust(&host, &load);
		load.host_dir = host_policy_dir();
		load.trust_key = request->key != NULL ? key.data : NULL;
		int one = verify_one(request, &load);
		if (one > status)
			status = one;
	}
	return status;
}
