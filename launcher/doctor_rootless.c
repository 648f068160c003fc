/*
 * doctor: what podman needs to run as an ordinary user, whose containers live in a user namespace
 * of ids that are lent to that user (subuid(5)) and entered by two programs of the package uidmap.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/doctor.h"

#include "base/banned.h"

enum {
	RANGES_MAX = 1024 * 1024
};

static const char check[] = "podman without root";

/* Ids that the file lends to the account, by its name or its number: lines "account:first:count".
 */
static uint64_t
count_ids(const char *path, const struct host *host)
{
	HL_AUTO(hl_buf_done) struct hl_buf text = { 0 };
	struct hl_err ignored = { 0 };
	char number[16];
	uint64_t sum = 0;
	int fd HL_AUTO_FD = open(path, O_RDONLY | O_CLOEXEC);

	hl_buf_init(&text, RANGES_MAX);
	if (fd < 0 || hl_read_file(fd, &text, path, HLI_02, &ignored) != 0)
		return 0;
	snprintf(number, sizeof(number), "%u", (unsigned)host->uid);
	char *rest = text.data;
	for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
		const char *account = strsep(&line, ":");
		const char *first = line != NULL ? strsep(&line, ":") : NULL;
		uint64_t count;
		if (first == NULL || line == NULL ||
		    (strcmp(account, host->user) != 0 && strcmp(account, number) != 0) ||
		    hl_parse_u64(line, 0, UINT32_MAX, &count, &ignored) != 0)
			continue;
		sum += count;
	}
	return sum;
}

static const struct {
	const char *path, *mend;
} programs[] = {
	{ "/usr/bin/newuidmap", "apt-get install uidmap" },
	{ "/usr/bin/newgidmap", "apt-get install uidmap" },
};

/* false: a row says what is missing. */
static bool
look_at_programs(struct doctor *doctor)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(programs); i++) {
		if (access(programs[i].path, X_OK) == 0)
			continue;
		struct doctor_row *row = doctor_add(doctor, check, DOCTOR_GAP);
		snprintf(row->detail, sizeof(row->detail), "'%s' is not there", programs[i].path);
		row->mend = programs[i].mend;
		return false;
	}
	return true;
}

void
doctor_look_at_rootless(struct doctor *doctor, const struct host *host)
{
	if (host->uid == 0 || !look_at_programs(doctor))
		return;
	uint64_t uids = count_ids("/etc/subuid", host), gids = count_ids("/etc/subgid", host);
	bool has_ids = uids > 0 && gids > 0;
	struct doctor_row *row = doctor_add(doctor, check, has_ids ? DOCTOR_OK : DOCTOR_GAP);
	if (!has_ids) {
		snprintf(row->detail, sizeof(row->detail), "no ids are lent to '%.100s' in %s",
		    host->user, uids == 0 ? "/etc/subuid" : "/etc/subgid");
		row->mend =
		    "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ACCOUNT, as "
		    "root, then podman system migrate";
		return;
	}
	bool has_groups = confine_groups_are_unified();
	snprintf(row->detail, sizeof(row->detail), "%" PRIu64 " ids are lent to '%.100s'%s", uids,
	    host->user,
	    has_groups ? "" : "; limits.memory and limits.cpus need control groups of version 2");
}
