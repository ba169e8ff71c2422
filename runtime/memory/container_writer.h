/* SPDX-License-Identifier: MIT */
/*
 * container_writer.h - write a container: chunks, blocks, index, losses and end.
 *
 * All writers of traces use it, in the traced program and in the tool: no allocation, no stdio.
 * Memory use is constant: an index chunk is written after every CRAY_WRITER_INDEX blocks.  After
 * the first error no more blocks are written: they are counted as lost, and the file stays
 * readable up to there.  After cray_writer_tail() the file is complete; the next block overwrites
 * the tail.
 */
#ifndef RUNTIME_MEMORY_CONTAINER_WRITER_H
#define RUNTIME_MEMORY_CONTAINER_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "block_maker.h"
#include "container.h"
#include "crc32c.h"

#define CRAY_WRITER_INDEX 1024u /* blocks per index chunk */
#define CRAY_WRITER_LOST  256u
#define CRAY_WRITER_QUEUE (1u << 20)

/* Entries of one chunk type that wait to be written. */
struct cray_queue {
	uint32_t used;    /* bytes */
	uint32_t written; /* of these, already in the file */
	uint8_t bytes[CRAY_WRITER_QUEUE];
};

struct cray_writer {
	int fd;
	int error;           /* errno of the first failure */
	bool capped;         /* the size limit was reached: no more blocks */
	bool torn;           /* the file ends in a part of a chunk, which could not be removed */
	bool complete;       /* the tail is in the file: the next chunk overwrites it */
	bool rewrites;       /* keep the queued entries: the file will be written again */
	uint64_t at;         /* offset of the next chunk */
	uint64_t size;       /* of the file after cray_writer_tail() */
	uint64_t max;        /* size limit, with room for the tail; 0: none */
	uint32_t number;     /* of the next chunk */
	uint32_t nr_threads; /* thread numbers given out, by the caller */
	uint32_t nr_lost;
	struct cray_maker *maker; /* compresses chunks other than blocks; NULL: not compressed */
	struct cray_end end;
	struct cray_file header;
	struct cray_crc crc;
	struct cray_lost lost[CRAY_WRITER_LOST];
	struct cray_index index; /* of the next index chunk; the entries follow in it as here */
	struct cray_entry entries[CRAY_WRITER_INDEX];
	struct cray_queue facts, modules, threads, stacks;
};

/* @w: zeros.  Begin a container in @fd, an empty file. */
bool cray_writer_begin(struct cray_writer *w, int fd, uint16_t codec, uint64_t flags,
		       uint64_t start_ns, uint64_t start_wall_ns);

/* Begin the same file again: everything is written again, including the queued entries. */
bool cray_writer_restart(struct cray_writer *w);

/* Queue an entry for the next INFO, MODULES, THREADS or STACKS chunk. */
void cray_writer_fact(struct cray_writer *w, uint16_t key, const void *bytes, size_t size);
void cray_writer_module(struct cray_writer *w, const void *module_and_path, size_t size);
void cray_writer_thread(struct cray_writer *w, const struct cray_thread *thread, const char *name);
/* @frames: code addresses (u64), innermost first; @size bytes. */
void cray_writer_stack(struct cray_writer *w, uint64_t number, const void *frames, size_t size);

/* Write the queued entries; blocks do it before they are written. */
bool cray_writer_flush(struct cray_writer *w);

/* Write the block in @m.  False: it is counted as lost. */
bool cray_writer_block(struct cray_writer *w, const struct cray_maker *m);

/* Copy a chunk of another container in its stored form.  @head: of a block. */
bool cray_writer_copy(struct cray_writer *w, const struct cray_chunk *chunk,
		      const struct cray_block *head, const void *stored);

/* Count lost accesses that no block counts.  @thread ~0: unknown; @count 0: unknown number. */
void cray_writer_lost(struct cray_writer *w, uint32_t thread, uint32_t cause, uint64_t count);
bool cray_writer_lost_unknown(const struct cray_writer *w);

/* Why a block cannot be written: CRAY_GAP_CAP or CRAY_GAP_DISK; 0: it can. */
uint32_t cray_writer_refuses(const struct cray_writer *w);

/* Write the queued entries, losses, index, end and foot: the file is complete. */
bool cray_writer_tail(struct cray_writer *w);

#endif
