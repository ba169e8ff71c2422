/* SPDX-License-Identifier: MIT */
/* coroutine_table.c - read the state of every coroutine from the region. */
#include "collect/coroutine_table.h"

#include <corotracer/atomic.h>

#include <string.h>

static void copy_state(const struct ctp_life *from, struct life *to)
{
	uint32_t word = ctp_load_relaxed(&from->state);

	to->state = word & 0x7f;
	to->has_resource = word & CTP_REC_HAS_MORE;
	to->unreported = (word >> 16) & CTP_LIFE_UNREPORTED;
	if (to->state == CTP_REC_SUSPEND)
		to->reason = (word >> 8 & 0xff) < CTP_REASONS ? (uint8_t)(word >> 8) : 0;
	else
		to->end_flags = word >> 8 & 0xff;
	to->events = ctp_load_relaxed(&from->events);
	to->dropped = ctp_load_relaxed(&from->dropped);
	to->last_ticks = ctp_load_relaxed(&from->last_ticks);
	to->addr = ctp_load_relaxed(&from->addr);
	to->resource = ctp_load_relaxed(&from->resource);
	to->site = ctp_load_relaxed(&from->site);
}

static void copy_birth(const struct ctp_life *from, struct life *to)
{
	uint32_t size = ctp_load_relaxed(&from->name_size), i;

	to->birth_ticks = ctp_load_relaxed(&from->birth_ticks);
	to->birth_site = ctp_load_relaxed(&from->birth_site);
	to->parent = ctp_load_relaxed(&from->parent);
	to->pid = ctp_load_relaxed(&from->pid);
	to->ticks_kind = ctp_load_relaxed(&from->ticks);
	to->name_cut = size > CTP_LIFE_NAME_SIZE;
	for (i = 0; i < size && i < CTP_LIFE_NAME_SIZE; i++)
		to->name[i] = (char)ctp_load_relaxed(&from->name[i]);
}

bool life_read(const struct lanes *l, uint32_t number, struct life *out)
{
	const struct ctp_life *life = lanes_life(l, number);
	/* (ctp-M) pairs with the release store in ctp_life_begin(). */
	uint64_t id = ctp_load_acquire(&life->id);

	if (!id)
		return false;
	memset(out, 0, sizeof(*out));
	out->number = number;
	out->id = id;
	copy_state(life, out);
	copy_birth(life, out);
	out->pid = pid_alias_outer(l->pids, out->pid);
	/* (ctp-M) pairs with the store-store fence in ctp_life_begin(). */
	ctp_fence_load_load();
	return ctp_load_relaxed(&life->id) == id && out->state && out->state < CTP_REC_KINDS;
}

void lives_each(const struct lanes *l, uint32_t pid, life_visitor *visit, void *ctx)
{
	uint32_t used = l->ext ? lanes_used(&l->lives) : 0, i;
	struct life life;

	for (i = 0; i < used; i++) {
		if (life_read(l, i, &life) && (!pid || life.pid == pid))
			visit(ctx, &life);
	}
}

void life_free(struct lanes *l, uint32_t number)
{
	struct ctp_life *life = lanes_life(l, number);

	ctp_store_relaxed(&life->id, UINT64_C(0));
	ctp_store_relaxed(&life->state, 0u);
	ctp_pool_give(&l->lives, number);
}
