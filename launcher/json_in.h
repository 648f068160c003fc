/*
 * JSON from a peer: strict, capped, every member known. Private to launcher/.
 *
 * Bytes that are not UTF-8 travel as {"b64":"..."}, in both directions; base's writer makes them.
 */
#ifndef HL_LAUNCHER_JSON_IN_H
#define HL_LAUNCHER_JSON_IN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum {
	JSON_IN_DEPTH_MAX = 32,
	JSON_IN_TEXT_MAX = 1 << 20, /* of bytes that are one */
};

/* One value and nothing behind it: no duplicate keys; NUL in bytes only. HLU-20. */
int json_in_parse(const char *text, size_t len, json_t **ret_value,
    struct hl_err *err) HL_MUST_CHECK;
/* names: the members that object may have, NULL-terminated. An unknown one is an error, because a
 * wish that is not understood must not look granted. */
int json_in_only(const json_t *object, const char *const *names, struct hl_err *err) HL_MUST_CHECK;

/* Each leaves *ret as it is when the member is not there, or null. A text may come as bytes, since
 * commands, names and paths need not be UTF-8. */
int json_in_string(const json_t *object, const char *name, const char **ret_text,
    struct hl_err *err) HL_MUST_CHECK;
int json_in_bool(const json_t *object, const char *name, bool *ret_value,
    struct hl_err *err) HL_MUST_CHECK;
int json_in_u64(const json_t *object, const char *name, uint64_t max, uint64_t *ret_value,
    struct hl_err *err) HL_MUST_CHECK;
/* A text without a NUL, or bytes that are one; lives as long as value. NULL: neither. */
const char *json_in_text(json_t *value);
/* Text or {"b64":...}, appended to out. */
int json_in_bytes(const json_t *value, struct hl_buf *out, struct hl_err *err) HL_MUST_CHECK;
int json_in_strings(const json_t *object, const char *name, struct hl_strv *strv,
    struct hl_err *err) HL_MUST_CHECK;

#endif
