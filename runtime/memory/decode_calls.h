/* SPDX-License-Identifier: MIT */
/*
 * decode_calls.h - function entries and exits of one thread, from units of the wire to a packer.
 *
 * Keeps the functions that the thread is in, so that each block can begin with them.
 */
#ifndef RUNTIME_MEMORY_DECODE_CALLS_H
#define RUNTIME_MEMORY_DECODE_CALLS_H

#include "pack.h"
#include "wire.h"

#define CRW_CALLS_KEPT 256u /* innermost functions; a power of two */

struct crw_call {
	uint64_t function, site;
};

/* Initial value: zeros. */
struct crw_calls {
	uint32_t known; /* 1: the stream has entries and exits */
	uint64_t depth; /* functions that the thread is in */
	uint64_t floor; /* of these, the outermost ones, which are not kept */
	struct crw_call call[CRW_CALLS_KEPT];
};

/* Decode a CRW_ENTER or CRW_LEAVE unit.  False: the packer is full. */
bool crw_calls_unit(struct crw_calls *c, struct cray_pack *p, const struct crw_unit *unit);

/* Decode the payload of a CRW_CALLS unit.  False: the packer is full. */
bool crw_calls_whole(struct crw_calls *c, struct cray_pack *p, const uint8_t *bytes, uint32_t size);

/* At the start of a block: repeat the functions that the thread is in, if they are known. */
void crw_calls_repeat(const struct crw_calls *c, struct cray_pack *p);

#endif
