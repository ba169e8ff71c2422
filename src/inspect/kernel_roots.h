/* SPDX-License-Identifier: MIT */
/*
 * kernel_roots.h - words of a program that the kernel keeps: the value of a timer, the count of an
 * eventfd; and bytes on their way through pipes and signals, which cannot be read.
 */
#ifndef INSPECT_KERNEL_ROOTS_H
#define INSPECT_KERNEL_ROOTS_H

#include <stddef.h>
#include <stdint.h>

#include "process/descriptors.h"

#define KERNEL_ROOTS_MAX 4096

struct kernel_roots {
	uint64_t words[KERNEL_ROOTS_MAX];
	size_t nr;
};

void kernel_roots_read(struct kernel_roots *roots, const struct descriptors *process);

/* Why pointers may be in the kernel, and cannot be seen.  NULL: no reason. */
const char *kernel_roots_doubt(const struct descriptors *process);

#endif
