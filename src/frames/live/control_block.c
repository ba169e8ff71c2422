/* SPDX-License-Identifier: MIT */
/* control_block.c - read and write the control block. */
#include "frames/live/control_block.h"

#include <string.h>

#include "frames/spec/frames_abi.h"

/* Tickets that a thread takes at once: few enough to waste no room, many enough to be rare. */
#define BLOCK_TICKETS 64

#define LOAD(field)   __atomic_load_n(&(field), __ATOMIC_RELAXED)

static struct ppt_control *seed_view(const struct frames_control *c)
{
	return c->block;
}

static struct ppt_old_control *old_view(const struct frames_control *c)
{
	return c->block;
}

bool control_has_blocks(const struct desc *d, unsigned stamp_kind)
{
	return d->stamps && d->multithread && stamp_kind;
}

size_t control_size(const struct desc *d, unsigned stamp_kind)
{
	if (control_has_blocks(d, stamp_kind))
		return PPT_CONTROL_SIZE_COUNTS;
	/*
	 * Other implementations use the attr size of their kernel headers: three of up to 136
	 * bytes.
	 */
	return d->extended ? PPT_CONTROL_SIZE : 80 + 3 * 136;
}

/*
 * Counter @i in the existing ppt tool's order.  The offsets of entries after the first depend on
 * the program's kernel headers.  Extended programs read entries with attrs of 112 bytes.  For
 * other programs the size in today's headers is the best guess.
 */
static uint8_t *old_counter(const struct frames_control *c, unsigned i)
{
	size_t entry = c->extended ? sizeof(struct ppt_old_counter)
				   : 8 + sizeof(struct perf_event_attr);

	return (uint8_t *)c->block + offsetof(struct ppt_old_control, counterdata) + i * entry;
}

static void fill_counters(struct frames_control *c, const struct counters *counters)
{
	unsigned i;

	if (c->old_order) {
		for (i = 0; i < counters->nr; i++) {
			memcpy(old_counter(c, i), &i, sizeof(i));
			memcpy(old_counter(c, i) + 8, &counters->attrs[i], PPT_ATTR_SIZE);
		}
		old_view(c)->nr_perf_ctrs = counters->nr;
		return;
	}
	for (i = 0; i < counters->nr; i++)
		memcpy(seed_view(c)->counterdata[i], &counters->attrs[i], PPT_ATTR_SIZE);
	seed_view(c)->nr_perf_ctrs = counters->nr;
}

_Static_assert(sizeof(struct perf_event_attr) >= PPT_ATTR_SIZE, "older kernel headers");

void control_fill(struct frames_control *c, void *block, const struct desc *d,
		  const struct counters *counters, int data_id, unsigned stamp_kind)
{
	struct ppt_control *seed = block;

	c->block = block;
	c->old_order = d->dialect == DESC_PPT;
	c->extended = d->extended;
	seed->control_blk_sz = c->extended ? PPT_CONTROL_SIZE
			       : c->old_order
				       ? 56 + counters->nr * (8 + sizeof(struct perf_event_attr))
				       : PPT_CONTROL_SIZE_SEED;
	seed->data_block_hmem = (uint64_t)data_id;
	fill_counters(c, counters);
	if (!c->extended)
		return;
	seed->magic = PPT_EXT_MAGIC;
	seed->ext_version = PPT_EXT_VERSION;
	seed->next_ticket = 1;
	seed->stamp_kind = d->stamps ? stamp_kind : PPT_STAMP_NONE;
	if (control_has_blocks(d, stamp_kind)) {
		seed->control_blk_sz = PPT_CONTROL_SIZE_COUNTS;
		seed->block_size = BLOCK_TICKETS;
	}
}

uint64_t control_flags(const struct frames_control *c)
{
	/* (ppt-C) pairs with the release in publish(), the last store of the client's attach. */
	if (c->old_order)
		return __atomic_load_n(&old_view(c)->client_flags, __ATOMIC_ACQUIRE);
	/* (ppt-C) pairs with the release in publish(). */
	return __atomic_load_n(&seed_view(c)->client_flags, __ATOMIC_ACQUIRE);
}

/*
 * The flag is cleared when the program detaches or exits.  Tickets remain: a program that took
 * one was attached, and its frames are in the ring.
 */
static bool was_ever_attached(const struct frames_control *c)
{
	/* (ppt-C) pairs with ticket_take() and block_take(); of one thread, with publish(). */
	return (control_flags(c) & PPT_CLIENT_FLAG_ATTACHED) ||
	       __atomic_load_n(&seed_view(c)->next_ticket, __ATOMIC_ACQUIRE) > 1;
}

bool control_attached(const struct frames_control *c, struct control_answer *answer)
{
	const struct ppt_control *seed = seed_view(c);

	if (c->extended && !was_ever_attached(c))
		return false;
	memset(answer, 0, sizeof(*answer));
	answer->data_block_sz = LOAD(seed->data_block_sz);
	answer->data_block = LOAD(seed->data_block);
	if (!answer->data_block || !answer->data_block_sz)
		return false;
	if (c->extended) {
		answer->data_offset = LOAD(seed->data_offset);
		answer->stride = LOAD(seed->stride);
		answer->client_pid = LOAD(seed->client_pid);
		/* Code of earlier generators may show a ticket before the rest of the answer. */
		return answer->stride != 0;
	}
	return true;
}

unsigned control_unmeasured(const struct frames_control *c, const struct counters *counters,
			    bool adopted)
{
	const uint32_t *nr = c->old_order ? &old_view(c)->nr_perf_ctrs
					  : &seed_view(c)->nr_perf_ctrs;
	unsigned i, mask = 0, opened = LOAD(*nr);

	if (c->extended) {
		uint64_t flags = control_flags(c);

		/*
		 * No thread has opened any counter; code of an earlier generator saves zeros
		 * then.
		 */
		if ((flags & PPT_CLIENT_FLAG_COUNTERS_FAILED) &&
		    !(flags & PPT_CLIENT_FLAG_COUNTERS_SETUP))
			opened = 0;
	}
	for (i = 0; i < counters->nr; i++) {
		const uint8_t *attr = c->old_order ? old_counter(c, i) + 8
						   : seed_view(c)->counterdata[i];

		/* A program of another implementation stores 0 if it cannot open them. */
		if (i >= opened ||
		    (adopted && memcmp(attr, &counters->attrs[i], PPT_ATTR_SIZE) != 0))
			mask |= 1u << i;
	}
	return mask;
}

uint64_t control_next_ticket(const struct frames_control *c)
{
	return LOAD(seed_view(c)->next_ticket);
}

uint64_t control_dropped(const struct frames_control *c)
{
	return LOAD(seed_view(c)->dropped);
}

bool control_counts(const struct frames_control *c)
{
	return LOAD(seed_view(c)->counts_used) != 0;
}

uint64_t control_saved(const struct frames_control *c)
{
	const struct ppt_count *counts = (const void *)((const char *)c->block + PPT_CONTROL_SIZE);
	uint64_t saved = 0;
	unsigned i;

	for (i = 0; i < PPT_COUNTS; i++)
		saved += LOAD(counts[i].saved);
	return saved;
}

uint32_t control_threads(const struct frames_control *c)
{
	return LOAD(seed_view(c)->threads);
}

int control_counter_error(const struct frames_control *c, unsigned *which)
{
	*which = LOAD(seed_view(c)->counter_slot);
	return LOAD(seed_view(c)->counter_error);
}

void control_calibration(const struct frames_control *c, uint64_t *ticks, uint64_t *ns)
{
	*ticks = LOAD(seed_view(c)->calib_ticks);
	*ns = LOAD(seed_view(c)->calib_ns);
}

void control_set_data(struct frames_control *c, int id)
{
	/* (ppt-C) pairs with the acquire in find_slots(): the segment exists before its id. */
	__atomic_store_n(&seed_view(c)->data_block_hmem, (uint64_t)id, __ATOMIC_RELEASE);
}

int control_wanted_data(const struct frames_control *c)
{
	/* (ppt-C) pairs with the release in resize(): the client's error is stored before. */
	return (int)__atomic_load_n(&seed_view(c)->data_block_hmem, __ATOMIC_ACQUIRE);
}

int control_attached_data(const struct frames_control *c)
{
	/* (ppt-C) pairs with the release in publish(), at the end of the attach of a data block. */
	return (int)__atomic_load_n(&seed_view(c)->data_block_hmem_attached, __ATOMIC_ACQUIRE);
}

int control_left_data(const struct frames_control *c)
{
	/* (ppt-C) pairs with the release in ring_unmap(): everything in the old block is written.
	 */
	return (int)__atomic_load_n(&seed_view(c)->data_block_hmem_left, __ATOMIC_ACQUIRE);
}
