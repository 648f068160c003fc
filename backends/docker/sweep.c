/*
 * Containers that nobody removed: hl-engine was killed together with its launcher. Each carries the
 * name of its owner, which says for certain whether that launcher still lives: a process id alone
 * would not, because they are used again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/helper.h"
#include "backends/docker/start.h"

#include "base/banned.h"

static bool
owner_lives(const char *owner)
{
	char own[DOCKER_OWNER_SIZE], path[64], started[32];
	const char *colon = strchr(owner, ':');
	const char *boot = colon != NULL ? strchr(colon + 1, ':') : NULL;
	uint64_t pid;
	struct hl_err ignored;

	if (boot == NULL || colon - owner > 12)
		return true; /* not in our hand: leave it alone */
	docker_owner(own);
	const char *own_boot = strrchr(own, ':');
	if (own_boot == NULL || strcmp(own_boot, boot) != 0)
		return false; /* the host was started anew since */
	memcpy(path, owner, (size_t)(colon - owner));
	path[colon - owner] = '\0';
	if (hl_parse_u64(path, 1, INT32_MAX, &pid, &ignored) != 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	docker_start_time(path, started);
	size_t len = (size_t)(boot - colon - 1);
	return strlen(started) == len && strncmp(started, colon + 1, len) == 0;
}

static int
ask_list(struct docker_helper *helper, struct hl_strv *ret_items, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, 64);
	hl_wire_put_u8(&request, ENGINE_LIST);
	int status = docker_helper_ask(helper, &request, ENGINE_LISTED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	hl_wire_strv(&wire, ret_items);
	bool is_good = hl_wire_is_complete(&wire) && !ret_items->failed && ret_items->len % 3 == 0;
	hl_buf_done(&answer);
	return is_good ? 0 : hl_err_set(err, HLB_59, "hl-engine's list is malformed");
}

/* The engine's side looks at the run label again before it removes. */
static int
ask_remove(struct docker_helper *helper, const char *name, const char *run, struct hl_err *err)
{
	struct hl_buf request, answer;

	hl_buf_init(&request, 4096);
	hl_wire_put_u8(&request, ENGINE_REMOVE);
	hl_wire_put_string(&request, name);
	hl_wire_put_string(&request, run);
	int status = docker_helper_ask(helper, &request, ENGINE_REMOVED, &answer, err);
	hl_buf_done(&request);
	if (status == 0)
		hl_buf_done(&answer);
	return status;
}

int
engine_sweep(const char *helper_path, const char *endpoint, size_t *ret_removed, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv items;
	HL_AUTO_FREE char *copy = strdup(endpoint);
	struct plan plan = { .endpoint = copy, .cancel_fd = -1 };
	struct docker_opened opened = { 0 };
	struct docker_helper helper;

	*ret_removed = 0;
	hl_strv_init(&items, ENGINE_LIST_MAX);
	if (copy == NULL)
		return hl_err_oom(err);
	if (docker_helper_start(&helper, helper_path, -1, err) < 0)
		return -1;
	int status = docker_helper_open(&helper, &plan, false, &opened, err);
	if (status == 0) {
		docker_opened_done(&opened);
		status = ask_list(&helper, &items, err);
	}
	for (size_t i = 0; status == 0 && i < items.len; i += 3) {
		if (owner_lives(items.v[i + 2]))
			continue;
		status = ask_remove(&helper, items.v[i], items.v[i + 1], err);
		*ret_removed += status == 0;
	}
	docker_helper_end(&helper);
	return status;
}
