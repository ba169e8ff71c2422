/* SPDX-License-Identifier: MIT */
/* why_types.h - the description files of `corotracer why`. */
#ifndef TOOL_WHY_TYPES_H
#define TOOL_WHY_TYPES_H

#include "symbols/type_rules.h"

/*
 * The user's descriptions, a file or a directory, if @path is not NULL; then those that come with
 * the tool.  NULL after an error.
 */
struct type_rules *why_types_load(const char *path, struct err *err);

#endif
