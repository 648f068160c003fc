/*
 * Containers that nobody removed: hl-engine was killed together with its launcher. Each carries the
 * name of its owner, which says whether that launcher still lives.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/docker/helper.h"
#include "backends/docker/start.h"

#include "base/banned.h"

/* Of an owner that is not here nobody can say whether it lives: its container is left alone while
 * it runs, and goes when it has ended and is not just made. */
static bool
is_left(const char *owner, const char *ended)
{
	switch (docker_owner_look(owner)) {
	case DOCKER_OWNER_DEAD:
		return true;
	case DOCKER_OWNER_ELSEWHERE:
		return strcmp(ended, "ended") == 0;
	case DOCKER_OWNER_LIVES:
	case DOCKER_OWNER_MALFORMED:
		return false;
	}
	return false;
}

static int
ask_list(struct docker_helper *helper, struct hl_strv *ret_items, struct hl_err *err)
{
	struct hl_buf request, answer;
	struct hl_wire wire;

	hl_buf_init(&request, 64);
	hl_wire_put_u8(&request, ENGINE_LIST);
	int status = hl_peer_ask(&helper->peer, &request, ENGINE_LISTED, &answer, err);
	hl_buf_done(&request);
	if (status < 0)
		return -1;
	hl_wire_init(&wire, answer.data + 1, answer.len - 1);
	hl_wire_strv(&wire, ret_items);
	bool is_good = hl_wire_is_complete(&wire) && !ret_items->failed &&
		       ret_items->len % ENGINE_LIST_FIELDS == 0;
	hl_buf_done(&answer);
	return is_good ? 0 : hl_peer_malformed(&helper->peer, err);
}

int
engine_sweep(const char *helper_path, const char *endpoint, size_t *ret_removed, struct hl_err *err)
{
	HL_AUTO(hl_strv_done) struct hl_strv items;
	struct docker_opened opened = { 0 };
	struct docker_helper helper;

	*ret_removed = 0;
	hl_strv_init(&items, ENGINE_LIST_MAX);
	if (docker_helper_reach(&helper, helper_path, endpoint, 0, &opened, err) < 0)
		return -1;
	docker_opened_done(&opened);
	int status = ask_list(&helper, &items, err);
	/* A list that was refused is no list, however much of it was read. */
	const size_t len = status == 0 ? items.len : 0;
	/* One that cannot be removed does not keep the others; it is told behind them. */
	for (size_t i = 0; i + ENGINE_LIST_FIELDS <= len && !helper.peer.is_broken;
	     i += ENGINE_LIST_FIELDS) {
		if (!is_left(items.v[i + 2], items.v[i + 3]))
			continue;
		if (docker_helper_remove(&helper, items.v[i], items.v[i + 1], err) == 0)
			++*ret_removed;
		else
			status = -1;
	}
	docker_helper_end(&helper);
	return status;
}
