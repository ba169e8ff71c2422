/* SPDX-License-Identifier: MIT */
/* path.h - operations on the text of a path. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stddef.h>
#include <string.h>

/*
 * Copy @from without "./", "//" and "a/..", terminated; symbolic links are not followed.  A path of
 * @size bytes or more: only its end is copied, unchanged.
 */
void path_plain(const char *from, char *to, size_t size);

/* The part after the last slash. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
