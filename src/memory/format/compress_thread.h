/* SPDX-License-Identifier: MIT */
/*
 * compress_thread.h - a thread that compresses blocks while the next ones are packed.
 *
 * The thread only compresses; the caller decides what to do with the results and in which order.
 * A job belongs to the worker from press_give() to press_wait().
 */
#ifndef MEMORY_FORMAT_COMPRESS_THREAD_H
#define MEMORY_FORMAT_COMPRESS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ZSTD_CCtx_s;

struct press_job {
	const uint8_t *plain;
	size_t size;
	uint8_t *stored; /* room for ZSTD_compressBound(size) */
	size_t room;
	int level;
	size_t stored_size; /* 0: compression does not make it smaller */
	/* used by the worker */
	struct press_job *next;
	bool done;
};

struct press;

/* NULL: no thread could be started; compress synchronously. */
struct press *press_new(void);

/* Jobs are processed in the order given. */
void press_give(struct press *p, struct press_job *job);
void press_wait(struct press *p, const struct press_job *job);

/* Accepts NULL.  The caller must have waited for all jobs. */
void press_free(struct press *p);

/* Compress a job synchronously. */
void press_job_do(struct press_job *job, struct ZSTD_CCtx_s *zstd);

#endif
