/* SPDX-License-Identifier: MIT */
/* legacy.h - shared by the files that translate the existing coroTracer's flags. */
#ifndef TOOL_LEGACY_H
#define TOOL_LEGACY_H

#include <stdbool.h>

/* True if @word is -@flag, --@flag, or one of these with =value; *@attached is the value then. */
bool legacy_is_flag(const char *word, const char *flag, const char **attached);

/* Print an error for an unknown flag; returns the exit status. */
int legacy_unknown(const char *word);

/* -export KIND ... */
bool legacy_is_export(const char *word);
int legacy_export(int argc, char **argv);

#endif
