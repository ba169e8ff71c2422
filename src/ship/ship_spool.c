/* SPDX-License-Identifier: MIT */
/* ship_spool.c - the blocks of a trace that have not arrived. */
#include "ship/ship_spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/item.h"

/* Facts about times are as large as events, and no event needs them. */
#define SHIP_TIMED_FACTS                                                                \
	(1u << TRACE_ITEM_CPU | 1u << TRACE_ITEM_DESCRIPTOR | 1u << TRACE_ITEM_SWITCH | \
	 1u << TRACE_ITEM_FRAME | 1u << TRACE_ITEM_COROUTINE | 1u << TRACE_ITEM_WAITING)

void ship_spool_release(struct ship_spool *s)
{
	free(s->items);
	memset(s, 0, sizeof(*s));
}

static void ship_count_add(struct ship_count *c, const struct ship_item *item)
{
	c->blocks++;
	c->transitions += item->transitions;
	c->others += item->others;
	c->bytes += item->size;
}

static void ship_count_remove(struct ship_count *c, const struct ship_item *item)
{
	c->blocks--;
	c->transitions -= item->transitions;
	c->others -= item->others;
	c->bytes -= item->size;
}

static void ship_spool_compact(struct ship_spool *s)
{
	uint32_t i, nr = 0;

	for (i = s->first; i < s->nr; i++) {
		if (s->items[i].state < SHIP_ARRIVED)
			s->items[nr++] = s->items[i];
	}
	s->nr = nr;
	s->first = s->next = 0;
}

/* Room for one more; items that are done are dropped first. */
static int ship_spool_grow(struct ship_spool *s)
{
	struct ship_item *more;
	uint32_t room;

	if (s->nr < s->room)
		return 0;
	ship_spool_compact(s);
	if (s->nr < s->room / 2)
		return 0;
	room = s->room ? s->room * 2 : 64;
	more = reallocarray(s->items, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->items = more;
	s->room = room;
	return 0;
}

int ship_spool_add(struct ship_spool *s, const struct ship_block *block,
		   const struct ship_damage *gap)
{
	const struct compact_block_head *head = &block->head;
	int rc = ship_spool_grow(s);

	if (rc < 0)
		return rc;
	s->items[s->nr] = (struct ship_item){
		.behind = ship_place_behind(block),
		.offset = block->offset,
		.number = head->number,
		.size = (uint32_t)(sizeof(*head) + head->size),
		.transitions = head->transitions,
		.others = head->others,
		.state = SHIP_WAITING,
		.is_necessary = head->type == COMPACT_FACTS && (head->kinds & ~SHIP_TIMED_FACTS),
		.gap = *gap,
	};
	ship_count_add(&s->spooled, &s->items[s->nr++]);
	s->has_changed = true;
	return 0;
}

struct ship_item *ship_spool_next(struct ship_spool *s)
{
	while (s->next < s->nr && s->items[s->next].state != SHIP_WAITING)
		s->next++;
	return s->next < s->nr ? &s->items[s->next] : NULL;
}

void ship_spool_sent(struct ship_spool *s, struct ship_item *item)
{
	item->state = SHIP_SENT;
	item->is_necessary = true;
	s->nr_sent++;
}

/* The block has arrived without some of its events. */
static void ship_spool_leave_out(struct ship_spool *s, const struct ship_item *item)
{
	s->shipped.transitions -= item->left_out_transitions;
	s->shipped.others -= item->left_out_others;
	s->left_out.blocks += item->left_out_transitions || item->left_out_others;
	s->left_out.transitions += item->left_out_transitions;
	s->left_out.others += item->left_out_others;
}

/* The item has arrived or was given up. */
static void ship_spool_done(struct ship_spool *s, struct ship_item *item,
			    enum ship_item_state state)
{
	ship_count_remove(&s->spooled, item);
	ship_count_add(state == SHIP_ARRIVED ? &s->shipped : &s->given_up, item);
	if (state == SHIP_ARRIVED)
		ship_spool_leave_out(s, item);
	s->given_up.blocks += item->gap.blocks;
	s->given_up.transitions += item->gap.transitions;
	s->given_up.others += item->gap.others;
	s->nr_sent -= item->state == SHIP_SENT;
	item->state = (uint8_t)state;
	s->has_changed = true;
	if (item->behind.offset > s->place.offset)
		s->place = item->behind;
	while (s->first < s->nr && s->items[s->first].state >= SHIP_ARRIVED)
		s->first++;
	if (s->next < s->first)
		s->next = s->first;
}

void ship_spool_arrived(struct ship_spool *s, uint64_t number)
{
	uint32_t i;

	/* Those that were sent are among the first. */
	for (i = s->first; i < s->nr; i++) {
		if (s->items[i].number != number)
			continue;
		if (s->items[i].state == SHIP_SENT || s->items[i].state == SHIP_WAITING)
			ship_spool_done(s, &s->items[i], SHIP_ARRIVED);
		return;
	}
}

void ship_spool_resend(struct ship_spool *s)
{
	uint32_t i;

	for (i = s->first; i < s->nr && s->nr_sent; i++) {
		if (s->items[i].state != SHIP_SENT)
			continue;
		s->items[i].state = SHIP_WAITING;
		s->nr_sent--;
	}
	s->next = s->first;
}

void ship_spool_give_up(struct ship_spool *s, struct ship_item *item)
{
	ship_spool_done(s, item, SHIP_GIVEN_UP);
}

static void ship_spool_free(const struct ship_spool *s, uint64_t from, uint64_t to)
{
	if (s->freed && to > from)
		s->freed(s->freed_ctx, from, to);
}

void ship_spool_bound(struct ship_spool *s, uint64_t size)
{
	uint64_t from = 0, to = 0; /* given up, and not freed yet */
	uint32_t i;

	for (i = s->next; i < s->nr; i++) {
		struct ship_item *item = &s->items[i];

		if (s->spooled.bytes <= size && s->spooled.blocks <= SHIP_SPOOL_BLOCKS)
			break;
		if (item->state != SHIP_WAITING || item->is_necessary)
			continue;
		if (item->offset != to) {
			ship_spool_free(s, from, to);
			from = item->offset;
		}
		to = item->offset + item->size;
		ship_spool_done(s, item, SHIP_GIVEN_UP);
	}
	ship_spool_free(s, from, to);
}

const struct ship_item *ship_spool_oldest(const struct ship_spool *s)
{
	return s->first < s->nr ? &s->items[s->first] : NULL;
}
