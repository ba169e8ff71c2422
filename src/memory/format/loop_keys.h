/* SPDX-License-Identifier: MIT */
/* loop_keys.h - the keys of accesses that a loop repeats, by the vector unit of the host. */
#ifndef MEMORY_FORMAT_LOOP_KEYS_H
#define MEMORY_FORMAT_LOOP_KEYS_H

#include "memory/format/mem_record.h"

#define LOOP_SITES_MAX 16u

/* Sites that access memory in turn; each continues with its stride. */
struct loop_sites {
	uint32_t nr;
	uint32_t shift; /* log2 of the line size, at least 5 */
	uint64_t last[LOOP_SITES_MAX], stride[LOOP_SITES_MAX];
	uint64_t key[LOOP_SITES_MAX];  /* MEM_KEY_OF(0), and MEM_KEY_WRITE if it writes */
	uint64_t more[LOOP_SITES_MAX]; /* its size - 1 */
};

/*
 * Store the keys of the next @nr accesses; of them, those before the first that is not of one line
 * are valid.  Returns how many.
 */
uint32_t loop_keys(const struct loop_sites *s, uint32_t nr, uint64_t *key);

/* The same without vectors. */
uint32_t loop_keys_plain(const struct loop_sites *s, uint32_t nr, uint64_t *key);

#endif
