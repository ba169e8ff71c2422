/* SPDX-License-Identifier: MIT */
/*
 * walk.h - from chunk to chunk through a container, over damage too.
 *
 * The file must be seekable.  Headers are read on the way, payloads only on request.  A
 * chunk whose header is wrong is a fault; the walk goes on at the next one whose header is
 * right, wherever that is.
 */
#ifndef MEMORY_WALK_H
#define MEMORY_WALK_H

#include "base/err.h"
#include "memory/fault.h"
#include "memory/record.h"
#include "crc32c.h"

struct ZSTD_DCtx_s;

struct walk {
	int fd;
	const char *path;
	uint64_t size;   /* of the file when it was opened: what grows behind it is not read */
	uint64_t offset; /* of the next chunk */
	struct cray_file file;
	struct mem_faults *faults;
	struct cray_crc crc;
	uint32_t next_number;
	bool ended; /* END and foot were met */
	bool has_foot;
	struct cray_foot foot;
	struct ZSTD_DCtx_s *zstd;
	uint8_t *stored; /* of the last payload */
	size_t stored_size;
};

struct walk_chunk {
	uint64_t offset; /* of its header */
	struct cray_chunk chunk;
	struct cray_block block; /* of CRAY_BLOCK chunks */
};

/* Checks the file's header.  Faults found on the way go to @faults.  0 or a negative errno. */
int walk_open(struct walk *w, int fd, const char *path, struct mem_faults *faults, struct err *err);
void walk_close(struct walk *w);

/* The next chunk that is whole.  False at the end. */
bool walk_next(struct walk *w, struct walk_chunk *out);

/* Is what lies at @offset a chunk?  Its payload is not looked at. */
bool walk_chunk_at(const struct walk *w, uint64_t offset, struct walk_chunk *out);

/* Decompressed bytes of a chunk, checked: a buffer that grows as needed. */
struct walk_buffer {
	uint8_t *data;
	size_t size, room;
};
/* False: a fault was noted. */
bool walk_payload(struct walk *w, const struct walk_chunk *c, struct walk_buffer *out);

/* The bytes as they are in the file, unchecked; NULL: they cannot be read.  Ours until the next. */
const uint8_t *walk_stored(struct walk *w, const struct walk_chunk *c);

#endif
