/* SPDX-License-Identifier: MIT */
/* index_cache.c - a directory with what was derived from program files, for the next look. */
#include "symbols/index_cache.h"

#include <corotracer/version.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/temp_names.h"

#define ENTRY_MAGIC     UINT64_C(0x31584449544f5243) /* "CROTIDX1" in memory */
#define ENTRY_SUFFIX    ".index"
#define TEMPORARY_OLD_S 3600 /* a temporary file of this age is left over */

struct entry_header {
	uint64_t magic;
	uint64_t size; /* of the content */
	uint64_t sum;  /* index_hash() of the content */
};

static bool cache_is_used;

void index_cache_set(bool is_used)
{
	cache_is_used = is_used;
}

bool index_cache_is_used(void)
{
	return cache_is_used;
}

uint64_t index_hash(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	size_t i;

	for (i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* ---- the tool -------------------------------------------------------------------- */

#define VERSION_MAX 256

/* Append the build-id in the notes of the first object, which is this program. */
static int version_add_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	char *out = arg;
	size_t i, at = strlen(out);

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		// NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives numbers
		const char *note = (const char *)(info->dlpi_addr + ph->p_vaddr);
		const char *end = note + ph->p_memsz;

		while (ph->p_type == PT_NOTE && note + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *head = (const void *)note;
			const unsigned char *bytes = (const unsigned char *)note + sizeof(*head) +
						     ((head->n_namesz + 3u) & ~3u);
			unsigned k;

			if (head->n_type == NT_GNU_BUILD_ID) {
				for (k = 0; k < head->n_descsz && at + 3 < VERSION_MAX;
				     k++, at += 2)
					snprintf(out + at, 3, "%02x", bytes[k]);
				return 1;
			}
			note = (const char *)bytes + ((head->n_descsz + 3u) & ~3u);
		}
	}
	return 1;
}

const char *index_cache_version(void)
{
	static char version[VERSION_MAX];
	size_t size;
	struct stat st;

	if (version[0])
		return version;
	size = (size_t)snprintf(version, sizeof(version), "%s ", COROTRACER_VERSION);
	dl_iterate_phdr(version_add_build_id, version);
	/* Linked without a build-id. */
	if (strlen(version) == size && stat("/proc/self/exe", &st) == 0)
		snprintf(version + size, sizeof(version) - size, "%lld %lld.%09ld",
			 (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return version;
}

/* ---- the directory ------------------------------------------------------------ */

/* A directory of this user that no one else can write to; a descriptor or -1. */
static int cache_open_own(int at, const char *name, bool must_follow)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | (must_follow ? 0 : O_NOFOLLOW));
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -1;
}

/* As cache_open_own(), created if it is missing. */
static int cache_make_own(int at, const char *name)
{
	int fd = cache_open_own(at, name, false);

	if (fd >= 0 || errno != ENOENT || mkdirat(at, name, 0700) < 0)
		return fd;
	return cache_open_own(at, name, false);
}

static int cache_open_home(void)
{
	const char *home = secure_getenv("HOME");
	int fd, cache;

	if (!home || home[0] != '/')
		return -1;
	fd = cache_open_own(AT_FDCWD, home, true);
	if (fd < 0)
		return -1;
	cache = cache_make_own(fd, ".cache");
	close(fd);
	return cache;
}

/* The directory of the entries; a descriptor or -1. */
static int cache_open(void)
{
	const char *base = secure_getenv("XDG_CACHE_HOME");
	int parent, fd;

	if (!cache_is_used)
		return -1;
	parent = base && base[0] == '/' ? cache_open_own(AT_FDCWD, base, true) : cache_open_home();
	if (parent < 0)
		return -1;
	fd = cache_make_own(parent, "corotracer");
	close(parent);
	return fd;
}

/* ---- reading ------------------------------------------------------------------- */

static bool entry_read_all(int fd, void *buf, size_t size)
{
	unsigned char *at = buf;

	while (size) {
		ssize_t got = io_read(fd, at, size);

		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

/* NULL, or why the entry is not used. */
static const char *entry_read(int fd, struct bytes *out)
{
	struct entry_header header;
	struct stat st;
	unsigned char *room;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077))
		return "it does not belong to this user alone";
	if ((uint64_t)st.st_size > INDEX_CACHE_ENTRY_MAX ||
	    !entry_read_all(fd, &header, sizeof(header)))
		return "it is damaged";
	if (header.magic != ENTRY_MAGIC || header.size != (uint64_t)st.st_size - sizeof(header))
		return "it is damaged";
	room = bytes_more(out, header.size);
	if (!room || !entry_read_all(fd, room, header.size) ||
	    index_hash(INDEX_HASH_START, room, header.size) != header.sum)
		return "it is damaged";
	return NULL;
}

bool index_cache_read(const char *name, struct bytes *out, char *note, size_t note_size)
{
	int dir = cache_open(), fd;
	const char *problem;

	if (dir < 0)
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) {
		close(dir);
		return false;
	}
	problem = fd < 0 ? "it cannot be opened" : entry_read(fd, out);
	if (problem)
		snprintf(note, note_size, "ignoring '%.160s' in the cache: %s", name, problem);
	else
		futimens(fd, NULL); /* used now: removed later than others */
	if (fd >= 0)
		close(fd);
	close(dir);
	return !problem;
}

/* ---- removing ------------------------------------------------------------------- */

struct cache_file {
	char name[INDEX_CACHE_NAME_MAX + 16];
	uint64_t size;
	struct timespec used;
};

static int cache_file_by_age(const void *a, const void *b)
{
	const struct cache_file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Add the file to @files, unless it is not one of the cache's. */
static bool cache_file_stat(int dir, const char *name, struct cache_file *out)
{
	const char *suffix = strstr(name, ENTRY_SUFFIX);
	struct stat st;

	if (!suffix || strlen(name) >= sizeof(out->name) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
		return false;
	if (suffix[strlen(ENTRY_SUFFIX)]) {
		if (st.st_mtim.tv_sec < time(NULL) - TEMPORARY_OLD_S)
			unlinkat(dir, name, 0);
		return false;
	}
	snprintf(out->name, sizeof(out->name), "%s", name);
	out->size = (uint64_t)st.st_size;
	out->used = st.st_mtim;
	return true;
}

static void cache_remove_oldest(int dir, struct cache_file *files, size_t nr, uint64_t bytes)
{
	size_t i;

	qsort(files, nr, sizeof(*files), cache_file_by_age);
	for (i = 0; i < nr && (bytes > INDEX_CACHE_BYTES || nr - i > INDEX_CACHE_ENTRIES); i++) {
		unlinkat(dir, files[i].name, 0);
		bytes -= files[i].size;
	}
}

static void cache_trim(int dir)
{
	struct cache_file *files = NULL, *more;
	size_t nr = 0, room = 0;
	uint64_t bytes = 0;
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *e;

	if (!list && copy >= 0)
		close(copy);
	while (list && (e = readdir(list))) {
		if (nr == room) {
			room = room ? room * 2 : 64;
			more = reallocarray(files, room, sizeof(*more));
			if (!more)
				break;
			files = more;
		}
		if (cache_file_stat(dir, e->d_name, &files[nr]))
			bytes += files[nr++].size;
	}
	if (nr)
		cache_remove_oldest(dir, files, nr, bytes);
	if (list)
		closedir(list);
	free(files);
}

/* ---- writing --------------------------------------------------------------------- */

static bool entry_write_all(int fd, const void *data, size_t size)
{
	const unsigned char *at = data;

	while (size) {
		ssize_t put = io_write(fd, at, size);

		if (put <= 0)
			return false;
		at += put;
		size -= (size_t)put;
	}
	return true;
}

void index_cache_write(const char *name, const struct bytes *content)
{
	struct entry_header header = {
		.magic = ENTRY_MAGIC,
		.size = content->size,
		.sum = index_hash(INDEX_HASH_START, content->data, content->size),
	};
	int dir = content->size + sizeof(header) > INDEX_CACHE_ENTRY_MAX ? -1 : cache_open(), fd;
	struct temp_name *entry = NULL;
	char temporary[PATH_MAX];
	bool is_written;

	if (dir < 0)
		return;
	/* A name for mkostemp(3) and for the handler of signals; both follow the descriptor. */
	snprintf(temporary, sizeof(temporary), "/proc/self/fd/%d/%s.XXXXXX", dir, name);
	fd = temp_name_create(temporary, &entry);
	if (fd >= 0) {
		is_written = entry_write_all(fd, &header, sizeof(header)) &&
			     entry_write_all(fd, content->data, content->size);
		if (close(fd) < 0 || !is_written || renameat(AT_FDCWD, temporary, dir, name) < 0)
			unlink(temporary);
		temp_name_forget(entry);
		cache_trim(dir);
	}
	close(dir);
}
