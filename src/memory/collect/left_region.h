/* SPDX-License-Identifier: MIT */
/*
 * left_region.h - find the region that a killed `mem run` left behind, by the trace that it wrote.
 *
 * The directory of a region has a note for each trace: a file whose name is the serial of the
 * process and the device and inode of the trace, in hexadecimal, with the path of the trace.
 */
#ifndef MEMORY_COLLECT_LEFT_REGION_H
#define MEMORY_COLLECT_LEFT_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEFT_REGION_PREFIX "coromem-"

struct left_region {
	char dir[112], note[80];
	uint64_t serial; /* of the process whose trace it is */
};

/* Adds a note: the trace in @path is of process @serial.  Without it, the trace is not found. */
void left_region_note(const char *dir, uint64_t serial, const char *path);

/* Removes all notes. */
void left_region_forget(const char *dir);

/* False: there is none. */
bool left_region_find(struct left_region *left, uint64_t device, uint64_t inode);

/*
 * Calls @each for the traces of all regions that were left behind, with the path as it was.
 * Returns their number.
 */
size_t left_region_list(void (*each)(const char *dir, const char *trace));

/* Removes the note, and with the last one the region. */
void left_region_remove(const struct left_region *left);

#endif
