/*
 * A segment made by somebody else: verify, show in both forms, and recovery before an append.
 *
 * The first byte chooses. Bit 0: the hashes are put right first, so that what stands behind the
 * chain's check is reached too. Bit 1: the head is there, and is the next 128 bytes. Whatever
 * comes: a log that is ok can be appended to and is ok afterwards, and an append that succeeded
 * where nothing vouched for the end never leaves a log that counts as tampered.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/ledger.h"

enum {
	PUT_RIGHT = 1 << 0,
	HAS_HEAD = 1 << 1
};

struct place {
	char state[64];
	char segment[160];
	char head[160];
};

static struct place place;

static const char log_id[] = "01JDV3ABCDEFGHJKMNPQRSTVWX";

static void
clear_place(void)
{
	static const char *const files[] = { "00000000000000000000.jsonl", "head", "lock",
		"reserve" };
	char path[256];

	for (size_t i = 0; i < HL_ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/audit/%s/%s", place.state, log_id, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/audit/%s", place.state, log_id);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/audit", place.state);
	rmdir(path);
	rmdir(place.state);
}

static void
make_place(void)
{
	char path[128];

	snprintf(place.state, sizeof(place.state), "%s/hl-fuzz-audit-%d",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
	mkdir(place.state, 0700);
	snprintf(path, sizeof(path), "%s/audit", place.state);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/audit/%s", place.state, log_id);
	mkdir(path, 0700);
	snprintf(place.segment, sizeof(place.segment), "%s/00000000000000000000.jsonl", path);
	snprintf(place.head, sizeof(place.head), "%s/head", path);
	atexit(clear_place);
}

static void
put_file(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	HL_BUG_ON(fd < 0 || hl_write_full(fd, bytes, len) != 0);
	close(fd);
}

/* Writes the right hash into each line that has the place for one. */
static void
put_right(char *bytes, size_t len)
{
	char hex[HL_SHA256_HEX_SIZE];
	unsigned char leaf[LEAF_SIZE] = { 0 };

	for (char *line = bytes, *end = bytes + len; line < end;) {
		char *lf = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((lf != NULL ? lf : end) - line);
		if (n > 66 && memcmp(line + n - 2, "\"}", 2) == 0) {
			hl_sha256_hex(leaf, hex);
			memcpy(line + n - 66, hex, 64);
			audit_leaf_of(line, n, leaf);
		}
		line += n + 1;
	}
}

static int
look(const char *line, size_t len, void *context)
{
	const enum audit_format *format = context;

	/* Nothing that moves a terminal, and in JSON one value a line. */
	for (size_t i = 0; i < len; i++)
		HL_BUG_ON((unsigned char)line[i] < 0x20 || line[i] == 0x7f);
	struct json_cursor cursor = { line, line + len };
	HL_BUG_ON(*format == AUDIT_JSON && (audit_json_skip_value(&cursor, 0) != JSON_COMPLETE ||
					       cursor.next != cursor.end));
	return 0;
}

static enum audit_verdict
verdict_of(void)
{
	struct audit_verify_result result;
	struct hl_err err;

	HL_BUG_ON(audit_verify(place.state, &result, &err) != 0);
	return result.verdict;
}

static bool
append(void)
{
	struct audit_open_request request = { .state_dir = place.state, .version = "0" };
	struct audit_record record;
	struct audit *audit;
	struct hl_err err;

	HL_BUG_ON(audit_open(&request, &audit, &err) != 0);
	audit_event(audit, AUDIT_RUN_SANDBOX, &record);
	audit_put_string(audit, &record, "id", "x");
	int rc = audit_append(audit, &record, NULL, &err);
	audit_close(audit);
	return rc == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_err err;

	if (size == 0)
		return 0;
	if (place.state[0] == '\0')
		make_place();
	unsigned how = data[0];
	data++, size--;
	unlink(place.head);
	if ((how & HAS_HEAD) != 0) {
		size_t n = size < HEAD_SIZE ? size : HEAD_SIZE;
		put_file(place.head, data, n);
		data += n;
		size -= n;
	}
	char *bytes = malloc(size + 1);
	HL_BUG_ON(bytes == NULL);
	memcpy(bytes, data, size);
	if ((how & PUT_RIGHT) != 0)
		put_right(bytes, size);
	put_file(place.segment, bytes, size);
	free(bytes);
	for (enum audit_format format = AUDIT_TEXT; format <= AUDIT_JSON; format++) {
		const struct audit_view view = { .format = format,
			.line = look,
			.context = &format };
		HL_BUG_ON(audit_show(place.state, &view, &err) != 0);
	}
	enum audit_verdict before = verdict_of();
	bool is_appended = append();
	enum audit_verdict after = verdict_of();
	HL_BUG_ON(before == AUDIT_OK && (!is_appended || after != AUDIT_OK));
	HL_BUG_ON(is_appended && (how & HAS_HEAD) == 0 && after == AUDIT_TAMPERED);
	return 0;
}
