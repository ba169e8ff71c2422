/* SPDX-License-Identifier: MIT */
/* path.c - normalize a path by its text alone. */
#include "base/path.h"

#include <string.h>

/* Skip repeated "./" and "/". */
static const char *skip_empty(const char *p)
{
	while (*p == '/' || (p[0] == '.' && p[1] == '/'))
		p++;
	return p;
}

/* Start of the last directory in the first @len bytes; @len if it is ".." or there is none. */
static size_t last_directory(const char *path, size_t len)
{
	size_t at = len;

	if (len < 2 || path[len - 1] != '/')
		return len;
	for (at = len - 1; at > 0 && path[at - 1] != '/';)
		at--;
	return len - at == 3 && !memcmp(path + at, "../", 3) ? len : at;
}

void path_plain(const char *from, char *to, size_t size)
{
	size_t len = strlen(from), part, before;

	if (len >= size) {
		memcpy(to, from + len - size + 1, size);
		return;
	}
	len = 0;
	if (*from == '/')
		to[len++] = '/';
	for (from = skip_empty(from); *from; from = skip_empty(from)) {
		part = strcspn(from, "/");
		before = last_directory(to, len);
		if (part == 2 && !memcmp(from, "..", 2) && before < len) {
			len = before;
		} else {
			memcpy(to + len, from, part);
			len += part;
			if (from[part])
				to[len++] = '/';
		}
		from += part;
	}
	to[len] = '\0';
}
