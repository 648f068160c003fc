/*
 * What a pull reads: the engine's report, cut into pieces of a size that the input says, and the
 * caller's config.json. The first byte says which. No program is ever found that a configuration
 * names.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cut anywhere, it says the same. */
static void
check_report(const char *bytes, size_t size, size_t piece)
{
	static struct pull_stream stream, whole;
	struct pull_sum sum, other;
	bool is_good = true;

	pull_stream_init(&stream);
	pull_stream_init(&whole);
	for (size_t at = 0; at < size && is_good; at += piece)
		is_good =
		    pull_stream_take(&stream, bytes + at, size - at < piece ? size - at : piece);
	is_good = pull_stream_end(&stream);
	bool is_taken = pull_stream_take(&whole, bytes, size);
	bool is_whole = pull_stream_end(&whole);
	HL_BUG_ON(is_good != is_whole || (is_whole && !is_taken));
	pull_stream_sum(&stream, &sum);
	pull_stream_sum(&whole, &other);
	HL_BUG_ON(is_good && (sum.layers != other.layers || sum.bytes != other.bytes));
	HL_BUG_ON(sum.done > sum.layers || sum.layers > PULL_LAYERS_MAX);
	HL_BUG_ON(strlen(stream.error) >= sizeof(stream.error));
	pull_stream_done(&stream);
	pull_stream_done(&whole);
}

static void
check_config(const char *bytes, size_t size, bool has_scopes)
{
	char place[] = "PATH=/proc/none";
	struct hl_strv files, env;
	struct hl_buf header;
	struct hl_err err = { 0 };
	int fd = memfd_create("config", MFD_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0600) != 0 || hl_write_full(fd, bytes, size) != 0)
		abort();
	hl_strv_init(&files, 1);
	hl_strv_addf(&files, "/proc/self/fd/%d", fd);
	hl_strv_init(&env, 1);
	hl_strv_add(&env, place);
	const struct registry_source source = { .client = "docker",
		.has_scopes = has_scopes,
		.has_store = !has_scopes,
		.files = &files,
		.env = &env,
		.watch = -1 };
	int status = registry_auth(&source, "registry.example/team/tools:1", &header, &err);
	HL_BUG_ON(status != 0 && err.code != HLB_64 && err.code != HLB_65);
	HL_BUG_ON(status != 0 && header.len != 0);
	for (size_t i = 0; i < header.len; i++)
		HL_BUG_ON((unsigned char)header.data[i] <= ' ');
	hl_buf_done_secret(&header);
	hl_strv_done(&files);
	hl_strv_done(&env);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if ((data[0] & 1) == 0)
		check_report((const char *)data + 1, size - 1, 1 + data[0] / 2U);
	else
		check_config((const char *)data + 1, size - 1, (data[0] & 2) != 0);
	return 0;
}
