/*
 * The Model Context Protocol: tool files. Everything is done inside the sandbox, by a command under
 * the same lock as every other, so that a path means there what it means to the terminal, and no
 * file of the host can be reached by naming it. Paths and sizes are arguments, never text of the
 * script.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/mcp.h"

#include "base/banned.h"

enum {
	READ_DEFAULT = 256 * 1024,
	READ_MAX = 2 * 1024 * 1024,
	LIST_MAX = 2000,
	LIST_BYTES = 1024 * 1024,
};

/* Exit status 1 with the reason on stderr. In read, stderr is the whole size. */
static const char script_read[] = "[ -f \"$1\" ] || { echo \"no regular file: $1\" >&2; exit 1; }\n"
				  "stat -L -c %s -- \"$1\" >&2 || exit 1\n"
				  "tail -c \"+$2\" -- \"$1\" | head -c \"$3\"\n";

/* The new content is whole, or it is not there: a file beside it, its size compared, then renamed
 * over (rename(2) is atomic). A link is followed first, so that it stays one. */
static const char script_write[] =
    "p=$1 n=$2\n"
    "[ ! -d \"$p\" ] || { echo \"is a directory: $p\" >&2; exit 1; }\n"
    "if [ -L \"$p\" ]; then p=$(readlink -f -- \"$p\") || exit 1; fi\n"
    "case $p in */*) d=${p%/*}; d=${d:-/};; *) d=.;; esac\n"
    "[ -z \"$3\" ] || mkdir -p -- \"$d\" || exit 1\n"
    "t=$(umask 077; mktemp -- \"$d/.hermes-launch.XXXXXX\") || exit 1\n"
    "trap 'rm -f -- \"$t\"' EXIT\n"
    "cat >\"$t\" || exit 1\n"
    "[ \"$(wc -c <\"$t\")\" -eq \"$n\" ] || { echo 'the content did not arrive whole' >&2; exit 1; }\n"
    "if [ -e \"$p\" ]; then m=$(stat -c %a -- \"$p\"); else m=$(printf %o $((0666 & ~0$(umask)))); fi\n"
    "chmod \"$m\" -- \"$t\" && mv -f -- \"$t\" \"$p\" || exit 1\n"
    "trap - EXIT\n";

/* Names, each with a NUL behind it, an empty one, and a line of facts for each. */
static const char script_list[] = "cd -- \"$1\" || exit 1\n"
				  "shopt -s nullglob dotglob\n"
				  "names=(*)\n"
				  "[ ${#names[@]} -gt 0 ] || exit 0\n"
				  "names=(\"${names[@]:0:$2}\")\n"
				  "printf '%s\\0' \"${names[@]}\" ''\n"
				  "stat -c '%f %s %Y' -- \"${names[@]}\"\n";

static const char script_stat[] = "stat -c '%f %s %Y %u %g' -- \"$1\" >&2 || exit 1\n"
				  "[ ! -L \"$1\" ] || readlink -- \"$1\"\n";

/* ------------------------------------------------------------------------------------------------
 * Answers
 */
static const char *
kind(uint64_t mode)
{
	switch (mode & 0170000U) {
	case 0100000U:
		return "file";
	case 0040000U:
		return "directory";
	case 0120000U:
		return "link";
	case 0010000U:
		return "fifo";
	case 0140000U:
		return "socket";
	case 0020000U:
		return "character device";
	case 0060000U:
		return "block device";
	default:
		return "other";
	}
}

/* "81a4 12 1700000000 ...": whatever the command inside printed, it is only numbers to us. */
static const char *
take_number(const char *text, unsigned base, uint64_t *ret_number)
{
	uint64_t number = 0;

	while (*text == ' ')
		text++;
	for (;; text++) {
		unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
				 : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10
								: 99;
		if (digit >= base || number > UINT64_MAX / 32)
			break;
		number = number * base + digit;
	}
	*ret_number = number;
	return text;
}

static const char *
put_facts(struct hl_json *json, const char *facts)
{
	char mode_text[16];
	uint64_t mode, size, mtime;

	facts = take_number(facts, 16, &mode);
	facts = take_number(facts, 10, &size);
	facts = take_number(facts, 10, &mtime);
	snprintf(mode_text, sizeof(mode_text), "%04o", (unsigned)(mode & 07777U));
	hl_json_key(json, "type");
	hl_json_string(json, kind(mode));
	hl_json_key(json, "mode");
	hl_json_string(json, mode_text);
	hl_json_key(json, "size");
	hl_json_u64(json, size);
	hl_json_key(json, "mtime");
	hl_json_u64(json, mtime);
	return facts;
}

/* What the command said about why it did not. */
static bool
answer_failure(struct mcp_call *call)
{
	const struct session_result *result = call->call->result;
	struct hl_err err = result->err;
	HL_AUTO(hl_buf_done_secret) struct hl_buf why;

	hl_buf_init(&why, 4096);
	if (result->how == RUNNER_EXITED && result->code == 0)
		return false;
	hl_buf_printable(&why, result->err_out.head.data,
	    result->err_out.head.len < 300 ? strcspn(result->err_out.head.data, "\n") : 300);
	if (err.code == HL_OK)
		hl_err_set(&err, HLU_02, "%s",
		    why.len > 0 ? why.data : runner_how_name(result->how));
	mcp_answer_error(call->mcp, call->id, &err);
	return true;
}

/* What could not be held on its way here makes an answer that is not whole, and so none. */
static void
end_answer(struct mcp_call *call, struct hl_buf *out, struct hl_json *json)
{
	const struct session_result *result = call->call->result;

	out->failed |= call->call->kept.failed || result->err_out.head.failed;
	mcp_answer_end(call->mcp, out, json, call->id);
}

static void
answer_read(struct mcp_call *call)
{
	const struct hl_buf *bytes = &call->call->kept;
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;
	struct hl_buf out;
	struct hl_json json;
	uint64_t size;

	hl_buf_init(&text, READ_MAX * 4);
	if (answer_failure(call))
		return;
	take_number(call->call->result->err_out.head.data, 10, &size);
	text_put_lossy(&text, bytes->data, bytes->len);
	mcp_answer(&out, &json, call->id, &text, false);
	hl_json_object(&json);
	hl_json_key(&json, "path");
	hl_json_string(&json, call->path);
	hl_json_key(&json, "size");
	hl_json_u64(&json, size);
	hl_json_key(&json, "offset");
	hl_json_u64(&json, call->offset);
	hl_json_key(&json, "length");
	hl_json_u64(&json, bytes->len);
	hl_json_key(&json, "content");
	hl_json_stringn(&json, bytes->data, bytes->len);
	hl_json_end_object(&json);
	end_answer(call, &out, &json);
}

static void
answer_write(struct mcp_call *call)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;
	struct hl_buf out;
	struct hl_json json;

	hl_buf_init(&text, 8192);
	if (answer_failure(call))
		return;
	hl_buf_putf(&text, "%" PRIu64 " bytes written to %.4000s", call->total, call->path);
	mcp_answer(&out, &json, call->id, &text, false);
	hl_json_object(&json);
	hl_json_key(&json, "path");
	hl_json_string(&json, call->path);
	hl_json_key(&json, "written");
	hl_json_u64(&json, call->total);
	hl_json_end_object(&json);
	mcp_answer_end(call->mcp, &out, &json, call->id);
}

static void
put_entries(struct hl_json *json, const struct call *call, struct hl_buf *text)
{
	const char *name = call->kept.data, *end = name + call->kept.len;
	const char *facts = name;

	while (facts < end && *facts != '\0')
		facts += strnlen(facts, (size_t)(end - facts)) + 1;
	facts += facts < end;
	hl_json_key(json, "entries");
	hl_json_array(json);
	while (name < end && *name != '\0') {
		size_t len = strnlen(name, (size_t)(end - name));
		hl_json_object(json);
		hl_json_key(json, "name");
		hl_json_stringn(json, name, len);
		facts = put_facts(json, facts);
		facts = strchrnul(facts, '\n');
		facts += *facts == '\n';
		hl_json_end_object(json);
		text_put_lossy(text, name, len);
		hl_buf_putc(text, '\n');
		name += len + 1;
	}
	hl_json_end_array(json);
}

static void
answer_list(struct mcp_call *call)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf text, entries;
	struct hl_buf out;
	struct hl_json json;

	hl_buf_init(&text, LIST_BYTES * 4);
	hl_buf_init(&entries, 64 << 20);
	if (answer_failure(call))
		return;
	hl_json_init(&json, &entries);
	hl_json_object(&json);
	hl_json_key(&json, "path");
	hl_json_string(&json, call->path);
	put_entries(&json, call->call, &text);
	hl_json_end_object(&json);
	mcp_answer(&out, &json, call->id, &text, false);
	hl_json_raw(&json, entries.data);
	out.failed |= entries.failed;
	end_answer(call, &out, &json);
}

static void
answer_stat(struct mcp_call *call)
{
	const struct session_result *result = call->call->result;
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;
	struct hl_buf out;
	struct hl_json json;
	uint64_t uid, gid;

	hl_buf_init(&text, 65536);
	if (answer_failure(call))
		return;
	hl_buf_printable(&text, result->err_out.head.data,
	    strcspn(result->err_out.head.data, "\n"));
	mcp_answer(&out, &json, call->id, &text, false);
	hl_json_object(&json);
	hl_json_key(&json, "path");
	hl_json_string(&json, call->path);
	const char *facts = put_facts(&json, result->err_out.head.data);
	facts = take_number(facts, 10, &uid);
	take_number(facts, 10, &gid);
	hl_json_key(&json, "uid");
	hl_json_u64(&json, uid);
	hl_json_key(&json, "gid");
	hl_json_u64(&json, gid);
	if (call->call->kept.len > 0) {
		hl_json_key(&json, "target");
		hl_json_stringn(&json, call->call->kept.data, call->call->kept.len - 1);
	}
	hl_json_end_object(&json);
	end_answer(call, &out, &json);
}

/* ------------------------------------------------------------------------------------------------
 * Actions
 */
struct file_ask {
	const char *path;
	uint64_t offset, length;
	bool parents;
	struct hl_buf content;
	bool has_content;
};

struct action {
	const char *name;
	const char *script;
	void (*answer)(struct mcp_call *call);
	uint64_t keep;
	const char *names[8];
};

static const struct action actions[] = {
	{ "list", script_list, answer_list, LIST_BYTES, { "action", "path" } },
	{ "read", script_read, answer_read, READ_MAX, { "action", "path", "offset", "length" } },
	{ "stat", script_stat, answer_stat, 8192, { "action", "path" } },
	{ "write", script_write, answer_write, 0, { "action", "path", "content", "parents" } },
};

static int
read_file_ask(const struct action *action, const json_t *arguments, struct file_ask *ask,
    struct hl_err *err)
{
	const json_t *content = json_object_get(arguments, "content");

	ask->length = READ_DEFAULT;
	if (json_in_only(arguments, action->names, err) != 0 ||
	    json_in_string(arguments, "path", &ask->path, err) != 0 ||
	    json_in_u64(arguments, "offset", INT64_MAX / 2, &ask->offset, err) != 0 ||
	    json_in_u64(arguments, "length", READ_MAX, &ask->length, err) != 0 ||
	    json_in_bool(arguments, "parents", &ask->parents, err) != 0)
		return -1;
	if (ask->path == NULL || ask->path[0] == '\0')
		return hl_err_set(err, HLU_20, "'path' is missing");
	ask->has_content = action->script == script_write;
	if (!ask->has_content)
		return 0;
	if (content == NULL)
		return hl_err_set(err, HLU_20, "'content' is missing");
	return json_in_bytes(content, &ask->content, err);
}

static int
start(struct mcp_call *call, const struct action *action, const struct file_ask *file,
    struct hl_err *err)
{
	struct call_ask ask = {
		.cwd = session_state_cwd(call->mcp->state),
		.keep = action->keep,
	};

	call->answer = action->answer;
	call->path = strdup(file->path);
	call->offset = file->offset;
	call->total = file->content.len;
	hl_strv_init(&ask.argv, 16);
	hl_strv_init(&ask.env, 1);
	hl_strv_add(&ask.argv, "bash");
	hl_strv_add(&ask.argv, "-c");
	hl_strv_add(&ask.argv, action->script);
	hl_strv_add(&ask.argv, "files");
	hl_strv_add(&ask.argv, file->path);
	if (action->script == script_write)
		hl_strv_addf(&ask.argv, "%zu", file->content.len);
	else if (action->script == script_list)
		hl_strv_addf(&ask.argv, "%d", LIST_MAX);
	else
		hl_strv_addf(&ask.argv, "%" PRIu64, file->offset + 1);
	if (action->script == script_read)
		hl_strv_addf(&ask.argv, "%" PRIu64, file->length);
	else
		hl_strv_add(&ask.argv, file->parents ? "parents" : "");
	int status = hl_strv_check(&ask.argv, "command", err);
	if (status == 0 && call->path == NULL)
		status = hl_err_oom(err);
	if (status != 0)
		mcp_call_free(call);
	else
		status = mcp_call_start(call, &ask, file->has_content ? &file->content : NULL, err);
	hl_strv_done_secret(&ask.argv);
	return status;
}

int
mcp_files(struct mcp *mcp, const struct jsonrpc *message, const json_t *arguments,
    struct hl_err *err)
{
	const char *name = json_string_value(json_object_get(arguments, "action"));
	HL_AUTO(hl_buf_done_secret) struct hl_buf content;
	const struct action *action = NULL;

	for (size_t i = 0; name != NULL && i < HL_ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			action = &actions[i];
	hl_buf_init(&content, LINE_MAX_BYTES);
	if (action == NULL)
		return hl_err_set(err, HLU_20, "'action' is one of read, write, list, stat");
	struct file_ask file = { .content = content };
	int status = read_file_ask(action, arguments, &file, err);
	if (status == 0) {
		struct mcp_call *call = mcp_call_new(mcp, message, err);
		status = call != NULL ? start(call, action, &file, err) : -1;
	}
	content = file.content;
	return status;
}
