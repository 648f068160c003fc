/*
 * What the launcher and hl-engine say to each other over descriptor 3, a SOCK_SEQPACKET pair: one
 * message is one packet, a type byte and fields made with base's wire codec. The launcher asks, the
 * helper answers each request once, with the answer below it or with FAILED; before that it may
 * tell its PROGRESS. Descriptor 4 is the runner's stream, bytes only.
 *
 * When descriptor 3 ends, the helper kills and deletes what it created, and exits.
 */
#ifndef HL_BACKENDS_DOCKER_PROTOCOL_H
#define HL_BACKENDS_DOCKER_PROTOCOL_H

enum engine_message {
	/* string endpoint, string image ("" = none), u8 enum plan_pull, and for a pull: strv files
	 * of credentials, strv environment of the programs that they name, strv places that a
	 * command can write, where no such program may be; string name of the engine ("" = any), u8
	 * endpoint is a program, string the client that is used ("" = the API); an endpoint that is
	 * a program is the client itself then */
	ENGINE_OPEN = 1,
	ENGINE_OPENED, /* struct engine_facts, in its order */
	/* string name, string body, u8 keep: it stays when it has ended; strv: the same for a
	 * client, behind its word "create" */
	ENGINE_CREATE,
	ENGINE_CREATED, /* string id, strv warnings */
	ENGINE_START,   /* empty */
	ENGINE_STARTED, /* u32 pid on the engine's host, 0 = unknown */
	ENGINE_STOP,    /* u8 discard: also one that would stay */
	ENGINE_STOPPED, /* struct engine_end, in its order */
	/* string name, string run: only a container with that run label; u8: also while it runs */
	ENGINE_REMOVE,
	ENGINE_REMOVED, /* empty */
	ENGINE_FAILED,  /* string code id, string message, string what to do */
	ENGINE_LIST,    /* string name, "" = all of ours */
	ENGINE_LISTED,  /* strv: of each of ours enum engine_list_field */
	/* string name, string body, string id that it must have ("" = any): one that was kept, for
	 * the next to use */
	ENGINE_FIND,
	/* string id, "" = none; string run: label of it; string why: of one that was removed */
	ENGINE_FOUND,
	/* Before an answer, any number of times: u32 layers, u32 of them there, u64 bytes here, u64
	 * bytes in all, as far as they are known */
	ENGINE_PROGRESS,
	ENGINE_MESSAGE_MAX
};

enum {
	ENGINE_CONTROL_FD = 3,
	ENGINE_STREAM_FD = 4,
	ENGINE_PACKET_MAX = 128 * 1024, /* below the kernel's default send buffer (socket(7)) */
	ENGINE_TEXT_MAX = 400,          /* of a daemon's message that we repeat */
	ENGINE_IMAGE_ENV_MAX = 512,
	ENGINE_VOLUMES_MAX = 64,
	ENGINE_REGISTRY_FILES_MAX = 8,
	ENGINE_REGISTRY_ENV_MAX = 32,
	ENGINE_SHOWN_MAX = 1024,
	ENGINE_STDERR_MAX = 4096,
	ENGINE_WARNINGS_MAX = 16,
	ENGINE_WORDS_MAX = 4000,
	ENGINE_LIST_MAX = 384, /* containers; what is past them is for the next time */
};

/* Of a container that is not kept, those from LEASE on are "". */
enum engine_list_field {
	ENGINE_LIST_NAME,
	ENGINE_LIST_RUN,   /* label */
	ENGINE_LIST_OWNER, /* label */
	ENGINE_LIST_STATE, /* "ended" or "" */
	ENGINE_LIST_LEASE, /* label: seconds */
	ENGINE_LIST_SINCE, /* when it ended, or began when it runs: seconds; "" = not known */
	ENGINE_LIST_SESSION,
	ENGINE_LIST_PLACE, /* label: which state directory */
	ENGINE_LIST_FIELDS
};

/* How it ended. */
enum engine_end_flags {
	ENGINE_END_EXITED = 1 << 0,     /* exit_code is known */
	ENGINE_END_OOM = 1 << 1,        /* the kernel killed for the memory limit */
	ENGINE_END_VANISHED = 1 << 2,   /* the engine was gone before the container's end */
	ENGINE_END_SILENT = 1 << 3,     /* not one byte came from the runner */
	ENGINE_END_REMOVED = 1 << 4,    /* the container is gone, or stopped when it is kept */
	ENGINE_END_BAD_STREAM = 1 << 5, /* the attach stream was malformed */
};

/* Names that both sides know. */
#define DOCKER_LABEL_MANAGED "dev.hermes-launch.managed"
#define DOCKER_LABEL_RUN     "dev.hermes-launch.run"
#define DOCKER_LABEL_OWNER   "dev.hermes-launch.owner"
#define DOCKER_LABEL_SPEC    "dev.hermes-launch.spec"
#define DOCKER_LABEL_IMAGE   "dev.hermes-launch.image" /* the digest of what was asked for */
#define DOCKER_LABEL_SESSION "dev.hermes-launch.session"
#define DOCKER_LABEL_PROFILE "dev.hermes-launch.profile"
#define DOCKER_LABEL_PLACE   "dev.hermes-launch.place" /* digest of the state directory */
#define DOCKER_LABEL_LEASE   "dev.hermes-launch.lease" /* seconds: it is kept for so long */

#endif
