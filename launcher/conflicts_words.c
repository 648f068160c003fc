/*
 * Conflicts: engine options whose value is one of a few words. Each word that is certain has its
 * own row here; any other, another spelling of it included, is a value that cannot be compared.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/conflicts_parts.h"

#include "base/banned.h"

enum word_answer {
	WORD_SAME,    /* what is anyway */
	WORD_TIGHTER, /* goes to the engine */
	WORD_LOOSER
};

/* Sorted. */
static const struct {
	const char *flag;
	const char *word;
	enum word_answer answer;
} words[] = {
	{ "--cgroups", "disabled", WORD_LOOSER },
	{ "--cgroups", "enabled", WORD_SAME },
	{ "--image-volume", "ignore", WORD_TIGHTER },
	{ "--sdnotify", "ignore", WORD_TIGHTER },
	{ "--seccomp-policy", "default", WORD_SAME },
	{ "--seccomp-policy", "image", WORD_LOOSER },
	{ "--systemd", "false", WORD_TIGHTER },
	/* Only for a command that is an init; ours is the runner. */
	{ "--systemd", "true", WORD_SAME },
};

int
rule_word(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	size_t i = 0;

	while (i < HL_ARRAY_SIZE(words) && (strcmp(words[i].flag, setting->flag) != 0 ||
					       strcmp(words[i].word, setting->value) != 0))
		i++;
	if (i == HL_ARRAY_SIZE(words))
		return engine_opaque(judge, ask, setting, setting->control);
	switch (words[i].answer) {
	case WORD_SAME:
		conflict_note(judge, ask, "changes nothing");
		return 0;
	case WORD_TIGHTER:
		return engine_tighten(judge, ask, setting);
	case WORD_LOOSER:
		break;
	}
	return engine_looser(judge, ask, setting, setting->control);
}

/* Octal, with a zero before it or without; the set-user-ID bits are none that a mask is for. */
int
rule_umask(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	const char *mask = setting->value;

	if (strlen(mask) == 4 && mask[0] == '0')
		mask++;
	if (strlen(mask) == 3 && strspn(mask, "01234567") == 3)
		return judge_field(judge, ask, POLICY_PROCESS_UMASK, mask);
	return engine_opaque(judge, ask, setting, setting->control);
}

/* "Europe/Berlin": the engine opens a file of that name below its own zones. */
int
rule_zone(struct judge *judge, const struct ask *ask, const struct engine_setting *setting)
{
	static const char allowed[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
	const struct cause cause = { .cause = CAUSE_OPAQUE,
		.control = setting->control,
		.bound = "names of time zones" };
	const char *zone = setting->value;

	/* No dot among them, so no way up. */
	if (zone[0] == '\0' || zone[0] == '/' || zone[strspn(zone, allowed)] != '\0')
		return engine_conflict(judge, ask, setting, &cause);
	engine_keep(judge, setting);
	return 0;
}
