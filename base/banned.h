/*
 * Calls that this house does not make. Included last in every source file, so that a use is a
 * compile error: unbounded copies, locale- or static-buffer results, parsers that accept half a
 * number, and anything that starts a shell.
 */
#ifndef HL_BASE_BANNED_H
#define HL_BASE_BANNED_H

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok
#pragma GCC poison atoi atol atoll strtol strtoul strtoll strtoull sscanf
#pragma GCC poison gets system popen tmpnam tempnam mktemp
#pragma GCC poison gmtime localtime ctime asctime basename dirname

#endif
