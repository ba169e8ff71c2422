/* SPDX-License-Identifier: MIT */
/*
 * press.h - a thread that compresses blocks while the next ones are packed.
 *
 * It is given bytes and gives bytes back; what becomes of them, and in which order, is its
 * owner's affair.  A job is the worker's from press_give() to press_wait().
 */
#ifndef MEMORY_PRESS_H
#define MEMORY_PRESS_H

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
	size_t stored_size; /* 0: it does not get smaller */
	/* the worker's */
	struct press_job *next;
	bool done;
};

struct press;

/* NULL: there is no thread to be had, do it yourself. */
struct press *press_new(void);

/* Jobs are done in the order given. */
void press_give(struct press *p, struct press_job *job);
void press_wait(struct press *p, const struct press_job *job);

/* Accepts NULL.  All jobs have been waited for. */
void press_free(struct press *p);

/* The same here and now. */
void press_job_do(struct press_job *job, struct ZSTD_CCtx_s *zstd);

#endif
