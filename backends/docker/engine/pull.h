/*
 * hl-engine, how an image comes to the engine: the report that a pull is (stream.c), what the
 * caller's own configuration says about a registry (registry.c, credential.c), and the request
 * (pull.c). Private to this folder.
 *
 * Neither the report nor the configuration is believed in its form: a line, a file and an answer
 * of a program have a maximum, and what is not of the form is an error. Credentials are in this
 * program's memory and in one header of one request to the engine's socket; they are never in an
 * argument, a message or a packet to the launcher.
 */
#ifndef HL_BACKENDS_DOCKER_ENGINE_PULL_H
#define HL_BACKENDS_DOCKER_ENGINE_PULL_H

#include "backends/docker/engine/engine.h"

enum {
	PULL_LINE_MAX = 64 * 1024,
	PULL_REPORT_MAX = 256 * 1024 * 1024,
	PULL_LAYERS_MAX = 256, /* what is past them is pulled, and not shown */
	PULL_LAYER_ID_MAX = 80,
	PULL_STALL_S = 5 * 60, /* without one byte of the report */
	REGISTRY_FILE_MAX = 1024 * 1024,
	REGISTRY_HOST_MAX = 255,
	REGISTRY_SECRET_MAX = 32 * 1024,
	REGISTRY_HEADER_MAX = 128 * 1024,
};

/* ------------------------------------------------------------------------------------------------
 * stream.c: a line of JSON after the other. Pure: nothing but bytes in, numbers and words out.
 */
struct pull_layer {
	char id[PULL_LAYER_ID_MAX + 1];
	uint64_t bytes, total;
	bool is_done;
};

struct pull_stream {
	struct hl_buf line;
	uint64_t seen; /* bytes of the report */
	bool is_malformed, has_error;
	/* As the engine wrote them, cut: not safe for a terminal. */
	char error[ENGINE_TEXT_MAX];   /* why the pull failed */
	long error_code;               /* as a status of HTTP, 0 = it does not say */
	char refusal[ENGINE_TEXT_MAX]; /* of an answer that is no report: why there is none */
	struct pull_layer layers[PULL_LAYERS_MAX];
	size_t layers_len;
};

struct pull_sum {
	uint32_t layers, done;
	uint64_t bytes, total; /* of the layers whose size is known */
};

void pull_stream_init(struct pull_stream *stream);
void pull_stream_done(struct pull_stream *stream);
/* false: nothing more is taken, the report is malformed. */
bool pull_stream_take(struct pull_stream *stream, const char *bytes, size_t len) HL_MUST_CHECK;
/* Behind the last byte. false: the report is malformed. */
bool pull_stream_end(struct pull_stream *stream) HL_MUST_CHECK;
void pull_stream_sum(const struct pull_stream *stream, struct pull_sum *ret_sum);

/* ------------------------------------------------------------------------------------------------
 * reference.c: what a name of an image says about where it comes from
 */
/* Of "registry.example:5000/tools:1" the first part; of a name without a registry "docker.io".
 * false: it is longer than a host's name. */
bool reference_registry(const char *image, char registry[REGISTRY_HOST_MAX + 1]) HL_MUST_CHECK;
/* "registry.example:5000/team/tools", also of "docker.io/library/busybox" that is written in short;
 * NULL = no memory, or the registry is too long. The caller frees it. */
char *reference_name(const char *image) HL_MUST_CHECK;
/* The same with its tag or digest, "latest" when it has none: what means one image to every engine.
 */
char *reference_full(const char *image) HL_MUST_CHECK;
/* Whether a and b are names in one repository, however they are tagged: "busybox" and
 * "docker.io/library/busybox:1" are. */
bool reference_is_same_repository(const char *a, const char *b);

/* ------------------------------------------------------------------------------------------------
 * registry.c: the caller's configuration
 */
struct registry_source {
	const char *client;          /* whose files they are: "docker" */
	bool has_scopes, has_store;  /* struct dialect */
	const struct hl_strv *files; /* the first that has credentials is used; NULL = none */
	const struct hl_strv *env;   /* NAME=VALUE: all that a program that keeps them gets */
	const struct hl_strv
	    *shown; /* what a command can write: no program is there; NULL = none */
	int watch;  /* its hang-up ends the wait for that program; -1 = none */
};

/* The value of X-Registry-Auth for the image, "" when there are no credentials for it. The caller
 * releases it with hl_buf_done_secret(), also after a failure. HLB-64: a file cannot be used;
 * HLB-65: the program that it names does not say them. */
int registry_auth(const struct registry_source *source, const char *image,
    struct hl_buf *ret_header, struct hl_err *err) HL_MUST_CHECK;

/* credential.c: asks docker-credential-NAME. 1: out has its answer; 0: it has none for this
 * server; -1: HLB-65. */
struct credential_want {
	const char *name, *server;
	const char *file; /* which names it */
};

int credential_get(const struct registry_source *source, const struct credential_want *want,
    struct hl_buf *out, struct hl_err *err) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * pull.c
 */
int image_pull(struct engine *engine, const struct image_want *want,
    struct hl_err *err) HL_MUST_CHECK;

#endif
