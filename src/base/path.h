/* SPDX-License-Identifier: MIT */
/* path.h - one form of a path, by its text alone. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stddef.h>

/*
 * @from without "./", "//" and "a/..", terminated; links are not followed.  Of a path of @size
 * bytes or more the end, as it is.
 */
void path_plain(const char *from, char *to, size_t size);

#endif
