/* SPDX-License-Identifier: MIT */
/*
 * chunk_walk.h - iterate over the chunks of a container and skip corrupt bytes.
 *
 * The file must be seekable.  Headers are always read, payloads only on request.  A chunk with a
 * corrupt header is a fault; the walk continues at the next valid header.
 */
#ifndef MEMORY_FORMAT_CHUNK_WALK_H
#define MEMORY_FORMAT_CHUNK_WALK_H

#include "base/err.h"
#include "memory/format/mem_faults.h"
#include "memory/format/mem_record.h"
#include "crc32c.h"

struct ZSTD_DCtx_s;

struct walk {
	int fd;
	const char *path;
	uint64_t size;   /* of the file when it was opened: bytes added later are not read */
	uint64_t offset; /* offset of the next chunk */
	struct cray_file file;
	struct mem_faults *faults;
	struct cray_crc crc;
	uint32_t next_number;
	bool ended; /* END and foot were reached */
	bool has_foot;
	struct cray_foot foot;
	struct ZSTD_DCtx_s *zstd;
	uint8_t *stored; /* bytes of the last payload */
	size_t stored_size;
};

struct walk_chunk {
	uint64_t offset; /* offset of its header */
	struct cray_chunk chunk;
	struct cray_block block; /* of CRAY_BLOCK chunks */
};

/* Check the file header.  Faults found by the walk go to @faults.  0 or a negative errno. */
int walk_open(struct walk *w, int fd, const char *path, struct mem_faults *faults, struct err *err);
void walk_close(struct walk *w);

/* The next complete chunk.  False at the end. */
bool walk_next(struct walk *w, struct walk_chunk *out);

/* True if @offset holds a valid chunk header.  The payload is not checked. */
bool walk_chunk_at(const struct walk *w, uint64_t offset, struct walk_chunk *out);

/* A growable buffer for the decompressed bytes of a chunk. */
struct walk_buffer {
	uint8_t *data;
	size_t size, room;
};
/* Read, check and decompress a payload.  False: a fault was added. */
bool walk_payload(struct walk *w, const struct walk_chunk *c, struct walk_buffer *out);

/* The stored bytes of a chunk, unchecked; NULL: cannot be read.  Valid until the next call. */
const uint8_t *walk_stored(struct walk *w, const struct walk_chunk *c);

#endif
