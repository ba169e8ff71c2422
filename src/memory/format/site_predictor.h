/* SPDX-License-Identifier: MIT */
/*
 * site_predictor.h - sites for accesses without a code address.
 *
 * A raw trace has no code addresses.  But a loop over two arrays alternates between two sequences
 * of addresses, and each is easy to predict once they are separated.  So accesses of one tag and
 * size are distributed over a few sites, each of which follows one sequence (a walk).  A wrong
 * guess only costs bytes.
 */
#ifndef MEMORY_FORMAT_SITE_PREDICTOR_H
#define MEMORY_FORMAT_SITE_PREDICTOR_H

#include "pack.h"

#define GUESS_WALKS  12 /* walks per tag and size */
#define GUESS_GROUPS 64 /* combinations of tag and size; further ones use one site each */

struct guess_group {
	uint32_t how;
	uint32_t nr, oldest;
	struct cray_pack_site *walks[GUESS_WALKS];
};

struct guess {
	struct guess_group groups[GUESS_GROUPS];
};

/* Call at the start of each block of the packer. */
void guess_begin(struct guess *g);

/* Add an access without a code address; there must be room. */
void guess_access(struct guess *g, struct cray_pack *p, uint64_t address, uint32_t how);

#endif
