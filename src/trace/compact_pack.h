/* SPDX-License-Identifier: MIT */
/* compact_pack.h - the block of the events that an encoder has. */
#ifndef TRACE_COMPACT_PACK_H
#define TRACE_COMPACT_PACK_H

#include "trace/compact_block.h"
#include "trace/compact_encode.h"

/*
 * Makes a block in p->out.  The caller sets type, number and counts before it in @head; the rest
 * is of the events.  0, -ENOMEM or -E2BIG.
 */
int compact_pack_events(struct compact_packer *p, struct compact_encoder *e,
			struct compact_block_head *head);

#endif
