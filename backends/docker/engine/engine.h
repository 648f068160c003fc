/*
 * hl-engine - the program that speaks to container engines, so that the launcher needs no libcurl.
 *
 * One engine object: the control socket, the runner's stream, the daemon, at most one container. It
 * serves one run and ends. What it does with an engine is the same whichever way it is reached: by
 * the requests of its API, or by the commands of a client of it (struct transport). Everything that
 * comes from there is hostile input: capped in api.c, attach.c and client.c, parsed strictly in
 * inspect.c. Private to this folder.
 */
#ifndef HL_BACKENDS_DOCKER_ENGINE_ENGINE_H
#define HL_BACKENDS_DOCKER_ENGINE_ENGINE_H

#include <sys/types.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>

#include "backends/docker/protocol.h"
#include "base/base.h"

enum {
	API_BODY_MAX = 4 * 1024 * 1024,
	API_HEADERS_MAX = 64 * 1024,
	API_SHORT_MS = 10 * 1000,
	API_CREATE_MS = 60 * 1000,
	API_START_MS = 60 * 1000,
	API_PULL_MS = 30 * 60 * 1000,
	API_HEADER_MAX = 64,
	RELAY_BUFFER = 64 * 1024,
};

/* Bytes on their way from one descriptor to another. */
struct flow {
	unsigned char bytes[RELAY_BUFFER];
	size_t start, len;
};

struct relay {
	int attach; /* hijacked connection, -1 = none or ended */
	struct flow to_runner, to_launcher;
	unsigned char incoming[RELAY_BUFFER]; /* one read, before it is taken apart */
	unsigned char head[8];                /* of the multiplexed stream */
	size_t head_len;
	uint32_t frame_left;
	uint8_t frame_stream;
	bool is_raw;           /* not multiplexed: all of it is the runner's */
	bool is_launcher_done; /* no more input will come */
	bool is_launcher_gone; /* output is thrown away */
	bool is_half_closed;
	bool has_output; /* the runner said something */
	bool is_malformed;
	char diagnosis[ENGINE_STDERR_MAX];
	size_t diagnosis_len;
};

/* An engine that is started for this run. */
struct service {
	pid_t pid; /* 0 = none */
	int pidfd;
	int socket; /* the one that it listens at, as a name (O_PATH) */
	int log;    /* what it wrote to its standard error */
};

struct engine;

enum {
	KEPT_PART_MAX = 96 /* a name of what differs, in quotes */
};

/* same.c: how a part of an engine's inspection is compared with the same of another container. */
enum twin_how {
	TWIN_EQUAL,
	TWIN_SKIP,     /* each container's own, or told only of one that was started */
	TWIN_MEMBERS,  /* one by one, each by its own row */
	TWIN_SET,      /* a list in no order */
	TWIN_LABELS,   /* but those of who made it */
	TWIN_NETWORKS, /* the names of them: what is behind a name comes with the start */
	/* Of these the engine adds some by itself at the first start. */
	TWIN_VARIABLES,
	TWIN_ANNOTATIONS,
	TWIN_MAC_LABEL, /* "user:role:type:level": the level is each container's own */
};

struct twin_part {
	const char *path; /* "Config.Env" */
	enum twin_how how;
	const char *name; /* for whoever is told, NULL = the path */
};

/* How an engine is spoken to where they differ; dialect.c. */
struct dialect {
	const char *name;   /* "docker" */
	const char *server; /* the beginning of its Server header */
	const char *own;    /* before the paths of the calls that create and show a container */
	/* Members of what create is asked; name is "" where it is a part of the path alone. */
	const char *labels, *image, *body_name;
	/* Of the call that waits for the container's end, and whether it is made before the start:
	 * an engine that looks from time to time would miss a container that is quick. That one is
	 * asked when the streams have ended. */
	const char *condition;
	bool waits_first;
	const char *at_once; /* of a forced removal: podman asks first, by a signal, for 10 s */
	/* What its client takes of a file of credentials. */
	bool has_scopes; /* keys of "auths" may be parts of a registry: "host/team" */
	bool has_store;  /* "credsStore" */
	/* As inspect_compare(). */
	int (*compare)(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX],
	    struct hl_err *err);
	const struct twin_part *twin;
	size_t twin_len;
	enum twin_how twin_rest; /* members of an inspection that have no row */
	const char *client_mark; /* what "version" of its client has, and no other's */
	const char *component;   /* by which it names itself to a client of any */
};

/* A client of the engine, a program that is started for each operation. */
struct client {
	char *program; /* as the launcher calls it, NULL = the API is used */
	char *file;    /* what is executed */
	struct hl_strv env;
	pid_t pid; /* of the one that the container's streams go through, 0 = none */
	int pidfd;
	int stream; /* our end of its standard input and output */
	int log;    /* its standard error */
	bool has_ended;
};

struct image_facts;
struct container_want;

/* What is done with an engine, each by one request of its API or one command of its client. A reply
 * is the same JSON on both ways, so that what judges it is one code. */
struct transport {
	bool can_pull;
	/* Which engine is it, and can it do what we need? */
	int (*identify)(struct engine *engine, const char *wanted, struct image_facts *facts,
	    struct hl_err *err);
	/* 1: the object is the caller's; 0: it is not there; -1: error. */
	int (*look_image)(struct engine *engine, const char *image, json_t **ret_object,
	    struct hl_err *err);
	/* As container_look(). */
	json_t *(
	    *look)(struct engine *engine, const char *key, long *ret_status, struct hl_err *err);
	/* The reply to it, with "Id" and perhaps "Warnings"; NULL: may_exist says whether there may
	 * be a container all the same. */
	json_t *(
	    *create)(struct engine *engine, const struct container_want *want, struct hl_err *err);
	/* Joins its streams and starts it: relay.attach, is_waiting. */
	int (*start)(struct engine *engine, struct hl_err *err);
	/* Whether the wait for the container's end is over. */
	void (*take_end)(struct engine *engine);
	int (*remove)(struct engine *engine, const char *key, bool is_forced, struct hl_err *err);
	/* All that have our label, as the API lists them. */
	json_t *(*list)(struct engine *engine, struct hl_err *err);
};

extern const struct transport api_transport, client_transport;

struct engine {
	int control, stream;
	char *endpoint; /* as the launcher calls it */
	char *address;  /* where its socket is */
	const struct dialect *dialect;
	const struct transport *transport;
	struct service service;
	struct client client;
	char prefix[16]; /* "/v1.41" */
	CURL *easy;      /* short requests, one after the other */
	CURLM *multi;    /* the long wait, beside the relay */
	CURL *wait;
	CURL *join; /* keeps the attach connection's socket */
	struct hl_buf wait_body;
	bool is_ending; /* the launcher is gone */
	bool is_waiting, has_waited, is_wait_failed;
	uint32_t exit_code;
	struct relay relay;
	char *body;         /* what was asked of create, for the comparison */
	char container[80]; /* id, or the name while the id is not known */
	bool may_exist;     /* create was sent and not refused: remove it on every way out */
	bool is_kept;       /* asked of create */
	bool stays;         /* kept, and was in use: it is stopped on every way out, not removed */
	char started[48];   /* when, in the engine's words; "" = not known */
};

/* ------------------------------------------------------------------------------------------------
 * api.c: one request and its reply
 */
struct api_request {
	const char *method;
	const char *path; /* behind the version, escaped */
	const char *body; /* JSON, or NULL */
	/* One more line of the head, or NULL. It may be private: the copy is wiped. */
	const char *header;
	long timeout_ms;
	long stall_s; /* given up when so long no byte comes; 0 = by timeout_ms alone */
	/* Instead of collecting: called with each piece; false ends the transfer. */
	bool (*piece)(const char *bytes, size_t len, void *context);
	void *context;
};

struct api_reply {
	long status;
	char api_version[API_HEADER_MAX], server[API_HEADER_MAX]; /* headers, "" = none */
	struct hl_buf body;
};

int api_open(struct engine *engine, struct hl_err *err) HL_MUST_CHECK;
void api_done(struct engine *engine);
/* Fails on transport; a status of the daemon's is not a failure here. */
int api_call(struct engine *engine, const struct api_request *request, struct api_reply *ret_reply,
    struct hl_err *err) HL_MUST_CHECK;
/* The daemon's own words in an error reply, made safe, behind ours. Returns -1. */
int api_refused(const struct api_reply *reply, struct hl_err *err, enum hl_code code,
    const char *what);
/* Options that every transfer to this daemon has. */
int api_prepare(struct engine *engine, CURL *easy, const char *path) HL_MUST_CHECK;
int api_transport_error(const struct engine *engine, CURLcode result, struct hl_err *err);
/* A text of the daemon's for a message: one line, printable, at most ENGINE_TEXT_MAX bytes. */
void api_safe_text(const char *text, size_t len, char safe[ENGINE_TEXT_MAX]);
char *api_escape(struct engine *engine, const char *text) HL_MUST_CHECK;

/* ------------------------------------------------------------------------------------------------
 * inspect.c: what replies say. Objects are the caller's: json_decref().
 */
json_t *inspect_parse(const struct hl_buf *body, const char *what, struct hl_err *err);
/* NULL when it is missing, not a string, or longer than max. */
const char *inspect_string(const json_t *object, const char *path, size_t max);
bool inspect_bool(const json_t *object, const char *path);
uint64_t inspect_u64(const json_t *object, const char *path);
const json_t *inspect_member(const json_t *object, const char *path);
json_t *inspect_part(json_t *object, const char *path);
/* Compares what was asked with what the engine keeps: every key of the asked HostConfig. part: the
 * name of what differs, never a value of it. */
int inspect_compare(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX],
    struct hl_err *err) HL_MUST_CHECK;
/* 'group.key' with the quotes. A key may be the engine's word: one that is no name is left out. */
void inspect_name(char part[KEPT_PART_MAX], const char *group, const char *key);

/* requests.c: "1.41" as 41; 0 when it is not a version 1.x. */
enum {
	API_OLDEST = 40
};
unsigned api_minor(const char *text);

/* dialect.c: by what the version of a client has, NULL = none that we know; by its name, docker's
 * when it is none of them. */
const struct dialect *dialect_of_client(const json_t *version);
/* The same of the engine behind it. */
const struct dialect *dialect_of_server(const json_t *version);
const struct dialect *dialect_named(const char *name);
/* By the Server header, "Libpod/4.3.1 (linux)"; NULL = none that we know. */
const struct dialect *dialect_find(const char *server);
/* inspect_podman.c: the same for a specification and podman's own inspection. */
int inspect_compare_podman(json_t *asked, const json_t *kept, char part[KEPT_PART_MAX],
    struct hl_err *err) HL_MUST_CHECK;
/* Takes members away; one that is absent is as good. */
void inspect_drop(json_t *object, const char *const *names, size_t len);
enum {
	CONTAINER_ID_LEN = 64
};

/* Whether it is a container's id, whole. */
bool inspect_is_id(const char *text, size_t len);
/* Whether that value says no more than nothing. */
bool inspect_is_nothing(const json_t *value);
/* Whether both have the same, arrays in any order, and kept perhaps more members. */
bool inspect_is_kept(json_t *asked, const json_t *kept);

/* ------------------------------------------------------------------------------------------------
 * service.c: an engine of our own
 */
enum {
	SERVICE_LOG_MAX = 16 * 1024
};

/* The variables of what works for the caller, none of which is the caller's to say. */
int service_env(struct hl_strv *env, struct hl_err *err) HL_MUST_CHECK;
/* A file in memory of a fixed size, for its standard error: what is more is not taken, and nobody
 * waits for us to read. */
int service_log(struct hl_err *err) HL_MUST_CHECK;
/* Makes the user namespace that an engine without root works in, where there is none yet. */
void service_first(const char *program, char *const *env);
/* Starts program as an engine that listens at a socket which only we have a name for. */
int service_start(struct engine *engine, const char *program, struct hl_err *err) HL_MUST_CHECK;
/* Puts what the service said last behind err. */
void service_explain(const struct engine *engine, struct hl_err *err);
void service_end(struct engine *engine);

/* ------------------------------------------------------------------------------------------------
 * program.c, client.c: a client of the engine
 */
/* The real path of a program, when it, and each link that its name leads by, are at places that are
 * root's or the caller's own and beneath none of shown (NULL = none): those of its directories are
 * resolved, and what they lead to is asked about. NULL = no. */
char *program_settle(const char *path, const struct hl_strv *shown) HL_MUST_CHECK;

/* socket: the engine's, as the client is told by a variable; "" = the client's own. */
int client_open(struct engine *engine, const char *program, const char *socket,
    const struct hl_strv *shown, struct hl_err *err) HL_MUST_CHECK;
/* Ends the one that the streams go through. */
void client_done(struct engine *engine);

enum client_command {
	CLIENT_VERSION,
	CLIENT_LOOK_IMAGE,
	CLIENT_LOOK,
	CLIENT_CREATE,
	CLIENT_START,
	CLIENT_REMOVE,
	CLIENT_REMOVE_ENDED,
	CLIENT_LIST,
	CLIENT_COMMAND_MAX
};

enum {
	CLIENT_SAID_MAX = 2 * 1024
};

struct client_reply {
	int status; /* of its exit; -1 = a signal ended it */
	struct hl_buf out;
	char said[CLIENT_SAID_MAX];  /* its standard error as it is, up to a zero */
	char words[ENGINE_TEXT_MAX]; /* the same, safe */
};

/* Runs it once and waits for its end. -1: it could not be started, was too slow, or said too much;
 * a status of its own is not a failure here. The caller releases out. */
int client_call(struct engine *engine, enum client_command command, const struct hl_strv *more,
    struct client_reply *ret_reply, struct hl_err *err) HL_MUST_CHECK;
/* Starts the one that has the container's streams. */
int client_join(struct engine *engine, struct hl_err *err) HL_MUST_CHECK;
/* What it says on its standard error, up to now; len bytes at most, as they are. */
size_t client_diagnosis(const struct engine *engine, char *bytes, size_t len);

/* ------------------------------------------------------------------------------------------------
 * image.c, container.c, attach.c, client_calls.c: the steps
 */
struct image_facts {
	char engine[96]; /* "docker 20.10.24" */
	char id[80];     /* sha256:... */
	char digest[80]; /* of the manifest when the engine knows it, else the id */
	char user[128];
	struct hl_strv env;
	struct hl_strv volumes; /* places where the image wants one */
};

struct image_want {
	const char *image;                    /* "" = only the engine */
	unsigned pull;                        /* enum plan_pull */
	const struct hl_strv *registry_files; /* of the caller's credentials, in order */
	const struct hl_strv *registry_env;   /* for the programs that they name */
	const struct hl_strv *registry_shown; /* where none of them may be, nor a client */
	const char *engine;                   /* name, "" = any */
};

int image_open(struct engine *engine, const struct image_want *want, struct image_facts *ret_facts,
    struct hl_err *err) HL_MUST_CHECK;

enum {
	CONTAINER_NAP_MS = 100
};

/* What the engine says of one, by name or id: the caller's. NULL: status is 404 when there is none,
 * 0 when no answer came. */
json_t *container_look(struct engine *engine, const char *key, long *ret_status,
    struct hl_err *err) HL_MUST_CHECK;
/* Before the engine is asked again. */
void container_nap(void);

struct container_want {
	const char *name, *body;
	const struct hl_strv
	    *words; /* the same for a client, behind "create"; none = NULL or empty */
};

int container_create(struct engine *engine, const struct container_want *want,
    struct hl_strv *ret_warnings, struct hl_err *err) HL_MUST_CHECK;
int container_start(struct engine *engine, uint32_t *ret_pid, struct hl_err *err) HL_MUST_CHECK;
int container_remove(struct engine *engine, struct hl_err *err) HL_MUST_CHECK;
/* Those of ours with that name, "" = all, as ENGINE_LISTED says. */
int container_list(struct engine *engine, const char *name, struct hl_strv *ret_items,
    struct hl_err *err) HL_MUST_CHECK;
struct container_named {
	const char *name, *run;
	bool is_forced; /* also while it runs */
};

/* By name, and only when its run label says run. */
int container_remove_named(struct engine *engine, const struct container_named *named,
    struct hl_err *err) HL_MUST_CHECK;
/* Gone already is as good as removed. */
int container_remove_by(struct engine *engine, const char *key, bool is_forced,
    struct hl_err *err) HL_MUST_CHECK;
/* Waits a little for the end of what runs in it, whose stream is ended. */
void container_await(struct engine *engine);

/* ------------------------------------------------------------------------------------------------
 * kept.c: containers that stay when they have ended
 */
struct kept_found {
	char id[80];               /* "" = none that can be used */
	char run[40];              /* label */
	char why[ENGINE_TEXT_MAX]; /* "" = nothing was removed */
};

struct kept_ask {
	const char *name, *body; /* as of create */
	const char *id;          /* that it must have; "" = any */
};

/* One that is not ours is HLB-50; one of ours that is not what is asked is removed. */
int kept_find(struct engine *engine, const struct kept_ask *ask, struct kept_found *ret_found,
    struct hl_err *err) HL_MUST_CHECK;
/* Ends what we started in it. Fails unless the engine says that it is over, or that the container
 * is gone. */
int kept_end(struct engine *engine, struct hl_err *err) HL_MUST_CHECK;
/* When it ended, or began when it runs, in seconds; 0 = not known. */
uint64_t kept_since(struct engine *engine, const char *id);
/* "2026-11-30T08:56:01.5Z", or with an offset; 0 = not one, or before 1970. */
uint64_t kept_time(const char *text);

/* same.c: part is the name of the first that differs, "" = none. Takes out of both what comes with
 * the start, and what a twin has not. */
void same_compare(const struct dialect *dialect, json_t *twin, json_t *kept,
    char part[KEPT_PART_MAX]);
/* The labels that only one that is kept has. */
void same_drop_kept(json_t *labels);

/* twin.c: whether the engine would make the same now. */
struct twin_call {
	const char *name;   /* of the kept one */
	json_t *asked;      /* of create; it is changed */
	const json_t *kept; /* what the engine says of that one */
};

/* part: what differs, in quotes; it stays empty when nothing does. */
int twin_compare(struct engine *engine, const struct twin_call *call, char part[KEPT_PART_MAX],
    struct hl_err *err) HL_MUST_CHECK;

struct container_end {
	uint32_t flags; /* enum engine_end_flags */
	uint32_t exit_code;
	char diagnosis[ENGINE_STDERR_MAX + 1];
	char daemon_error[ENGINE_TEXT_MAX];
};

/* Waits a little for the end, then forces it; removes. Nothing here is an error: it is all told. */
void container_stop(struct engine *engine, struct container_end *ret_end);

int attach_open(struct engine *engine, struct hl_err *err) HL_MUST_CHECK;
/* Begins the long wait and returns when the daemon has it. */
int wait_open(struct engine *engine, struct hl_err *err) HL_MUST_CHECK;
/* Moves bytes until the control socket is readable (true) or, with timeout_ms >= 0, the time is
 * over or the container has ended (false). */
bool relay_run(struct engine *engine, int timeout_ms);

#endif
