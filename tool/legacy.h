/* SPDX-License-Identifier: MIT */
/* legacy.h - what the flag style of the existing tool consists of. */
#ifndef TOOL_LEGACY_H
#define TOOL_LEGACY_H

#include <stdbool.h>

/* Is @word -@flag, --@flag or one of these with =value, which *@attached is then? */
bool legacy_is_flag(const char *word, const char *flag, const char **attached);

/* Says so; returns the exit status. */
int legacy_unknown(const char *word);

/* -export KIND ... */
bool legacy_is_export(const char *word);
int legacy_export(int argc, char **argv);

#endif
