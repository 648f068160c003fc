/*
 * What one value of a record can be: numbers with their range, and texts by bytes, length and,
 * where that is not enough, a function. Hosts and addresses have one spelling, so that equal ones
 * are equal bytes and one cannot stand for another.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "policy/records.h"

#include "base/banned.h"

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

enum {
	HOST_MAX = 253,
	DNS_LABEL_MAX = 63,
	FINGERPRINT_LEN = 43, /* SHA-256 in base64 without its padding */
	WEB_PATH_MAX = 256,   /* they are compared pairwise */
};

static bool
is_label(const char *text, size_t len)
{
	if (len < 1 || len > DNS_LABEL_MAX || text[0] == '-' || text[len - 1] == '-')
		return false;
	return strspn(text, LOWER DIGITS "_-") >= len;
}

/* The last label has a letter: what has none is an address, or looks like one to some resolver. */
static bool
is_name(const char *text)
{
	const char *label = text;

	if (strlen(text) > HOST_MAX)
		return false;
	for (;;) {
		size_t len = strcspn(label, ".");
		if (!is_label(label, len))
			return false;
		if (label[len] == '\0')
			return strspn(label, DIGITS) < len && !(label[0] == '0' && label[1] == 'x');
		label += len + 1;
	}
}

enum {
	GROUPS = 8
};

/* The first of the longest runs of zeros; those of one group are not shortened. */
static size_t
find_zeros(const unsigned group[GROUPS], size_t *ret_len)
{
	size_t best = GROUPS, best_len = 1;

	for (size_t i = 0; i < GROUPS; i++) {
		size_t len = 0;
		while (i + len < GROUPS && group[i + len] == 0)
			len++;
		if (len > best_len) {
			best = i;
			best_len = len;
		}
	}
	*ret_len = best_len;
	return best;
}

/* As RFC 5952 has it; what inet_ntop(3) makes differs from one C library to the other. */
static void
put_address6(const struct in6_addr *address, char *text, size_t size)
{
	unsigned group[GROUPS];
	size_t zeros, at = 0;

	for (size_t i = 0; i < GROUPS; i++)
		group[i] = address->s6_addr[2 * i] * 256U + address->s6_addr[2 * i + 1];
	size_t first = find_zeros(group, &zeros);
	text[0] = '\0';
	for (size_t i = 0; i < GROUPS; i++) {
		if (i == first)
			at += (size_t)snprintf(text + at, size - at, "::");
		if (i >= first && i < first + zeros)
			continue;
		at += (size_t)snprintf(text + at, size - at, "%s%x",
		    i == 0 || i == first + zeros ? "" : ":", group[i]);
	}
}

/* IPv4 in IPv6 is another spelling of an IPv4 address. */
static bool
is_address6(const char *text)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct in6_addr address;
	char again[INET6_ADDRSTRLEN];

	if (strchr(text, '.') != NULL || inet_pton(AF_INET6, text, &address) != 1 ||
	    memcmp(&address, mapped, sizeof(mapped)) == 0)
		return false;
	put_address6(&address, again, sizeof(again));
	return strcmp(again, text) == 0;
}

bool
policy_is_address(const char *text)
{
	struct in_addr address;

	return inet_pton(AF_INET, text, &address) == 1 || is_address6(text);
}

static bool
is_host(const char *text)
{
	if (text[0] == '*' && text[1] == '.')
		return strlen(text) <= HOST_MAX && is_name(text + 2);
	return is_name(text) || policy_is_address(text);
}

static bool
is_port(const char *text)
{
	struct hl_err ignored = { 0 };
	uint64_t port;

	return text[0] != '0' && hl_parse_u64(text, 1, UINT16_MAX, &port, &ignored) == 0;
}

/* HOST:PORT, an address of IPv6 in brackets. is_port_needed false: the port may be left out. */
static bool
is_place(const char *text, bool is_port_needed)
{
	char host[HOST_MAX + 1];
	bool is_bracketed = text[0] == '[';
	const char *begin = text + is_bracketed;
	size_t len = strcspn(begin, is_bracketed ? "]" : ":");
	const char *rest = begin + len + (is_bracketed && begin[len] == ']');

	if (len >= sizeof(host))
		return false;
	memcpy(host, begin, len);
	host[len] = '\0';
	if (is_bracketed ? begin[len] != ']' || !is_address6(host)
			 : !is_name(host) && !policy_is_address(host))
		return false;
	return *rest == '\0' ? !is_port_needed : *rest == ':' && is_port(rest + 1);
}

static bool
is_endpoint(const char *text)
{
	return is_place(text, true);
}

static bool
is_user(const char *text)
{
	return text[0] != '-' && text[0] != '.';
}

static bool
is_jump(const char *text)
{
	const char *at = strchr(text, '@');
	char user[65];

	if (at == NULL)
		return is_place(text, false);
	size_t len = (size_t)(at - text);
	if (len < 1 || len >= sizeof(user))
		return false;
	memcpy(user, text, len);
	user[len] = '\0';
	return policy_record_text_is_good(RECORD_TYPE_USER, user) && is_place(at + 1, false);
}

/* Two capital digits, and of a byte that cannot stand there itself: "%61" is another spelling of
 * "a", and what "%2F" or "%5C" is depends on the server. */
static bool
is_escape(const char *text)
{
	static const char digits[] = DIGITS "ABCDEF";
	const char *high = text[1] != '\0' ? strchr(digits, text[1]) : NULL;
	const char *low = high != NULL && text[2] != '\0' ? strchr(digits, text[2]) : NULL;

	if (low == NULL)
		return false;
	int byte = (int)((high - digits) * 16 + (low - digits));
	return byte >= ' ' && strchr(LOWER UPPER DIGITS "-._~*/\\%", byte) == NULL;
}

/* No part of it leads upward, and no two spell the same: what it says is what a server sees. A
 * server may cut a part at its first semicolon, and take two slashes for one. */
static bool
is_web_path(const char *text)
{
	if (text[0] != '/' || strstr(text, "//") != NULL)
		return false;
	for (const char *at = strchr(text, '%'); at != NULL; at = strchr(at + 1, '%'))
		if (!is_escape(at))
			return false;
	for (const char *part = text; part != NULL; part = strchr(part, '/')) {
		size_t len = strcspn(++part, "/;");
		if ((len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
			return false;
	}
	return true;
}

static bool
is_fingerprint(const char *text)
{
	static const char prefix[] = "SHA256:";
	size_t len = sizeof(prefix) - 1;

	return strncmp(text, prefix, len) == 0 &&
	       strspn(text + len, LOWER UPPER DIGITS "+/") == FINGERPRINT_LEN &&
	       text[len + FINGERPRINT_LEN] == '\0';
}

static bool
is_digest(const char *text)
{
	return strlen(text) == HL_SHA256_HEX_SIZE - 1;
}

/* As ssh-keygen(1) writes it: a kind, the key in base64, and maybe a comment. */
static bool
is_public_key(const char *text)
{
	static const char *const kinds[] = { "ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-" };
	const char *key = strchr(text, ' ');

	for (size_t i = 0; i < HL_ARRAY_SIZE(kinds); i++)
		if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
			return key != NULL && strncmp(key + 1, "AAAA", 4) == 0;
	return false;
}

static bool
is_label_text(const char *text)
{
	return strchr("-./:", text[0]) == NULL;
}

static bool
is_variable(const char *text)
{
	return hl_is_env_name(text, strlen(text));
}

/* A token of RFC 9110, behind the colon. */
static bool
is_in(const char *text)
{
	static const char *const words[] = { "authorization", "basic", "path", "body" };
	const char *name = strncmp(text, "header:", 7) == 0  ? text + 7
			   : strncmp(text, "query:", 6) == 0 ? text + 6
							     : NULL;

	for (size_t i = 0; i < HL_ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return name != NULL && name[0] != '\0' &&
	       name[strspn(name, LOWER UPPER DIGITS "!#$%&'*+.^_`|~-")] == '\0';
}

/* For editors: what a regular expression can say of it. */
#define ANY_TEXT         "{\"type\":\"string\",\"minLength\":1}"
#define TEXT_LIKE(regex) "{\"type\":\"string\",\"pattern\":\"^" regex "$\"}"
#define ANY_NAME         "[a-z0-9_.-]+"
#define ANY_USER         "[A-Za-z0-9_][A-Za-z0-9._-]{0,63}"
#define ANY_PLACE        "(" ANY_NAME "|\\\\[[0-9a-f:]+\\\\])"
#define ANY_PORT         "[1-9][0-9]{0,4}"

static const struct record_type_info types[RECORD_TYPE_MAX] = {
	[RECORD_TYPE_BOOL] = { .schema = "{\"type\":\"boolean\"}" },
	[RECORD_TYPE_WORD] = { .schema = "" },
	[RECORD_TYPE_PORT] = { .min = 1,
	    .max = UINT16_MAX,
	    .is_number = true,
	    .schema = "{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}" },
	[RECORD_TYPE_DESCRIPTOR] = { .min = 3,
	    .max = 1023,
	    .is_number = true,
	    .schema = "{\"type\":\"integer\",\"minimum\":3,\"maximum\":1023}" },
	[RECORD_TYPE_FILE] = { .max = 1024,
	    .help = "it is a path of at most 1024 bytes",
	    .schema = "{\"$ref\":\"#/definitions/path\"}" },
	[RECORD_TYPE_DIGEST] = { .max = HL_SHA256_HEX_SIZE,
	    .bytes = DIGITS "abcdef",
	    .is_good = is_digest,
	    .help = "write 64 hexadecimal digits in small letters, as sha256sum prints them",
	    .schema = "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{64}$\"}" },
	[RECORD_TYPE_HOST] = { .max = HOST_MAX,
	    .is_good = is_host,
	    .help = "write a name such as api.example.com in small letters (xn-- for others), "
		    "*.example.com for one label before it, or an address in its shortest form",
	    .schema = TEXT_LIKE("(([*][.])?" ANY_NAME "|[0-9a-f:]+)") },
	[RECORD_TYPE_ENDPOINT] = { .max = HOST_MAX + 8,
	    .is_good = is_endpoint,
	    .help = "write HOST:PORT, such as \"db.example.com:5432\"",
	    .schema = TEXT_LIKE(ANY_PLACE ":" ANY_PORT) },
	[RECORD_TYPE_METHOD] = { .max = 20,
	    .bytes = UPPER "-",
	    .help = "a method is written in capitals, such as GET",
	    .schema = TEXT_LIKE("[A-Z-]{1,20}") },
	[RECORD_TYPE_WEB_PATH] = { .max = WEB_PATH_MAX,
	    .bytes = LOWER UPPER DIGITS "/*-._~!$&'()+,;=:@%",
	    .is_good = is_web_path,
	    .help =
		"begin with /, as in \"/repos/*\"; no query, no //, no . or .. between slashes, "
		"and %XX only of what cannot stand there itself",
	    .schema = TEXT_LIKE("/[A-Za-z0-9/*._~!$&'()+,;=:@%-]{0,255}") },
	[RECORD_TYPE_USER] = { .max = 64,
	    .bytes = LOWER UPPER DIGITS "._-",
	    .is_good = is_user,
	    .help = "an account is letters, digits and . _ -",
	    .schema = TEXT_LIKE(ANY_USER) },
	[RECORD_TYPE_FINGERPRINT] = { .max = 50,
	    .is_good = is_fingerprint,
	    .help = "write SHA256: and 43 characters, as ssh-keygen -lf prints it",
	    .schema = TEXT_LIKE("SHA256:[A-Za-z0-9+/]{43}") },
	[RECORD_TYPE_PUBLIC_KEY] = { .max = 2048,
	    .bytes = LOWER UPPER DIGITS "+/=@._ -",
	    .is_good = is_public_key,
	    .help = "write the public key itself, such as \"ssh-ed25519 AAAA...\"",
	    .schema =
		TEXT_LIKE("(sk-)?(ssh-|ecdsa-sha2-)[A-Za-z0-9+/=@._-]* AAAA[A-Za-z0-9+/=@._ -]*") },
	[RECORD_TYPE_JUMP] = { .max = HOST_MAX + 73,
	    .is_good = is_jump,
	    .help = "write [USER@]HOST[:PORT]",
	    .schema = TEXT_LIKE("(" ANY_USER "@)?" ANY_PLACE "(:" ANY_PORT ")?") },
	[RECORD_TYPE_LABEL] = { .max = 128,
	    .bytes = LOWER UPPER DIGITS "._:/-",
	    .is_good = is_label_text,
	    .help = "a name is letters, digits and . _ : / -",
	    .schema = TEXT_LIKE("[A-Za-z0-9_][A-Za-z0-9._:/-]{0,127}") },
	[RECORD_TYPE_VARIABLE] = { .max = 128,
	    .is_good = is_variable,
	    .help = "a variable's name is letters, digits and _",
	    .schema = TEXT_LIKE("[A-Za-z_][A-Za-z0-9_]{0,127}") },
	[RECORD_TYPE_ARGUMENT] = { .max = 1024,
	    .help = "an argument has at most 1024 bytes",
	    .schema = ANY_TEXT },
	[RECORD_TYPE_PLACE] = { .max = 128,
	    .is_good = is_in,
	    .help = "it is one of: authorization, basic, path, body, header:NAME or query:NAME",
	    .schema = TEXT_LIKE(
		"(authorization|basic|path|body|(header|query):[A-Za-z0-9!#$%&'*+.^_`|~-]+)") },
};

const struct record_type_info *
policy_record_type(enum record_type type)
{
	HL_BUG_ON((size_t)type >= RECORD_TYPE_MAX);
	return &types[type];
}

bool
policy_record_text_is_good(enum record_type type, const char *text)
{
	const struct record_type_info *info = policy_record_type(type);

	return text[0] != '\0' && strlen(text) <= info->max &&
	       (info->bytes == NULL || text[strspn(text, info->bytes)] == '\0') &&
	       (info->is_good == NULL || info->is_good(text));
}
