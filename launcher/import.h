/*
 * Variables for import hermes. Private to launcher/.
 */
#ifndef HL_LAUNCHER_IMPORT_H
#define HL_LAUNCHER_IMPORT_H

#include "base/base.h"

/* Adds NAME=VALUE when the name is one that hermes-agent's settings have; others are not looked at.
 */
void import_variable_keep(struct hl_strv *variables, const char *text, size_t len);
/* The lines of a .env file. HLU-40 at a line of such a name that cannot be read. */
int import_variables_read(const char *name, const char *bytes, size_t len,
    struct hl_strv *variables, struct hl_err *err) HL_MUST_CHECK;

#endif
