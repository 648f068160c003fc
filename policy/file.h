/*
 * Opening policy files: which file is meant, and whether it may be believed.
 */
#ifndef HL_POLICY_FILE_H
#define HL_POLICY_FILE_H

#include <sys/types.h>

#include "base/base.h"
#include "policy/policy.h"

/* What was opened. */
struct policy_file {
	char *path; /* the kernel's own name of it; heap, the caller frees it */
	bool is_roots;
};

/* Reads the file at path by the file rule (see file.c) into bytes, which must have been given the
 * maximum. */
int policy_file_read(const char *path, uid_t caller, struct hl_buf *bytes,
    struct policy_file *ret_file, struct hl_err *err) HL_MUST_CHECK;

/* Absolute paths of all files to load, and how messages name each. */
struct policy_file_list {
	struct hl_strv paths;
	struct hl_strv names;
	size_t host_len; /* the first ones, from the host directory */
};

void policy_file_list_done(struct policy_file_list *list);
int policy_file_list_find(const struct policy_load_request *request,
    struct policy_file_list *ret_list, struct hl_err *err) HL_MUST_CHECK;

#endif
