/*
 * docker, dialects: what differs between the engines that are made to speak by the same settings.
 * Private to backends/docker.
 *
 * The client's command line is the same for both but for a few options. The bodies of the create
 * calls are not: podman's docker-compatible one has no place for some of what must be said (no
 * file systems of its own, no proxy variables), so that its own call is used, which its client uses
 * too.
 */
#ifndef HL_BACKENDS_DOCKER_DIALECT_H
#define HL_BACKENDS_DOCKER_DIALECT_H

#include "backends/backends.h"
#include "backends/docker/docker.h"
#include "backends/docker/settings.h"

/* What an engine would do by itself if nobody said otherwise. */
struct docker_fixed {
	enum docker_option_id option;
	const char *text;
	uint64_t number;
};

struct docker_dialect {
	const char *name; /* of the backend and of the client */
	enum backend_id id;
	const char *address;        /* the client's option for an engine's socket */
	enum docker_engines engine; /* one bit */
	const struct docker_fixed *fixed;
	size_t fixed_len;
	bool has_tmpfs_owner; /* a tmpfs takes uid= and gid= */
	const char *tmpfs;    /* further options of each, "" = none */
	bool can_keep_id;     /* without root: the caller's ids as they are */
	/* Without root: /sys of its own cannot be made for the host's network. */
	bool host_network_binds_sys;
	enum docker_option_id gpus; /* by which graphics processors are asked for */
	/* Its inspection tells all that a container can be made with: one that was kept is known by
	 * that. Else its id has to be that of one that we made, too. */
	bool tells_all;
	void (*body)(const struct docker_settings *settings, const char *image, bool with_labels,
	    struct hl_buf *out);
	/* Whether the value of that option has a place in the body. */
	bool (*has_place)(enum docker_option_id option, const char *value);
};

/* By the plan's backend. */
const struct docker_dialect *docker_dialect(const struct plan *plan);

/* body.c, spec.c */
void docker_body(const struct docker_settings *settings, const char *image, bool with_labels,
    struct hl_buf *out);
bool docker_has_place(enum docker_option_id option, const char *value);
void podman_spec(const struct docker_settings *settings, const char *image, bool with_labels,
    struct hl_buf *out);
bool podman_has_place(enum docker_option_id option, const char *value);

/* object.c: an object whose members come by path ("HostConfig.Memory"), sorted. */
struct docker_object {
	struct hl_json json;
	const char *before;
	size_t depth;
};

void docker_object_init(struct docker_object *object, struct hl_buf *out);
/* What follows is the member's value, written to object->json. */
void docker_object_key(struct docker_object *object, const char *path);
void docker_object_end(struct docker_object *object);

#endif
