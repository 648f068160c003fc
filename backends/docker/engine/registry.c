/*
 * Credentials for a registry, from where the engine's own client keeps them: a file such as
 * ~/.docker/config.json or podman's auth.json, or a program that it names. Of a file only "auths",
 * "credHelpers" and "credsStore" are read: its proxies, headers and plug-ins have no part in a
 * sandbox. No file, and no entry for the registry, is an anonymous pull; a file that cannot be
 * understood is an error, because the pull that it would have allowed fails with another cause.
 *
 * No message here repeats what the file holds but names of members, registries and programs.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/engine/pull.h"

#include "base/banned.h"

/* What docker calls docker.io where it keeps credentials. */
#define HUB_KEY "https://index.docker.io/v1/"

static const char *const hub_hosts[] = { "docker.io", "index.docker.io", "registry-1.docker.io" };

struct credentials {
	const char *username, *password, *identity_token, *registry_token; /* NULL = none */
};

struct asked {
	const struct registry_source *source;
	const char *file;                     /* the one that is read */
	const char *key;                      /* HUB_KEY, or the registry itself */
	const char *name;                     /* of the image, without a tag */
	char registry[REGISTRY_HOST_MAX + 1]; /* for messages */
	struct hl_buf *out;
};

/* ------------------------------------------------------------------------------------------------
 * The file
 */

/* What was parsed may be a secret. */
static void
wipe_and_free(void *bytes)
{
	if (bytes != NULL)
		explicit_bzero(bytes, malloc_usable_size(bytes));
	free(bytes);
}

static int
bad_file(const struct asked *asked, const char *why, struct hl_err *err)
{
	hl_err_set(err, HLB_64, "'%s' %s", asked->file, why);
	return hl_err_help(err,
	    "mend it, or remove it and say '%s login %s' again; without it a pull is anonymous",
	    asked->source->client, asked->registry);
}

/* It says which programs are run. */
static const char *
why_unsafe(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return "cannot be looked at";
	if (!S_ISREG(st.st_mode))
		return "is not a regular file";
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return "belongs to somebody else";
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "can be written by others: give it mode 0600";
	return NULL;
}

/* 1: text has it; 0: there is none; -1: error. */
static int
read_file(const struct asked *asked, struct hl_buf *text, struct hl_err *err)
{
	int fd HL_AUTO_FD = open(asked->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return hl_err_sys(err, HLB_64, "cannot open '%s'", asked->file);
	const char *why = why_unsafe(fd);
	if (why != NULL)
		return bad_file(asked, why, err);
	return hl_read_file(fd, text, asked->file, HLB_64, err) == 0 ? 1 : -1;
}

/* ------------------------------------------------------------------------------------------------
 * Keys: "registry.example:5000", from older clients "https://registry.example:5000/v1/", and by
 * podman "registry.example:5000/team" for a part of that registry
 */
static const char *
skip_scheme(const char *key)
{
	static const char *const schemes[] = { "https://", "http://" };

	for (size_t i = 0; i < HL_ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i]);
		if (strncmp(key, schemes[i], len) == 0)
			return key + len;
	}
	return key;
}

static bool
is_hub(const char *host, size_t len)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(hub_hosts); i++) {
		if (strlen(hub_hosts[i]) == len && memcmp(hub_hosts[i], host, len) == 0)
			return true;
	}
	return false;
}

static bool
is_key_of(const struct asked *asked, const char *key)
{
	const char *host = skip_scheme(key), *wanted = skip_scheme(asked->key);
	size_t len = strcspn(host, "/"), wanted_len = strcspn(wanted, "/");

	if (asked->source->has_scopes && host == key && host[len] != '\0')
		return false; /* of a part of it, which is another one or was found before */
	if (asked->source->has_scopes && is_hub(host, len) && is_hub(wanted, wanted_len))
		return true;
	return len == wanted_len && len > 0 && memcmp(host, wanted, len) == 0;
}

/* As it is written, else the first that means the same. NULL = none. */
static json_t *
find_entry(const struct asked *asked, json_t *entries)
{
	json_t *entry = json_object_get(entries, asked->key);
	const char *key;
	json_t *value;

	if (entry != NULL)
		return entry;
	json_object_foreach(entries, key, value)
	{
		if (is_key_of(asked, key))
			return value;
	}
	return NULL;
}

/* That of the image's own name, else of the nearest that it is part of, up to the registry. */
static json_t *
find_scoped(const struct asked *asked, json_t *entries)
{
	json_t *found = NULL, *value;
	size_t found_len = strlen(asked->registry);
	const char *key;

	if (!asked->source->has_scopes)
		return find_entry(asked, entries);
	json_object_foreach(entries, key, value)
	{
		size_t len = strlen(key);
		bool is_part = strncmp(asked->name, key, len) == 0 &&
			       (asked->name[len] == '\0' || asked->name[len] == '/');
		if (!is_part || len <= found_len)
			continue;
		found = value;
		found_len = len;
	}
	return found != NULL ? found : find_entry(asked, entries);
}

/* A member that is missing or null is NULL in *ret; false: it is of another type. */
static bool
get_member(json_t *object, const char *name, int type, json_t **ret)
{
	json_t *member = json_object_get(object, name);

	*ret = json_is_null(member) ? NULL : member;
	return *ret == NULL || (int)json_typeof(*ret) == type;
}

static bool
get_text(json_t *object, const char *name, const char **ret)
{
	json_t *member;

	if (!get_member(object, name, JSON_STRING, &member) ||
	    (member != NULL && json_string_length(member) > REGISTRY_SECRET_MAX))
		return false;
	*ret = member != NULL && json_string_length(member) > 0 ? json_string_value(member) : NULL;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * The header
 */
static void
put_member(struct hl_json *json, const char *name, const char *value)
{
	if (value != NULL)
		hl_json_member(json, name, value);
}

/* RFC 4648, 5: '+' and '/' have other meanings in a header. */
static int
put_header(const struct asked *asked, const struct credentials *credentials, struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;
	struct hl_json json;

	hl_buf_init(&text, REGISTRY_HEADER_MAX);
	hl_json_init(&json, &text);
	hl_json_object(&json);
	put_member(&json, "username", credentials->username);
	put_member(&json, "password", credentials->password);
	put_member(&json, "identitytoken", credentials->identity_token);
	put_member(&json, "registrytoken", credentials->registry_token);
	put_member(&json, "serveraddress", asked->key);
	hl_json_end_object(&json);
	if (hl_buf_check(&text, "credentials", err) != 0)
		return -1;
	hl_buf_base64(asked->out, (const unsigned char *)text.data, text.len);
	for (size_t i = 0; i < asked->out->len; i++) {
		char *c = &asked->out->data[i];
		*c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c);
	}
	return hl_buf_check(asked->out, "credentials", err);
}

/* ------------------------------------------------------------------------------------------------
 * An entry of "auths"
 */

/* base64 of "username:password"; older clients put zero bytes behind it. */
static bool
read_auth(const char *auth, char pair[REGISTRY_SECRET_MAX], struct credentials *credentials)
{
	size_t len;

	if (!hl_base64_read(auth, strlen(auth), (unsigned char *)pair, REGISTRY_SECRET_MAX - 1,
		&len) ||
	    len >= REGISTRY_SECRET_MAX)
		return false;
	while (len > 0 && pair[len - 1] == '\0')
		len--;
	pair[len] = '\0';
	char *colon = strchr(pair, ':');
	if (strlen(pair) != len || colon == NULL || colon == pair || !hl_is_utf8(pair, len))
		return false;
	*colon = '\0';
	credentials->username = pair;
	credentials->password = colon + 1;
	return true;
}

static int
take_entry(const struct asked *asked, json_t *entry, struct hl_err *err)
{
	struct credentials credentials = { 0 };
	const char *auth = NULL;
	char *pair HL_AUTO_FREE = malloc(REGISTRY_SECRET_MAX);
	int status = 0;

	if (pair == NULL)
		return hl_err_oom(err);
	if (!json_is_object(entry) || !get_text(entry, "auth", &auth) ||
	    !get_text(entry, "username", &credentials.username) ||
	    !get_text(entry, "password", &credentials.password) ||
	    !get_text(entry, "identitytoken", &credentials.identity_token) ||
	    !get_text(entry, "registrytoken", &credentials.registry_token) ||
	    (auth != NULL && !read_auth(auth, pair, &credentials))) {
		status =
		    bad_file(asked, "has an entry for the registry that is not of the form", err);
	} else {
		/* A token is instead of a password, not beside it. */
		if (credentials.identity_token != NULL)
			credentials.username = credentials.password = NULL;
		if (credentials.password != NULL || credentials.identity_token != NULL ||
		    credentials.registry_token != NULL)
			status = put_header(asked, &credentials, err);
	}
	explicit_bzero(pair, REGISTRY_SECRET_MAX);
	return status;
}

/* ------------------------------------------------------------------------------------------------
 * A program that keeps them
 */
static int
take_answer(const struct asked *asked, const char *name, const struct hl_buf *answer,
    struct hl_err *err)
{
	json_t *object = json_loadb(answer->data, answer->len, JSON_REJECT_DUPLICATES, NULL);
	struct credentials credentials = { 0 };
	const char *secret = NULL;
	int status;

	if (!json_is_object(object) || !get_text(object, "Username", &credentials.username) ||
	    !get_text(object, "Secret", &secret) || credentials.username == NULL ||
	    secret == NULL) {
		status = hl_err_set(err, HLB_65,
		    "what 'docker-credential-%s' answers for '%s' is not of the form", name,
		    asked->registry);
	} else {
		if (strcmp(credentials.username, "<token>") == 0)
			credentials = (struct credentials){ .identity_token = secret };
		else
			credentials.password = secret;
		status = put_header(asked, &credentials, err);
	}
	json_decref(object);
	return status;
}

static bool
is_program_name(const char *name)
{
	size_t len =
	    strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return len > 0 && len <= 64 && name[len] == '\0';
}

static int
ask_program(const struct asked *asked, const char *name, struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf answer;

	hl_buf_init(&answer, REGISTRY_SECRET_MAX);
	if (!is_program_name(name))
		return bad_file(asked, "names a program for credentials in a way that is no name",
		    err);
	const struct credential_want want = { name, asked->key, asked->file };
	int has = credential_get(asked->source, &want, &answer, err);
	return has > 0 ? take_answer(asked, name, &answer, err) : has;
}

/* ------------------------------------------------------------------------------------------------
 * In the order of the engine's own client: the registry's program, the program for all, the file
 */
static int
take_config(const struct asked *asked, json_t *config, struct hl_err *err)
{
	json_t *auths, *helpers;
	const char *store = NULL, *program;

	if (!json_is_object(config))
		return bad_file(asked, "is not JSON of the form that a client writes", err);
	if (!get_member(config, "auths", JSON_OBJECT, &auths))
		return bad_file(asked, "has 'auths' that is no object", err);
	if (!get_member(config, "credHelpers", JSON_OBJECT, &helpers))
		return bad_file(asked, "has 'credHelpers' that is no object", err);
	if (asked->source->has_store && !get_text(config, "credsStore", &store))
		return bad_file(asked, "has 'credsStore' that is no name", err);
	json_t *helper = find_entry(asked, helpers);
	if (helper != NULL && !json_is_string(helper))
		return bad_file(asked, "has an entry in 'credHelpers' that is no name", err);
	program = helper != NULL ? json_string_value(helper) : store;
	if (program != NULL)
		return ask_program(asked, program, err);
	json_t *entry = find_scoped(asked, auths);
	return entry != NULL ? take_entry(asked, entry, err) : 0;
}

/* With nothing put into asked->out there are none there. */
static int
take_file(const struct asked *asked, struct hl_err *err)
{
	HL_AUTO(hl_buf_done_secret) struct hl_buf text;

	hl_buf_init(&text, REGISTRY_FILE_MAX);
	int has = read_file(asked, &text, err);
	if (has <= 0)
		return has;
	json_set_alloc_funcs(malloc, wipe_and_free);
	json_t *config = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	int status = take_config(asked, config, err);
	json_decref(config);
	return status;
}

int
registry_auth(const struct registry_source *source, const char *image, struct hl_buf *ret_header,
    struct hl_err *err)
{
	struct asked asked = { .source = source, .out = ret_header };
	int status = 0;

	hl_buf_init(ret_header, REGISTRY_HEADER_MAX);
	if (!reference_registry(image, asked.registry))
		return hl_err_set(err, HLB_47,
		    "the registry in '%.80s...' is longer than a name can be", image);
	char *name HL_AUTO_FREE = reference_name(image);
	if (name == NULL)
		return hl_err_oom(err);
	asked.name = name;
	bool is_docker_hub = strcmp(asked.registry, hub_hosts[0]) == 0;
	asked.key = is_docker_hub && !source->has_scopes ? HUB_KEY : asked.registry;
	for (size_t i = 0; source->files != NULL && i < source->files->len; i++) {
		asked.file = source->files->v[i];
		status = take_file(&asked, err);
		if (status != 0 || ret_header->len > 0)
			break;
	}
	return status;
}
