/* SPDX-License-Identifier: MIT */
/*
 * shm_space.h - choose a directory with room for shared memory.
 *
 * A file that a program and a collector map goes to a directory on tmpfs if one has the wanted
 * room.  Containers often have a /dev/shm of 64 MiB and a /tmp of many GiB: then the file goes
 * to the directory with the most room.
 */
#ifndef PROCESS_SHM_SPACE_H
#define PROCESS_SHM_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR, /tmp, /var/tmp. */
#define ROOM_PLACES 5u

/* The directories in order of preference; NULL: not set, not absolute, or a duplicate. */
void room_places(const char *places[ROOM_PLACES]);

/*
 * Create a directory of mode 0700, named @prefix plus six characters, where @wanted bytes are
 * free, or else where the most bytes are free; never where less than @least are.  Paths of
 * sockets in it are short enough.  The caller frees the path; NULL: no directory qualifies.
 */
char *room_make_dir(const char *prefix, uint64_t least, uint64_t wanted, struct err *err);

/* The same among @nr given directories. */
char *room_make_dir_among(const char *const *places, size_t nr, const char *prefix, uint64_t least,
			  uint64_t wanted, struct err *err);

/* The bytes free in the tmpfs with the most room among the directories; 0: none is a tmpfs. */
uint64_t room_free_in_memory(void);

/* Bytes free in the file system of @path; 0: unknown. */
uint64_t room_free(const char *path);

#endif
