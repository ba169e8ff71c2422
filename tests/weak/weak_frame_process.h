/* SPDX-License-Identifier: MIT */
/*
 * weak_frame_process.h - generated code as a process: its variables, its pages and the segments of
 * System V are memory of the search.
 */
#ifndef WEAK_FRAME_PROCESS_H
#define WEAK_FRAME_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_SEGMENTS 3u
#define PROCESS_PID      4711

/* @threads: bits of those that are threads of the process. */
struct process_shape {
	unsigned threads;
	bool lacks_membarrier;
	unsigned refused; /* shmat(2) fails for this segment and later ones; 0: none */
	size_t sizes[PROCESS_SEGMENTS]; /* of segments that a collector may create; 0: none */
};

/* A process that has not saved a frame yet. */
void process_make(const struct process_shape *shape);

/* In set_up(): thread @thread has saved a frame of @value, as its first one or another. */
void process_saved(unsigned thread, uint32_t value);

/* In set_up(): thread @thread, which has no record yet, is inside save(), without and with a
 * ticket.
 */
void process_entered(unsigned thread);
void process_stuck(unsigned thread);

/* In set_up(): the process is a forked child, and its threads are those that run from now on. */
void process_fork(void);

/* The calling thread saves a frame of @value and its complement, if a collector is attached. */
void process_save(uint32_t value);

/* The calling thread, inside save(), saves its frame. */
void process_finish(uint32_t value);

/* The calling thread attaches, and saves nothing: the begin of an interval. */
void process_prepare(void);

/* The calling thread ends: after its last frame; inside save(), with a ticket, by pthread_exit() in
 * a handler that interrupted it. */
void process_thread_end(void);
void process_thread_end_inside(void);

/* The process unloads the library with this code. */
void process_unload(void);

int32_t *process_handle(void);
void *process_stat(void);

/* shmget(2) by a collector: the id, or 0.  The memory is that of both processes. */
int process_segment_make(unsigned nr, size_t size);
void *process_segment_map(unsigned nr);
void process_segment_remove(int id);

#endif
