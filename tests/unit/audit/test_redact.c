/*
 * Redaction: nothing private gets through in any form, what is not private stays readable, and no
 * text makes the search slow. The canaries are made up and fit no account.
 */
#include <time.h>

#include "tests/unit/audit/log.h"

/* Redacts one text after another as the arguments of one command; the result is NUL-terminated. */
static void
redact_all(const struct redactor *redactor, bool is_argument, const char *const *texts, size_t n,
    struct hl_buf *out)
{
	struct redact_state state = { .is_argument = is_argument };

	hl_buf_reset(out);
	for (size_t i = 0; i < n; i++) {
		audit_redact(redactor, &state, texts[i], strlen(texts[i]), out);
		hl_buf_putc(out, '\n');
	}
}

static void
expect(bool is_argument, const char *const *texts, size_t n, const char *expected)
{
	struct redactor redactor;
	struct hl_buf out;

	audit_redactor_init(&redactor);
	hl_buf_init(&out, 1 << 20);
	redact_all(&redactor, is_argument, texts, n, &out);
	assert_string_equal(out.data, expected);
	hl_buf_done(&out);
	audit_redactor_done(&redactor);
}

#define EXPECT_SHELL(text, expected) expect(false, (const char *const[]){ text }, 1, expected "\n")
#define EXPECT_ARGUMENTS(expected, ...)             \
 expect(true, (const char *const[]){ __VA_ARGS__ }, \
     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), expected)

static void
test_assignments(void **state)
{
	(void)state;
	EXPECT_SHELL("API_TOKEN=abc make; rm -rf /",
	    "API_TOKEN=‹redacted:pattern:value› make; rm -rf /");
	EXPECT_SHELL("API_TOKEN=abc;rm -rf /", "API_TOKEN=‹redacted:pattern:value›;rm -rf /");
	EXPECT_SHELL("X_PASSWORD_2='a b;c' make", "X_PASSWORD_2=‹redacted:pattern:value› make");
	EXPECT_SHELL("db_pass=a\\ b make", "db_pass=‹redacted:pattern:value› make");
	EXPECT_SHELL("sh -c \"DB_PWD=a make\" x",
	    "sh -c \"DB_PWD=‹redacted:pattern:value› make\" x");
	EXPECT_SHELL("{\"api_key\": \"a b\", \"n\": 1}",
	    "{\"api_key\": ‹redacted:pattern:value›, \"n\": 1}");
	EXPECT_SHELL("{\\\"client_secret\\\":\\\"a b\\\"} x",
	    "{\\\"client_secret\\\":‹redacted:pattern:value›} x");
	EXPECT_SHELL("curl 'https://h/p?access_token=abc&x=1'",
	    "curl 'https://h/p?access_token=‹redacted:pattern:value›'");
	EXPECT_SHELL("PWD=/w OLDPWD=/x tokens=5 bypass=1 a==b token==c",
	    "PWD=/w OLDPWD=/x tokens=5 bypass=1 a==b token==c");
	EXPECT_SHELL("docker pull acme/token:latest", "docker pull acme/token:latest");
	EXPECT_ARGUMENTS("env\nX_TOKEN=‹redacted:pattern:value›\nls\n", "env", "X_TOKEN=a;b&c",
	    "ls");
	EXPECT_ARGUMENTS("--password=‹redacted:pattern:value›\nls\n", "--password=a b;c", "ls");
}

static void
test_options(void **state)
{
	(void)state;
	EXPECT_ARGUMENTS("x\n--password\n‹redacted:pattern:option›\nls\n", "x", "--password",
	    "hunter two", "ls");
	EXPECT_ARGUMENTS("x\n--password-stdin\nls\n", "x", "--password-stdin", "ls");
	EXPECT_SHELL("x --token abc; ls", "x --token ‹redacted:pattern:option›; ls");
	EXPECT_SHELL("mysql -u root -phunter db | cat -phunter",
	    "mysql -u root -p‹redacted:pattern:option› db | cat -phunter");
	EXPECT_ARGUMENTS("/usr/bin/mysql\n-p‹redacted:pattern:option›\ndb\n", "/usr/bin/mysql",
	    "-phun ter", "db");
	EXPECT_ARGUMENTS("sshpass\n-p\n‹redacted:pattern:option›\nssh\n-p\n22\n", "sshpass", "-p",
	    "hunter", "ssh", "-p", "22");
	EXPECT_ARGUMENTS("docker\nrun\n-p\n80:80\n", "docker", "run", "-p", "80:80");
	EXPECT_SHELL("docker login -u me -p hunter r.example",
	    "docker login -u me -p ‹redacted:pattern:option› r.example");
	EXPECT_SHELL("curl -u me:hunter https://h/",
	    "curl -u me:‹redacted:pattern:option› https://h/");
	EXPECT_ARGUMENTS("curl\n--user\nme:‹redacted:pattern:option›\nu\n", "curl", "--user",
	    "me:hun ter", "u");
	/* What a shell would run is never taken for a value, however it is quoted. */
	EXPECT_SHELL("echo \"\"secret\": \"; rm -rf /; echo \"\"",
	    "echo \"\"secret\": \"; rm -rf /; echo \"\"");
	EXPECT_SHELL("echo \"password: \"; rm -rf /; echo \"x\"",
	    "echo \"password: \"; rm -rf /; echo \"x\"");
	/* A shell's text inside an argument vector is read as shell. */
	EXPECT_ARGUMENTS("bash\n-c\nTOKEN=‹redacted:pattern:value›;rm${IFS}-rf\n", "bash", "-c",
	    "TOKEN=a;rm${IFS}-rf");
}

static void
test_headers(void **state)
{
	(void)state;
	EXPECT_ARGUMENTS("curl\n-H\nAuthorization: ‹redacted:pattern:header›\nhttps://h/\n", "curl",
	    "-H", "Authorization: Basic YTpi", "https://h/");
	EXPECT_SHELL("curl -H 'authorization: token abc' https://h/",
	    "curl -H 'authorization: ‹redacted:pattern:header›' https://h/");
	EXPECT_SHELL("Cookie: a=b; c=d\nnext", "Cookie: ‹redacted:pattern:header›\nnext");
	EXPECT_SHELL("X-Api-Key: abc def", "X-Api-Key: ‹redacted:pattern:value› def");
	EXPECT_SHELL("sent Bearer abcdefghijklmnop.q/r= done",
	    "sent Bearer ‹redacted:pattern:bearer› done");
	EXPECT_SHELL("Bearer of news", "Bearer of news");
}

static void
test_urls_and_keys(void **state)
{
	(void)state;
	EXPECT_SHELL("git clone https://me:p@ss@h.example/r",
	    "git clone https://me:‹redacted:pattern:url›@h.example/r");
	EXPECT_SHELL("https://abcdefghijklmnopqrstuvwx@h/", "https://‹redacted:pattern:url›@h/");
	EXPECT_SHELL("ssh://git@h:22/r http://h:80/a@b", "ssh://git@h:22/r http://h:80/a@b");
	EXPECT_SHELL("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
	    "a ‹redacted:pattern:pem› b");
	EXPECT_SHELL("a -----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb", "a ‹redacted:pattern:pem›");
	EXPECT_SHELL("-----BEGIN CERTIFICATE-----\nMII", "-----BEGIN CERTIFICATE-----\nMII");
	EXPECT_SHELL("a sk-learn disk-management-of-all-the-drives b",
	    "a sk-learn disk-management-of-all-the-drives b");
}

/* Shapes, and where each must be found. */
static const char *const shapes[] = {
	"ghp_CANARYabcdefghijklmnopqrstuvwxyz01",
	"gho_CANARYabcdefghijklmnopqrstuvwxyz01",
	"ghs_CANARYabcdefghijklmnopqrstuvwxyz01",
	"ghu_CANARYabcdefghijklmnopqrstuvwxyz01",
	"ghr_CANARYabcdefghijklmnopqrstuvwxyz01",
	"github_pat_CANARY0abcdefghijklmnopqrstuvwxyz",
	"glpat-CANARYabcdefghijklm",
	"sk-CANARYabcdefghijklmnopqrstuvwxyz",
	"sk-proj-CANARYabcdefghijklmnopqrstuvwxyz",
	"sk-ant-api03-CANARYabcdefghijklmnop",
	"sk-or-v1-CANARYabcdefghijklmnop",
	"xoxb-CANARY-1234567890",
	"xoxa-CANARY-1234567890",
	"xoxp-CANARY-1234567890",
	"xoxr-CANARY-1234567890",
	"xoxs-CANARY-1234567890",
	"xapp-CANARY-1234567890",
	"AKIACANARY0123456789",
	"ASIACANARY0123456789",
	"AIzaCANARYabcdefghijklmnopqrstuvwxyz_-0",
	"ya29.CANARYabcdefghijklmnopqrst",
	"eyJhbGciCANARY.eyJzdWIiOiIx.c2lnbmF0dXJl",
	"npm_CANARYabcdefghijklmnopqrstuvwxyz",
	"pypi-CANARYabcdefghijklmnop",
	"whsec_CANARYabcdefghijklmn",
	"sbp_CANARYabcdefghijklmnopqrst",
	"hf_CANARYabcdefghijklmnopqrst",
	"gsk_CANARYabcdefghijklmnopqrst",
	"SG.CANARYabcdefghijkl.mnopqrstuvwxyz0123456789",
	"rk_live_CANARYabcdefghijkl",
	"sk_live_CANARYabcdefghijkl",
	"dop_v1_CANARYabcdefghijklmnop",
	"API_KEY=CANARYxyz",
	"password=CANARYxyz",
	"--token=CANARYxyz",
	"https://user:CANARYxyz@host/",
	"Authorization: Bearer CANARYxyz",
	"Proxy-Authorization: Basic CANARYxyz",
	"\"secret\": \"CANARYxyz\"",
	"-----BEGIN EC PRIVATE KEY-----\nCANARYxyz\n-----END EC PRIVATE KEY-----",
	"Set-Cookie: sid=CANARYxyz",
	"Bearer CANARY-0123456789abcdef",
};

static const char *const places[] = {
	"@",
	"run --x '@' now",
	"a\n@\nb",
	"cat <<E\n@\nE\n",
	"text=@",
	"- k: @ # note",
	"error: @: denied",
	"cut off: @",
};

static void
test_canary_shapes(void **state)
{
	struct log log;
	struct hl_buf out;
	struct hl_err err = { 0 };
	struct audit_record record;
	struct hl_buf text;

	(void)state;
	assert_true(HL_ARRAY_SIZE(shapes) >= 40);
	log_make(&log);
	hl_buf_init(&out, 8 << 20);
	hl_buf_init(&text, 4096);
	struct audit *audit = log_open(&log);
	for (size_t i = 0; i < HL_ARRAY_SIZE(shapes); i++) {
		for (size_t j = 0; j < HL_ARRAY_SIZE(places); j++) {
			const char *mark = strchr(places[j], '@');
			hl_buf_reset(&text);
			hl_buf_put(&text, places[j], (size_t)(mark - places[j]));
			hl_buf_puts(&text, shapes[i]);
			hl_buf_puts(&text, mark + 1);
			char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, text.data, text.data };
			audit_event(audit, AUDIT_RUN_SANDBOX, &record);
			audit_put_string(audit, &record, "id", text.data);
			audit_put_strings(audit, &record, "engine", argv, 4);
			if (record.redacted < 3)
				fail_msg("not found in all three: %s", text.data);
			assert_int_equal(audit_append(audit, &record, NULL, &err), 0);
		}
	}
	audit_close(audit);
	file_read(log.segment, &out);
	const char *hit = strstr(out.data, "CANARY");
	if (hit != NULL)
		fail_msg("in the log: %.80s", hit - 40);
	log_expect(&log, AUDIT_OK, "canaries");
	hl_buf_done(&text);
	hl_buf_done(&out);
	log_remove(&log);
}

/* Values of which every form has to be found: plain, long, and full of what is escaped. */
static const char *const values[] = {
	"S3CRET-777",
	"hunter2hunter2",
	"a b+c/d=e&f?g%h#i~j",
	"quote\"back\\slash'tick/end",
	"line one of it\nline two of it\ttab",
	"pässwörd-ÿ-😀-end",
	"0123456789012345678901234567890123456789",
	"=======?====",
};

static void
encode_base64(const unsigned char *bytes, size_t len, struct hl_buf *out)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, n = 0;

	for (size_t i = 0; i < len; i++) {
		bits = (bits << 8 | bytes[i]) & 0xffff;
		for (n += 8; n >= 6; n -= 6)
			hl_buf_putc(out, digits[bits >> (n - 6) & 63]);
	}
	if (n > 0)
		hl_buf_putc(out, digits[bits << (6 - n) & 63]);
	while (out->len % 4 != 0)
		hl_buf_putc(out, '=');
}

typedef void encode_fn(const char *value, size_t len, struct hl_buf *out);

static void
as_plain(const char *value, size_t len, struct hl_buf *out)
{
	hl_buf_put(out, value, len);
}

static void
as_percent(const char *value, size_t len, struct hl_buf *out)
{
	for (size_t i = 0; i < len; i++) {
		if ((value[i] >= '0' && value[i] <= '9') || (value[i] >= 'A' && value[i] <= 'Z') ||
		    (value[i] >= 'a' && value[i] <= 'z') || (value[i] && strchr("-._~", value[i])))
			hl_buf_putc(out, value[i]);
		else
			hl_buf_putf(out, "%%%02X", (unsigned)(unsigned char)value[i]);
	}
}

static void
as_percent_small(const char *value, size_t len, struct hl_buf *out)
{
	for (size_t i = 0; i < len; i++)
		hl_buf_putf(out, "%%%02x", (unsigned)(unsigned char)value[i]);
}

static void
with_prefix(const char *prefix, const char *value, size_t len, struct hl_buf *out)
{
	unsigned char text[512];
	size_t n = strlen(prefix);

	memcpy(text, prefix, n);
	memcpy(text + n, value, len);
	memcpy(text + n + len, "tail", 4);
	encode_base64(text, n + len + 4, out);
}

static void
as_base64_0(const char *value, size_t len, struct hl_buf *out)
{
	encode_base64((const unsigned char *)value, len, out);
}

static void
as_base64_1(const char *value, size_t len, struct hl_buf *out)
{
	with_prefix("user:", value, len, out);
	with_prefix("u", value, len, out);
}

static void
as_base64_2(const char *value, size_t len, struct hl_buf *out)
{
	with_prefix("u:", value, len, out);
}

static void
as_base64_url(const char *value, size_t len, struct hl_buf *out)
{
	with_prefix("u:", value, len, out);
	for (size_t i = 0; i < out->len; i++)
		out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
}

static void
as_hex(const char *value, size_t len, struct hl_buf *out)
{
	hl_buf_hex(out, value, len);
}

static void
as_json(const char *value, size_t len, struct hl_buf *out)
{
	hl_buf_json_string(out, value, len);
}

static void
as_shell(const char *value, size_t len, struct hl_buf *out)
{
	(void)len;
	hl_buf_shell_word(out, value);
}

static void
as_cut_end(const char *value, size_t len, struct hl_buf *out)
{
	hl_buf_put(out, value, len - 1);
}

static encode_fn *const encoders[] = { as_plain, as_percent, as_percent_small, as_base64_0,
	as_base64_1, as_base64_2, as_base64_url, as_hex, as_json, as_shell, as_cut_end };

static void
check_form(const struct redactor *redactor, const char *value, size_t form)
{
	struct hl_buf text, out;
	char before[16];

	hl_buf_init(&text, 4096);
	hl_buf_init(&out, 4096);
	encoders[form](value, strlen(value), &text);
	size_t len = text.len;
	struct redact_state state = { 0 };
	assert_true(audit_redact(redactor, &state, text.data, text.len, &out) >= 1);
	assert_non_null(strstr(out.data, "‹redacted:env:CI_X›"));
	/* Nothing of it stays but what stood around it: no eight bytes in a row of its middle. */
	for (size_t i = 8; len > 24 && i + 16 < len; i++) {
		memcpy(before, text.data + i, 8);
		before[8] = '\0';
		if (strlen(before) == 8 && strstr(out.data, before) != NULL)
			fail_msg("form %zu of '%s': '%s' is left in '%s'", form, value, before,
			    out.data);
	}
	hl_buf_done(&text);
	hl_buf_done(&out);
}

static void
test_known_values(void **state)
{
	struct hl_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(values); i++) {
		struct redactor redactor;
		struct audit_secret secret = { "env:CI_X", values[i], strlen(values[i]) };
		audit_redactor_init(&redactor);
		assert_int_equal(audit_redactor_add(&redactor, &secret, &err), 0);
		for (size_t form = 0; form < HL_ARRAY_SIZE(encoders); form++)
			check_form(&redactor, values[i], form);
		audit_redactor_done(&redactor);
	}
}

/* Overlapping values, one inside the other, short ones that are not looked for, lines of a key. */
static void
test_known_corners(void **state)
{
	static const struct audit_secret secrets[] = {
		{ "env:A", "abcdefgh12", 10 },
		{ "env:B", "gh12345678", 10 },
		{ "env:SHORT", "short", 5 },
		{ "file:key", "first line of a key\nsecond line of a key\n", 41 },
		{ "env:LONGER", "abcdefgh12XYZ", 13 },
	};
	struct redactor redactor;
	struct hl_err err = { 0 };
	struct hl_buf out;

	(void)state;
	audit_redactor_init(&redactor);
	hl_buf_init(&out, 4096);
	for (size_t i = 0; i < HL_ARRAY_SIZE(secrets); i++)
		assert_int_equal(audit_redactor_add(&redactor, &secrets[i], &err), 0);
	redact_all(&redactor, false, (const char *const[]){ "x abcdefgh12345678 y" }, 1, &out);
	assert_string_equal(out.data, "x ‹redacted:env:A› y\n");
	redact_all(&redactor, false, (const char *const[]){ "abcdefgh12XYZ short" }, 1, &out);
	assert_string_equal(out.data, "‹redacted:env:LONGER› short\n");
	redact_all(&redactor, false, (const char *const[]){ "a second line of a key b" }, 1, &out);
	assert_string_equal(out.data, "a ‹redacted:file:key› b\n");
	/* The pattern would stop at the semicolon, the value does not. */
	struct audit_secret odd = { "env:ODD", "pa;ss&word", 10 };
	assert_int_equal(audit_redactor_add(&redactor, &odd, &err), 0);
	redact_all(&redactor, false, (const char *const[]){ "password=pa;ss&word x" }, 1, &out);
	assert_string_equal(out.data, "password=‹redacted:env:ODD› x\n");
	hl_buf_done(&out);
	audit_redactor_done(&redactor);
}

/* HLI-03: a value past the limit is refused, not left out. */
static void
test_value_too_long(void **state)
{
	struct redactor redactor;
	struct hl_err err = { 0 };
	size_t len = (1 << 20) + 1;
	char *value = malloc(len);

	(void)state;
	assert_non_null(value);
	memset(value, 'v', len);
	audit_redactor_init(&redactor);
	struct audit_secret secret = { "env:BIG", value, len };
	assert_int_equal(audit_redactor_add(&redactor, &secret, &err), -1);
	assert_int_equal(err.code, HLI_03);
	free(value);
	audit_redactor_done(&redactor);
}

/* A session brings the same values with each of its calls: only new ones use the room up. */
static void
test_a_value_counts_once(void **state)
{
	struct redactor redactor;
	struct hl_err err = { 0 };
	char value[32];

	(void)state;
	audit_redactor_init(&redactor);
	for (int round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 2000; i++) {
			snprintf(value, sizeof(value), "S3CRET-%06u", i);
			const struct audit_secret secret = { "env:A", value, strlen(value) };
			assert_int_equal(audit_redactor_add(&redactor, &secret, &err), 0);
		}
	}
	assert_int_equal(redactor.names.len, 2000);
	const struct audit_secret other = { "env:B", value, strlen(value) };
	assert_int_equal(audit_redactor_add(&redactor, &other, &err), 0);
	assert_int_equal(redactor.names.len, 2001);
	audit_redactor_done(&redactor);
}

/* "redacted" counts the places, in the record. */
static void
test_count(void **state)
{
	struct log log;
	struct hl_buf out;
	struct hl_err err = { 0 };
	struct audit_secret secret = { "env:CI_TOKEN", "S3CRET-777", 10 };

	(void)state;
	log_make(&log);
	hl_buf_init(&out, 1 << 20);
	struct audit *audit = log_open(&log);
	assert_int_equal(audit_add_secret(audit, &secret, &err), 0);
	log_append(audit, "make S3CRET-777 and S3CRET-777");
	audit_close(audit);
	file_read(log.segment, &out);
	assert_non_null(strstr(out.data, "\"id\":\"make ‹redacted:env:CI_TOKEN› and "
					 "‹redacted:env:CI_TOKEN›\",\"redacted\":2,\"prev\""));
	assert_null(strstr(out.data, "S3CRET"));
	hl_buf_done(&out);
	log_remove(&log);
}

static double
cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Eight times the text may take little more than eight times as long, whatever it repeats. */
static void
test_linear(void **state)
{
	static const char *const units[] = { "eyJ", "eyJaaaaaaaa.", "://", "a:b@://",
		"token=", "-=", "=-", "\"\"=", "-----BEGIN ", "-----BEGIN A PRIVATE KEY", "sk-",
		"sk-sk-ant-", "Bearer ", "mysql -p", "curl -u ", "--token ",
		"Authorization:", "\\\"token\\\":\\\"", "'token='", "cookie:'", "password: ", ";-p",
		"a/", "=\"" };
	struct redactor redactor;
	struct hl_buf text, out;

	(void)state;
	audit_redactor_init(&redactor);
	hl_buf_init(&text, 4 << 20);
	hl_buf_init(&out, 64 << 20);
	for (size_t i = 0; i < HL_ARRAY_SIZE(units); i++) {
		double seconds[2];
		for (unsigned k = 0; k < 2; k++) {
			size_t size = k == 0 ? 32768 : 262144;
			hl_buf_reset(&text);
			hl_buf_reset(&out);
			while (text.len < size)
				hl_buf_puts(&text, units[i]);
			struct redact_state redact_state = { 0 };
			double begin = cpu_seconds();
			audit_redact(&redactor, &redact_state, text.data, text.len, &out);
			seconds[k] = cpu_seconds() - begin;
		}
		if (seconds[1] > seconds[0] * 24 + 0.05)
			fail_msg("'%s': %.4f s, and %.4f s for eight times as much", units[i],
			    seconds[0], seconds[1]);
	}
	hl_buf_done(&text);
	hl_buf_done(&out);
	audit_redactor_done(&redactor);
}

/* A text that was cut before it came here, with or without dots to say so. */
static void
test_known_cut(void **state)
{
	static const char value[] = "correct-horse-battery-staple";
	const struct audit_secret secret = { "env:CUT", value, sizeof(value) - 1 };
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "x correct-hor", "x ‹redacted:env:CUT›\n" },
		{ "x correct-hor...", "x ‹redacted:env:CUT›...\n" },
		{ "x correct-horse-battery-staple...", "x ‹redacted:env:CUT›...\n" },
		{ "x correct-hors and more...", "x correct-hors and more...\n" },
		{ "x correct-...", "x ‹redacted:env:CUT›...\n" },
		{ "correc...", "correc...\n" },
	};
	struct redactor redactor;
	struct hl_buf out;
	struct hl_err err;

	(void)state;
	audit_redactor_init(&redactor);
	hl_buf_init(&out, 4096);
	assert_int_equal(audit_redactor_add(&redactor, &secret, &err), 0);
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		redact_all(&redactor, false, &rows[i].text, 1, &out);
		assert_string_equal(out.data, rows[i].expected);
	}
	hl_buf_done(&out);
	audit_redactor_done(&redactor);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_assignments),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_urls_and_keys),
		cmocka_unit_test(test_canary_shapes),
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_known_corners),
		cmocka_unit_test(test_known_cut),
		cmocka_unit_test(test_value_too_long),
		cmocka_unit_test(test_a_value_counts_once),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
