/* SPDX-License-Identifier: MIT */
/*
 * cfile.h - write a container: chunks, blocks from packers, index and end.
 *
 * Memory is flat: an index chunk is written after every so many blocks.  After the first
 * failure to write nothing more goes to the file (it stays readable up to there), what comes
 * is only counted, and the error keeps its words.
 */
#ifndef MEMORY_CFILE_H
#define MEMORY_CFILE_H

#include "base/err.h"
#include "memory/facts.h"
#include "memory/press.h"
#include "pack.h"

#define CFILE_INDEX 1024 /* blocks per index chunk */
#define CFILE_JOBS  4    /* blocks under way, if somebody else compresses them */

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
	uint64_t offset;   /* where the next chunk goes */
	uint64_t max_size; /* 0: none; no block is begun beyond it */
	uint32_t number;
	int level;       /* of zstd; 0: codec none */
	bool failed;     /* err tells */
	bool taken_back; /* and the file ends behind a whole chunk */
	bool capped;     /* max_size was reached */
	struct err err;
	struct cray_crc crc;
	struct ZSTD_CCtx_s *zstd;
	struct press *press; /* who compresses; NULL: we */
	struct cfile_job jobs[CFILE_JOBS];
	unsigned first_job, nr_jobs; /* under way, oldest first */
	uint8_t *stored;             /* of other chunks */
	size_t stored_room;
	struct cray_entry index[CFILE_INDEX];
	size_t nr_index;
	uint64_t last_index; /* offset of the newest index chunk */
	struct cray_end end;
	uint64_t lost[MEM_CAUSES]; /* accesses that did not get into the file, by cause */
	bool lost_unknown;
};

struct cfile_config {
	int level;
	uint64_t flags; /* of cray_file */
	uint64_t start_ns, start_wall_ns;
	uint64_t max_size;
	struct press *press; /* of the caller, who keeps it until the file is closed; may be NULL */
};

/* Takes over @fd, which is empty.  0 or a negative errno. */
int cfile_open(struct cfile *f, int fd, const char *path, const struct cfile_config *config,
	       struct err *err);

/* A chunk of facts.  The bytes are compressed if that helps. */
void cfile_chunk(struct cfile *f, uint16_t type, const void *data, size_t size);

/* The packer's block, which ends here; the caller begins the next.  An empty one is nothing. */
void cfile_block(struct cfile *f, struct cray_pack *p);

/* All blocks that are under way are in the file now. */
void cfile_settle(struct cfile *f);

/* A chunk of another container, as it is stored there; @head: of a block. */
void cfile_copy(struct cfile *f, const struct cray_chunk *chunk, const struct cray_block *head,
		const void *stored);

/* Facts as chunks: those of the process; a thread. */
void cfile_fact(struct cfile *f, uint16_t key, const void *data, size_t size);
void cfile_facts(struct cfile *f, const struct mem_facts *facts);
void cfile_thread(struct cfile *f, const struct cray_thread *t, const char *name);

/* @count accesses are missing (0: an unknown number); told at the end. */
void cfile_lost(struct cfile *f, uint32_t cause, uint64_t count);

/* Losses, index, end, foot; closes.  @status: of wait(2), -1: not known.  0 or the first error. */
int cfile_close(struct cfile *f, int status, struct err *err);

#endif
