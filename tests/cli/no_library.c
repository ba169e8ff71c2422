/* SPDX-License-Identifier: MIT */
/*
 * no_library.c - preloaded: dlopen() finds no file whose name starts with $NO_LIBRARY, as on a
 * machine where that library is not installed.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
	static void *(*next)(const char *, int);
	const char *missing = getenv("NO_LIBRARY");

	if (!next) {
		void *found = dlsym(RTLD_NEXT, "dlopen");

		memcpy(&next, &found, sizeof(next));
	}
	if (file && missing && !strncmp(file, missing, strlen(missing)))
		return next("libcorotracer-test-no-such-library.so", mode);
	return next(file, mode);
}
