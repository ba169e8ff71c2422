/* SPDX-License-Identifier: MIT */
/*
 * guess.h - sites for accesses whose code address nobody knows.
 *
 * A raw trace does not tell who accesses.  Yet a loop over two arrays alternates between
 * two walks, and each of them is easily foretold if they are told apart.  So accesses of one
 * tag and size are spread over a few sites, each following one walk.  What is guessed
 * wrongly costs bytes, nothing else.
 */
#ifndef MEMORY_GUESS_H
#define MEMORY_GUESS_H

#include "pack.h"

#define GUESS_WALKS  12 /* told apart, of one tag and size */
#define GUESS_GROUPS 64 /* tags and sizes; others share */

struct guess_group {
	uint32_t how;
	uint32_t nr, oldest;
	struct cray_pack_site *walks[GUESS_WALKS];
};

struct guess {
	struct guess_group groups[GUESS_GROUPS];
};

/* With each new block of the packer. */
void guess_begin(struct guess *g);

/* An access without a code address; there must be room. */
void guess_access(struct guess *g, struct cray_pack *p, uint64_t address, uint32_t how);

#endif
