/* SPDX-License-Identifier: MIT */
/*
 * container_writer.h - write a container: chunks, blocks from packers, index and end.
 *
 * Memory use is constant: an index chunk is written after every CFILE_INDEX blocks.  After the
 * first write error nothing more is written (the file stays readable up to there), further
 * records are only counted as lost, and the first error is kept.
 */
#ifndef MEMORY_FORMAT_CONTAINER_WRITER_H
#define MEMORY_FORMAT_CONTAINER_WRITER_H

#include "base/err.h"
#include "memory/format/mem_facts.h"
#include "memory/format/compress_thread.h"
#include "pack.h"

#define CFILE_INDEX 1024 /* blocks per index chunk */
#define CFILE_JOBS  4    /* blocks in progress when a press thread compresses them */

/* A block between the packer and the file. */
struct cfile_job {
	struct press_job press;
	struct cray_block head;
	uint8_t *plain, *stored;
};

struct ZSTD_CCtx_s;

struct cfile {
	int fd;
	char *path;
	uint64_t offset;   /* offset of the next chunk */
	uint64_t max_size; /* 0: no limit; no block starts beyond it */
	uint32_t number;
	int level;       /* zstd level; 0: no compression */
	bool failed;     /* a write failed, see `err` */
	bool taken_back; /* after the failure: the file ends after a whole chunk */
	bool capped;     /* max_size was reached */
	struct err err;
	struct cray_crc crc;
	struct ZSTD_CCtx_s *zstd;
	struct press *press; /* compresses blocks; NULL: compressed synchronously */
	struct cfile_job jobs[CFILE_JOBS];
	unsigned first_job, nr_jobs; /* in progress, oldest first */
	uint8_t *stored;             /* buffer for other chunks */
	size_t stored_room;
	struct cray_entry index[CFILE_INDEX];
	size_t nr_index;
	uint64_t last_index; /* offset of the newest index chunk */
	struct cray_end end;
	uint64_t lost[MEM_CAUSES]; /* accesses not in the file, by cause */
	bool lost_unknown;
};

struct cfile_config {
	int level;
	uint64_t flags; /* cray_file.flags */
	uint64_t start_ns, start_wall_ns;
	uint64_t max_size;
	struct press *press; /* owned by the caller, must outlive the file; may be NULL */
};

/* Takes ownership of @fd, an empty file.  0 or a negative errno. */
int cfile_open(struct cfile *f, int fd, const char *path, const struct cfile_config *config,
	       struct err *err);

/* Write a chunk of facts, compressed if that makes it smaller. */
void cfile_chunk(struct cfile *f, uint16_t type, const void *data, size_t size);

/* Finish and write the packer's block; the caller begins the next.  An empty block is ignored. */
void cfile_block(struct cfile *f, struct cray_pack *p);

/* Write all blocks that are in progress. */
void cfile_settle(struct cfile *f);

/* Copy a chunk of another container in its stored form.  @head: of a block. */
void cfile_copy(struct cfile *f, const struct cray_chunk *chunk, const struct cray_block *head,
		const void *stored);

/* Write facts of the process, or a thread, as chunks. */
void cfile_fact(struct cfile *f, uint16_t key, const void *data, size_t size);
void cfile_facts(struct cfile *f, const struct mem_facts *facts);
void cfile_thread(struct cfile *f, const struct cray_thread *t, const char *name);

/* Count @count lost accesses (0: unknown number); written at the end. */
void cfile_lost(struct cfile *f, uint32_t cause, uint64_t count);

/*
 * Write losses, index, end and foot, and close.  @status: from wait(2), -1: unknown.  Returns 0
 * or the first error.
 */
int cfile_close(struct cfile *f, int status, struct err *err);

#endif
