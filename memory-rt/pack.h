/* SPDX-License-Identifier: MIT */
/*
 * pack.h - from units (wire.h) to the payload of a block (container.h).
 *
 * Plain C without a library behind it: no allocation, no stdio, no locale.  The caller gives the
 * memory (crp_size() bytes of zeros, of which only what is used is touched) and one packer
 * packs one block after the other.  docs/memory-format.md is the coding; src/memory/unpack.c
 * takes it apart again.
 *
 *	crp_begin(p, order, time_ns, weight_256);
 *	while (!crp_full(p) && units are left)
 *		used = crp_units(p, units, nr);
 *	payload = crp_end(p, &head, &size);
 *
 * Units come from memory that a program can write while we look: each is read once.
 *
 * A full block is CRP_RECORDS records, i.e. 16 chunks of accesses.  A consumer does well to let
 * that many gather in a ring before it takes them (a thread that ended, or half a second
 * without, being the exceptions): sites are told once per block.
 */
#ifndef MEMORY_RT_PACK_H
#define MEMORY_RT_PACK_H

#include <stdbool.h>

#include "container.h"
#include "wire.h"

#define CRP_RECORDS 65536u /* a block is full with so many: a range may add a few */

/* A range of more bytes than a record can tell is cut at multiples of this. */
#define CRP_PIECE 64u

struct crp_packer;

/* What a packer finds that belongs beside the blocks. */
struct crp_aside {
	/* CRW_MODULE, CRW_FACT (@w0: its key); @payload is a private copy. */
	void (*found)(void *context, unsigned code, uint64_t w0, const uint8_t *payload,
		      uint32_t size);
	void *context;
};

/* Bytes of memory that a packer wants. */
uint64_t crp_size(void);

/* @memory: crp_size() zeros, aligned to 64.  @aside may be NULL. */
struct crp_packer *crp_init(void *memory, const struct crp_aside *aside);

/* A new block, of one thread, whose stamps are these. */
void crp_begin(struct crp_packer *p, uint64_t order, uint64_t time_ns, uint32_t weight_256);

/* Order and time from here on: what the head of a chunk says. */
void crp_stamp(struct crp_packer *p, uint64_t order, uint64_t time_ns);

/* Accesses missing here; @cause is CRAY_GAP_*. */
void crp_gap(struct crp_packer *p, uint32_t cause, uint64_t count);

/*
 * Pack up to @nr units; how many were used up.  Fewer than @nr when the block is full, or
 * when only the start of a record is there (the rest of a run that ends its chunk: 0 then
 * means that the rest is no use, see crp_broken()).  A change of weight ends a block, too.
 */
uint32_t crp_units(struct crp_packer *p, const struct crw_unit *units, uint32_t nr);

/* True when nothing more goes into this block. */
bool crp_full(const struct crp_packer *p);

/* Nothing in it yet: no block needs to be written. */
bool crp_empty(const struct crp_packer *p);

/* Units that made no sense, since crp_init(). */
uint64_t crp_broken(const struct crp_packer *p);

/* The weight that the units after a full block have. */
uint32_t crp_weight(const struct crp_packer *p);

/*
 * The payload, valid until the next crp_begin(), with head->nr_*, order_*, time_*, lost,
 * left_out and weight filled in; thread and thread_seq are the caller's.
 */
const uint8_t *crp_end(struct crp_packer *p, struct cray_block *head, uint32_t *size);

#endif
