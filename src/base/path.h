/* SPDX-License-Identifier: MIT */
/* path.h - normalize a path by its text alone. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stddef.h>

/*
 * Copy @from without "./", "//" and "a/..", terminated; symbolic links are not followed.  A path of
 * @size bytes or more: only its end is copied, unchanged.
 */
void path_plain(const char *from, char *to, size_t size);

#endif
