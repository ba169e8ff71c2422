/* SPDX-License-Identifier: MIT */
/*
 * mix_count.h - what mix.c counts about itself.
 *
 * These functions are not compiled for memory tracing: their accesses are in no trace.
 */
#ifndef TESTS_TRUTH_MIX_COUNT_H
#define TESTS_TRUTH_MIX_COUNT_H

#include <stdint.h>

/*
 * A slice, from its resume to its await: mix_slice_prepare() before the resume, mix_slice_begin()
 * after it, mix_slice_end() before the await, mix_slice_leave() after it.  One at a time.
 */
void mix_slice_prepare(const char *kind, int number);
void mix_slice_begin(uint64_t id);
void mix_slice_end(int line); /* line: of the await; 0: the coroutine ends */
void mix_slice_leave(void);

/* In a slice. */
void mix_sleep(uint64_t ns);
void mix_burn(uint64_t ns); /* of processor time */
void mix_count_uses(unsigned long reads, unsigned long writes);
void mix_count_allocation(unsigned long bytes);

/* In a slice or outside of all. */
void mix_save_frames(unsigned steps, unsigned notes);

/* Between slices. */
void mix_count_wake(void);
void mix_bind_thread(void);          /* to the processor of the neighbour */
void mix_neighbour_start(int first); /* first: create it, without work */
void mix_neighbour_stop(int last);

void mix_print_counts(void);

#endif
