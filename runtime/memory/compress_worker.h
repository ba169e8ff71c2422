/* SPDX-License-Identifier: MIT */
/*
 * compress_worker.h - a thread that compresses blocks while the next ones are packed.
 *
 * One consumer per process uses it.  The thread sleeps when idle.
 */
#ifndef RUNTIME_MEMORY_COMPRESS_WORKER_H
#define RUNTIME_MEMORY_COMPRESS_WORKER_H

#include "block_maker.h"

#define CRT_PRESS_MAX 4u /* blocks in progress */

/*
 * Hand the finished block in @m to the thread; at most CRT_PRESS_MAX that are not compressed.
 * Returns its ticket for crt_press_done().  @start: start the thread if there is none; without a
 * thread, the block is compressed here.
 */
uint32_t crt_press_give(struct cray_maker *m, bool start);

/* True if the block is compressed.  @wait: sleep until it is. */
bool crt_press_done(uint32_t ticket, bool wait);

/* In a child of fork: the thread exists only in the parent. */
void crt_press_forget(void);

/* Start a detached thread, run(@argument), with all signals blocked and a small stack.  False on
 * failure. */
bool crt_start_thread(void *(*run)(void *), void *argument);

#endif
