/* SPDX-License-Identifier: MIT */
/*
 * room.h - where shared memory has room.
 *
 * A file that a program and a collector map goes to a directory in memory (tmpfs) if one has
 * the room that is wanted.  Containers often have a /dev/shm of 64 MiB beside a /tmp of many
 * GiB: then it goes where the most room is.
 */
#ifndef CTP_ROOM_H
#define CTP_ROOM_H

#include <stdint.h>

#include "base/err.h"

/* /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR, /tmp, /var/tmp. */
#define ROOM_PLACES 5u

/* The places, in order of preference; NULL: not set, or named before. */
void room_places(const char *places[ROOM_PLACES]);

/*
 * Make a directory of mode 0700, named @prefix and six characters, in a place that has @wanted
 * bytes free, or else in the one that has the most; never in one that has less than @least.
 * Paths of sockets in it are short enough.  The caller frees the path; NULL: no place.
 */
char *room_make_dir(const char *prefix, uint64_t least, uint64_t wanted, struct err *err);

/* Bytes free in the file system of @path; 0: unknown. */
uint64_t room_free(const char *path);

#endif
