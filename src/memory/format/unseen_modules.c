/* SPDX-License-Identifier: MIT */
/* unseen_modules.c - the libraries of a trace that were not built for tracing. */
#include "memory/format/unseen_modules.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Begins of file names. */
static const char *const expected[] = {
	"ld-linux",   "ld.so",       "ld-musl",       "libc.so", "libc-",
	"libm.so",    "libm-",       "libmvec",       "libdl",   "libpthread",
	"librt",      "libgcc_s",    "libstdc++",     "libc++",  "linux-vdso",
	"linux-gate", "libcacheray", "libcorotracer", "libzstd",
};

static const char *unseen_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool unseen_is_expected(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (!strncmp(name, expected[i], strlen(expected[i])))
			return true;
	}
	return false;
}

/* True if the file calls the runtime, which has the names of ThreadSanitizer's, or is unreadable.
 */
static bool unseen_is_instrumented(const char *path)
{
	static const char call[] = "__tsan_";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	bool is = true;
	void *map;

	if (fd < 0)
		return true;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			is = memmem(map, (size_t)st.st_size, call, strlen(call)) != NULL;
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return is;
}

static bool unseen_is_listed(const char *const *paths, size_t nr, const char *path)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(paths[i], path))
			return true;
	}
	return false;
}

size_t unseen_modules_find(const struct mem_facts *facts, const char *paths[UNSEEN_MODULES_MAX])
{
	size_t nr = 0, i;

	for (i = 0; i < facts->nr_modules && nr < UNSEEN_MODULES_MAX; i++) {
		const char *path = facts->modules[i].path;

		if (!path || path[0] != '/' || unseen_is_expected(unseen_file_name(path)) ||
		    unseen_is_listed(paths, nr, path) || unseen_is_instrumented(path))
			continue;
		paths[nr++] = path;
	}
	return nr;
}
