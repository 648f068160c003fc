/*
 * docker, settings: the list that lowering makes and that both the command line and the API body
 * are printed from, so that the two cannot differ. Private to backends/docker.
 */
#ifndef HL_BACKENDS_DOCKER_SETTINGS_H
#define HL_BACKENDS_DOCKER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backends.h"
#include "backends/docker/docker.h"
#include "base/base.h"

/* Which of the members are used follows from the option's kind; of OBJECT and LIST from the option.
 */
struct docker_setting {
	enum docker_option_id option;
	/* STRING, LIST, GPUS; MAP: name; TMPFS, MOUNT, DEVICE: target; ULIMIT: name */
	char *text;
	/* MAP: value; TMPFS: options; MOUNT, DEVICE: source; LIST: the API's form, or NULL */
	char *other;
	uint64_t
	    number; /* INT, BYTES, NANO (thousandths), ULIMIT; BOOL and MOUNT read-only: 0 or 1 */
	struct hl_origin origin;
};

enum {
	DOCKER_SETTINGS_MAX = 2048
};

struct docker_dialect;

struct docker_settings {
	const struct docker_dialect *dialect; /* of the plan that they are filled from */
	struct docker_setting *items;
	size_t len, capacity;
	bool failed; /* sticky: memory or the maximum */
};

/* What start knows and lower cannot: NULL where lower asks. */
struct docker_facts {
	const char *image;  /* id to create from, so that what was inspected is what runs */
	const char *digest; /* of the image, as the engine knows it; NULL = not said */
	const char *owner;  /* "pid:starttime:bootid" of the launcher */
	const char *spec;   /* of a kept one: what is not in the body and fixed all the same */
	bool is_image_root; /* the image's own user is root */
	const struct hl_strv *volumes;   /* that the image brings */
	const struct control_gaps *gaps; /* those that may degrade are left out */
};

void docker_settings_done(struct docker_settings *settings);
/* In the order of explain. Fails when the plan cannot be said to an engine at all. */
int docker_settings_fill(struct docker_settings *settings, const struct plan *plan,
    const struct docker_facts *facts, struct hl_err *err) HL_MUST_CHECK;
struct docker_setting *docker_settings_add(struct docker_settings *settings,
    enum docker_option_id option, const char *text, const struct hl_origin *origin);

/* The value as one argument of the client; nothing for a BOOL. */
void docker_setting_value(const struct docker_setting *setting, struct hl_buf *out);
/* Adds `--flag value` to a vector, one argument each; a BOOL as `--flag=true|false`. */
void docker_setting_argv(const struct docker_setting *setting, struct hl_strv *argv);
/* The body of POST /containers/create. */
void docker_settings_body(const struct docker_settings *settings, const char *image,
    struct hl_buf *out);
/* client.c: what a client of the engine cannot do of a plan, HLB-67; and its words for create. */
int docker_client_check(const struct plan *plan, struct hl_err *err) HL_MUST_CHECK;
int docker_client_words(const struct docker_settings *settings, const char *image,
    struct hl_strv *ret_words, struct hl_err *err) HL_MUST_CHECK;
/* SHA-256 of the body without labels and name, and of more: the same plan gives the same text. */
void docker_settings_spec(const struct docker_settings *settings, const char *image,
    const char *more, char text[HL_SHA256_HEX_SIZE]);

/* mounts.c: binds, the covers of fs.deny, and tmpfs. */
int docker_mounts_fill(struct docker_settings *settings, const struct plan *plan,
    struct hl_err *err) HL_MUST_CHECK;
/* extra.c: the engine arguments of the plan. */
int docker_extra_fill(struct docker_settings *settings, const struct plan *plan,
    struct hl_err *err) HL_MUST_CHECK;
/* Sources of covers, made by start: "<state>/empty/file" and ".../dir". */
char *docker_empty_path(const struct plan *plan, bool is_file) HL_MUST_CHECK;
/* The plan's system call filter as an engine reads it, heap; NULL when there is none. */
int docker_seccomp_json(const struct plan *plan, char **ret_json, struct hl_err *err) HL_MUST_CHECK;
/* "<state>/seccomp/<sha256>.json" of that text; NULL = no memory. */
char *docker_seccomp_path(const struct plan *plan, const char *json) HL_MUST_CHECK;
/* Of the runner on this host; where we carry it, below the state directory, by its digest. */
char *docker_runner_path(const struct plan *plan) HL_MUST_CHECK;

/* What a device may be used for: without "m", nobody makes nodes of it. */
#define DOCKER_DEVICE_RIGHTS "rw"

/* Words of docker's --gpus; and the name that a graphics processor has in descriptions of the
 * Container Device Interface, which alone have no path: so its setting has no source. */
#define DOCKER_GPUS_ALL    "all"
#define DOCKER_GPUS_DEVICE "device="
#define DOCKER_CDI_GPU     "nvidia.com/gpu="

/* Of --userns, on podman. */
#define DOCKER_KEEP_ID "keep-id"

#define DOCKER_RUNNER_TARGET "/.hermes-runner"
#define DOCKER_NAME_PREFIX   "hermes-launch-"

/* "hermes-launch-<run id in lower case>"; of one that is kept "hermes-launch-kept-<digest>". */
enum {
	DOCKER_NAME_SIZE = 64
};
void docker_container_name(const struct plan *plan, char name[DOCKER_NAME_SIZE]);

/* keep.c: the name of a container that is kept, and what says whose it is. */
void docker_kept_name(const struct plan *plan, char name[DOCKER_NAME_SIZE]);
void docker_place(const char *state_dir, char text[HL_SHA256_HEX_SIZE]);
void docker_keep_labels(struct docker_settings *settings, const struct plan *plan);
/* For an engine whose inspection does not tell all: the id of the one that we made, in a file of
 * its name below the state directory. recall: "" = any may be used; what is no id = none. */
enum {
	DOCKER_ID_SIZE = 80
};
int docker_keep_remember(const struct plan *plan, const char *name, const char *id,
    struct hl_err *err) HL_MUST_CHECK;
void docker_keep_recall(const struct plan *plan, const char *name, char id[DOCKER_ID_SIZE]);
void docker_keep_forget(const char *state_dir, const char *name);
/* Digests of runner and image, version and lease: what is not in the body. */
int docker_keep_spec(const struct plan *plan, const char *digest, struct hl_buf *out,
    struct hl_err *err) HL_MUST_CHECK;

#endif
