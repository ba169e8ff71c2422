/* SPDX-License-Identifier: MIT */
/*
 * map_guard.h - survive truncation of a mapped file: map zeros on SIGBUS.
 *
 * A file that other processes can write may be truncated at any time.  The list of guarded mappings
 * belongs to the process; one thread may change it.
 */
#ifndef PROCESS_MAP_GUARD_H
#define PROCESS_MAP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* From now on the part of this mapping beyond the end of the file reads as zeros. */
void map_guard_add(void *map, uint64_t size, int prot);

/* Call it before @map is unmapped: another mapping may get its address.  NULL is ignored. */
void map_guard_remove(void *map);

/* True if the file was truncated while mapped. */
bool map_guard_shrunk(void);

#endif
