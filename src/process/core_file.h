/* SPDX-License-Identifier: MIT */
/*
 * core_file.h - the segments and the notes of an ELF core file.
 *
 * The file is untrusted and may be truncated: nothing outside it is read, and what is missing is
 * known per segment.
 */
#ifndef PROCESS_CORE_FILE_H
#define PROCESS_CORE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include "base/err.h"

/* A PT_LOAD.  start < end; dumped <= end - start; available <= dumped. */
struct core_segment {
	uint64_t start, end;
	uint64_t offset;    /* in the file */
	uint64_t dumped;    /* bytes that the core has of it */
	uint64_t available; /* of these, before the end of the file */
	unsigned flags;     /* PF_R, PF_W, PF_X */
};

/* A PT_NOTE, up to the end of the file. */
struct core_note_area {
	uint64_t offset, size;
};

struct core_file {
	int fd;
	const unsigned char *data;
	uint64_t size;
	bool is_truncated;
	struct core_segment *segments; /* by ascending start, without overlaps */
	size_t nr_segments;
	struct core_note_area *areas;
	size_t nr_areas;
};

int core_file_open(struct core_file *core, const char *path, struct err *err);
void core_file_close(struct core_file *core);

/* The segment that contains @addr, or NULL. */
const struct core_segment *core_file_find(const struct core_file *core, uint64_t addr);

/* One note.  All zero: before the first. */
struct core_note {
	const char *owner; /* not terminated */
	size_t owner_size;
	uint32_t type;
	const unsigned char *data; /* unaligned */
	size_t size;
	size_t area;     /* index of the area */
	uint64_t behind; /* offset of the next note in the area */
};

/* False: no more notes. */
bool core_note_next(const struct core_file *core, struct core_note *note);

/* Compare with a terminated name; the owner has its zero byte or not. */
bool core_note_is(const struct core_note *note, const char *owner, uint32_t type);

#endif
