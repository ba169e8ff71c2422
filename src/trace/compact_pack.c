/* SPDX-License-Identifier: MIT */
/* compact_pack.c - the block of the events that an encoder has. */
#include "trace/compact_pack.h"

#include <errno.h>

static bool compact_may_be_left_out(unsigned id)
{
	return id == COMPACT_SHAPE || id == COMPACT_THREAD_HIGH || id == COMPACT_MISS ||
	       id == COMPACT_INDEX_LOW || id == COMPACT_INDEX_HIGH ||
	       (id >= COMPACT_DELTA_0 && id <= COMPACT_DELTA_2);
}

int compact_pack_events(struct compact_packer *p, struct compact_encoder *e,
			struct compact_block_head *head)
{
	struct compact_source columns[NR_COMPACT_COLUMNS] = { 0 };
	unsigned id, nr = 0;

	head->items = e->items;
	head->transitions = e->transitions;
	head->others = e->others;
	head->min_ts = e->min_ts;
	head->max_ts = e->max_ts;
	head->kinds = (uint16_t)e->kinds;
	for (id = COMPACT_SHAPE; id < NR_COMPACT_COLUMNS; id++, nr++) {
		columns[nr].id = id;
		columns[nr].may_be_left_out = compact_may_be_left_out(id);
		if (!compact_encoder_column(e, id, &columns[nr].data, &columns[nr].size))
			return -ENOMEM;
	}
	return compact_block_make(p, head, columns, nr);
}
