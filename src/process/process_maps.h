/* SPDX-License-Identifier: MIT */
/*
 * process_maps.h - the mappings of a process, from /proc/PID/maps.
 *
 * The process chooses the names of its files: a path may contain any byte.  The kernel escapes a
 * newline as \012, does not escape a backslash, and appends " (deleted)" to the name of a file that
 * has been unlinked.  Both are undone here, so a file that is really called "a\012b" or
 * "a (deleted)" is misread: compare dev and inode where the identity of a file matters.
 */
#ifndef PROCESS_PROCESS_MAPS_H
#define PROCESS_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the kernel appends to the name of an unlinked file. */
#define PROCESS_MAP_DELETED " (deleted)"

struct process_map {
	uint64_t start, end; /* start < end */
	uint64_t offset;     /* in the file */
	dev_t dev;
	uint64_t inode; /* 0: no file; the id of a System V segment */
	bool read, write, exec, shared;
	bool deleted;     /* the file was unlinked, or never had a name (memfd, System V) */
	const char *path; /* NULL: no name; "[stack]" and the like have no slash in front */
};

/* All zero: empty. */
struct process_maps {
	struct process_map *list; /* by ascending start */
	size_t nr, room;
	char *text; /* holds the paths */
};

/*
 * Read all mappings of @pid.  Returns 0, or a negative errno and an empty list: -EACCES without
 * permission, -ENOENT or -ESRCH without such a process.  A zombie has no mappings.  The process
 * keeps running: what it maps during the call is listed or not.
 */
int process_maps_read(pid_t pid, struct process_maps *maps);

/*
 * The same for @size bytes of @text, which comes from malloc(): @maps owns it from now on, and an
 * error frees it.  Lines that the kernel does not write are skipped, and one without its newline.
 */
int process_maps_parse(char *text, size_t size, struct process_maps *maps);

/* The mapping that contains @address, or NULL. */
const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address);

void process_maps_free(struct process_maps *maps);

/*
 * True if process @pid maps the file @path, a whole path.  The file is recognized by its path, or
 * by device and inode: a process in another mount namespace has another path, and a file system of
 * layers has other numbers.
 */
bool process_maps_file(pid_t pid, const char *path);

/* True if both are mappings of the file with the same name. */
bool process_map_same_file(const struct process_map *a, const struct process_map *b);

#endif
