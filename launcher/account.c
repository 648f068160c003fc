/*
 * Who the caller is by name, and where their home is. The program is linked statically, because
 * loading libraries is most of a start; so accounts are read here and not by getpwuid(3).
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/launcher.h"

#include "base/banned.h"

/* One line as in passwd(5): name and home, when it is uid's. */
static bool
take_entry(const char *line, uid_t uid, struct account *account)
{
	char *fields[7] = { 0 };
	HL_AUTO_FREE char *copy = strndup(line, strcspn(line, "\n"));
	char *rest = copy;
	uint64_t number;
	struct hl_err ignored;

	for (size_t i = 0; i < HL_ARRAY_SIZE(fields) && rest != NULL; i++)
		fields[i] = strsep(&rest, ":");
	if (fields[6] == NULL || hl_parse_u64(fields[2], 0, UINT32_MAX, &number, &ignored) != 0 ||
	    number != uid)
		return false;
	account->user = strdup(fields[0]);
	account->home = strdup(fields[5][0] == '/' ? fields[5] : "/");
	return true;
}

static bool
find_in(FILE *file, uid_t uid, struct account *account)
{
	char line[4096];
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
		found = take_entry(line, uid, account);
	return found;
}

/* Accounts that only a name service knows (LDAP, systemd): getent(1) asks it. Not getpwuid(3),
 * which would load the service into a static program, where glibc makes no promise. */
static bool
ask_name_service(uid_t uid, struct account *account)
{
	char program[] = "getent", database[] = "passwd", number[16];
	int ends[2];
	pid_t pid;
	posix_spawn_file_actions_t actions;

	snprintf(number, sizeof(number), "%u", (unsigned)uid);
	char *const argv[] = { program, database, number, NULL };
	char *const envp[] = { NULL };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	FILE *answer = fdopen(ends[0], "r");
	if (answer == NULL)
		close(ends[0]);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	bool found = false;
	int spawned = posix_spawn(&pid, "/usr/bin/getent", &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (spawned == 0) {
		found = find_in(answer, uid, account);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (answer != NULL)
		fclose(answer);
	return found;
}

int
host_account(uid_t uid, struct account *ret_account, struct hl_err *err)
{
	struct account account = { 0 };
	FILE *file = fopen("/etc/passwd", "re");
	bool found = find_in(file, uid, &account);

	if (file != NULL)
		fclose(file);
	if (!found && !ask_name_service(uid, &account)) {
		char number[16];
		snprintf(number, sizeof(number), "%u", (unsigned)uid);
		account.user = strdup(number);
		account.home = strdup("/");
	}
	if (account.user == NULL || account.home == NULL) {
		host_account_done(&account);
		return hl_err_oom(err);
	}
	*ret_account = account;
	return 0;
}

void
host_account_done(struct account *account)
{
	free(account->user);
	free(account->home);
	*account = (struct account){ 0 };
}
