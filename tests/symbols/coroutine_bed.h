/* SPDX-License-Identifier: MIT */
/* coroutine_bed.h - coroutines of the test program, to be looked at from the same process. */
#ifndef TESTS_COROUTINE_BED_H
#define TESTS_COROUTINE_BED_H

#ifdef __cplusplus
extern "C" {
#endif

/* Frames of coroutines that have not started. */
void *bed_create_sum(int first, long *result);
void *bed_create_eager(void); /* has run up to its first co_await */

void bed_resume(void *frame);
void bed_destroy(void *frame);

/* Lines of the co_awaits of sum, and of the one of eager. */
extern const unsigned bed_lines[4];

#ifdef __cplusplus
}
#endif

#endif
