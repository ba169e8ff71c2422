/* SPDX-License-Identifier: MIT */
/* described_text.h - say which locks, channels and timers a group waits for. */
#ifndef INSPECT_DESCRIBED_TEXT_H
#define INSPECT_DESCRIBED_TEXT_H

#include "base/printer.h"
#include "inspect/inspection.h"

/* "waits_for" of a group of C++ coroutines.  False: nothing is known, and nothing was printed. */
bool print_described_wait(struct inspection *in, struct printer *p, const struct inspect_group *g);

/* "objects": the locks and channels of a group, with waiters and holder. */
void print_described_objects(struct inspection *in, struct printer *p,
			     const struct inspect_group *g);

/* "user (0x5581a0)": the function of the frame or task at @addr, the thread, or the address. */
void print_coroutine(struct inspection *in, struct printer *p, uint64_t addr);

/* The function of the frame or task at @addr; NULL: not one. */
const char *coroutine_function(struct inspection *in, uint64_t addr);

#endif
