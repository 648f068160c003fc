/*
 * What the tests of engine options share: a policy for each engine, values of its options with the
 * verdict that is right, and every spelling of one.
 */
#ifndef HL_TESTS_LAUNCHER_CONFLICTS_ENGINE_CASE_H
#define HL_TESTS_LAUNCHER_CONFLICTS_ENGINE_CASE_H

#include "backends/docker/docker.h"
#include "tests/unit/launcher/conflicts_case.h"

/* %s: the engine */
static const char policy_text[] =
    "level: open@1\n"
    "backends: [%s, local]\n"
    "process:\n"
    "  user: \"1000:1000\"\n"
    "  allow_root: false\n"
    "  no_new_privs: true\n"
    "  umask: \"022\"\n"
    "  caps: {allowed: [CHOWN, FOWNER, KILL], default: [CHOWN, FOWNER]}\n"
    "  seccomp: {profile: default}\n"
    "limits:\n"
    "  disk: {max: 20GiB, default: 20GiB}\n"
    "  memory: {max: 1GiB, default: 512MiB}\n"
    "  cpus: {max: 2, default: 1}\n"
    "  pids: {max: 256, default: 128}\n"
    "  files: {max: 1024, default: 512}\n"
    "  shm: {max: 64MiB, default: 32MiB}\n"
    "fs:\n"
    "  root: read_only\n"
    "  mounts: [{src: /usr/share, dst: /data, access: ro}]\n"
    "  tmpfs: [{dst: /scratch, size: 64MiB, exec: false}]\n"
    "  devices: {allowed: [/dev/fuse, /dev/kvm, gpu:0, gpu:1], default: [/dev/fuse, gpu:0]}\n"
    "network: {mode: none}\n"
    "env: {pass: [LANG, \"APP_*\"], set: {FIXED: \"as it is\"}}\n"
    "image: {pull: missing}\n";

enum verdict {
	SAME,  /* no conflict, nothing changes */
	TIGHT, /* no conflict, in force */
	KEPT,  /* no conflict, handed to the engine */
	LOOSE, /* conflict; wins in warn */
	OWNED, /* conflict; left out in warn */
	FLOOR, /* refused in both modes */
	ERROR, /* cannot be understood at all */
};

struct sample {
	enum docker_option_id option;
	const char *value; /* of booleans: "true" or "false" */
	enum verdict verdict;
	enum hl_code code;
};

static const struct sample docker_samples[] = {
#include "tests/unit/launcher/conflicts_samples.def"
#include "tests/unit/launcher/conflicts_samples_docker.def"
};

static const struct sample podman_samples[] = {
#include "tests/unit/launcher/conflicts_samples.def"
#include "tests/unit/launcher/conflicts_samples_podman.def"
};

static const struct engine {
	const char *name;
	enum docker_engines bit;
	const struct sample *samples;
	size_t samples_len;
} engines[] = {
	{ "docker", DOCKER_ENGINES_DOCKER, docker_samples, HL_ARRAY_SIZE(docker_samples) },
	{ "podman", DOCKER_ENGINES_PODMAN, podman_samples, HL_ARRAY_SIZE(podman_samples) },
};

static const struct engine *const docker = &engines[0], *const podman = &engines[1];

static inline const char *
policy_of(const struct engine *engine)
{
	static char text[sizeof(policy_text) + 8];

	snprintf(text, sizeof(text), policy_text, engine->name);
	return text;
}

static inline bool
engine_has(const struct engine *engine, enum docker_option_id option)
{
	return (docker_option(option)->engines & engine->bit) != 0;
}

/* ------------------------------------------------------------------------------------------------
 * Spellings
 */
enum {
	SPELLINGS = 6
};

/* The n-th legal spelling as one or two arguments; false: this option has no such. */
static inline bool
spell(const struct sample *sample, unsigned way, char text[2][1024], const char *args[3])
{
	const struct docker_option *option = docker_option(sample->option);
	bool is_bool = option->kind == DOCKER_KIND_BOOL;
	bool is_true = strcmp(sample->value, "true") == 0;

	args[0] = text[0];
	args[1] = args[2] = NULL;
	if (way >= 2 && option->letter == '\0')
		return false;
	switch (way) {
	case 0:
		snprintf(text[0], 1024, "%s=%s", option->flag, sample->value);
		return true;
	case 1:
		snprintf(text[0], 1024, "%s", option->flag);
		break;
	case 2:
		snprintf(text[0], 1024, "-%c", option->letter);
		break;
	case 3:
		snprintf(text[0], 1024, "-%c=%s", option->letter, sample->value);
		return sample->value[0] != '\0';
	case 4:
		snprintf(text[0], 1024, "-%c%s", option->letter, sample->value);
		return !is_bool && sample->value[0] != '\0' && sample->value[0] != '=';
	case 5:
		if (!is_bool)
			return false;
		snprintf(text[0], 1024, "%s=%s", option->flag, is_true ? "T" : "F");
		return true;
	default:
		return false;
	}
	if (is_bool)
		return is_true;
	snprintf(text[1], 1024, "%s", sample->value);
	args[1] = text[1];
	return true;
}

#endif
