/* SPDX-License-Identifier: MIT */
/* value_flow.c - the blocks of a function, and the states in which they begin. */
#include "memory/types/value_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/types/flow_state.h"

#define FLOW_BLOCKS_MAX  20000u
#define FLOW_VISITS_MAX  64u
#define FLOW_COVERED_MAX (1u << 22)

struct flow_block {
	uint32_t first, end; /* steps */
	uint32_t covered, nr_covered;
	uint32_t visits;
	bool is_dirty;
	bool is_case;             /* no known jump reaches it: a case of a switch */
	struct flow_state *state; /* at its start; NULL: not reached */
};

struct value_flow {
	const struct flow_input *in;
	struct flow_block *blocks;
	uint32_t nr;
	uint32_t *covered;              /* ranges that contain the start of a block */
	uint32_t nr_dirty, first_dirty; /* no dirty block is before first_dirty */
	bool no_memory, endless;
	struct flow_state *jumps; /* what all jumps to unknown targets agree on; NULL: none */
	bool jumps_changed;
};

/* ---- blocks ---------------------------------------------------------------- */

/* The first step at @addr; the number of steps if there is none. */
static size_t flow_step_at(const struct code_steps *s, uint64_t addr)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->list[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->nr && s->list[low].addr == addr ? low : s->nr;
}

static bool flow_ends_block(const struct code_step *s)
{
	return s->kind == STEP_JUMP || s->kind == STEP_BRANCH || s->kind == STEP_END;
}

static int flow_make_blocks(struct value_flow *f)
{
	const struct code_steps *s = f->in->steps;
	uint8_t *leader = calloc(s->nr + 1, 1);
	uint32_t nr = 0;
	size_t i;

	if (!leader)
		return -ENOMEM;
	leader[0] = 1;
	for (i = 0; i < s->nr; i++) {
		if (!flow_ends_block(&s->list[i]))
			continue;
		leader[i + 1] = 1;
		if (s->list[i].target)
			leader[flow_step_at(s, s->list[i].target)] = 1;
	}
	for (i = 0; i < s->nr; i++) {
		if (i && s->list[i].addr != s->list[i - 1].addr &&
		    s->list[i].addr != s->list[i - 1].next)
			leader[i] = 1; /* another part of the function */
		nr += leader[i];
	}
	f->blocks = nr <= FLOW_BLOCKS_MAX ? calloc(nr + 1, sizeof(*f->blocks)) : NULL;
	for (i = 0; f->blocks && i < s->nr; i++) {
		if (leader[i]) {
			f->blocks[f->nr].first = (uint32_t)i;
			f->blocks[f->nr++].end = (uint32_t)s->nr;
			if (f->nr > 1)
				f->blocks[f->nr - 2].end = (uint32_t)i;
		}
	}
	free(leader);
	return f->blocks ? 0 : nr <= FLOW_BLOCKS_MAX ? -ENOMEM : -E2BIG;
}

static uint64_t flow_start(const struct value_flow *f, uint32_t block)
{
	return f->in->steps->list[f->blocks[block].first].addr;
}

/* The first block that starts at @addr or later. */
static uint32_t flow_block_from(const struct value_flow *f, uint64_t addr)
{
	uint32_t low = 0, high = f->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (flow_start(f, middle) < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* For each block, the ranges in registers that contain its start. */
static int flow_cover(struct value_flow *f)
{
	const struct variable_ranges *r = f->in->ranges;
	uint64_t total = 0;
	uint32_t b;
	size_t i;

	for (i = 0; i < r->nr_registers; i++) {
		for (b = flow_block_from(f, r->list[i].start);
		     b < f->nr && flow_start(f, b) < r->list[i].end; b++, total++)
			f->blocks[b].nr_covered++;
	}
	if (total > FLOW_COVERED_MAX)
		return -E2BIG;
	f->covered = calloc(total + 1, sizeof(*f->covered));
	if (!f->covered)
		return -ENOMEM;
	for (b = 1; b < f->nr; b++)
		f->blocks[b].covered = f->blocks[b - 1].covered + f->blocks[b - 1].nr_covered;
	for (b = 0; b < f->nr; b++)
		f->blocks[b].nr_covered = 0;
	for (i = 0; i < r->nr_registers; i++) {
		for (b = flow_block_from(f, r->list[i].start);
		     b < f->nr && flow_start(f, b) < r->list[i].end; b++)
			f->covered[f->blocks[b].covered + f->blocks[b].nr_covered++] = (uint32_t)i;
	}
	return 0;
}

/* ---- states ---------------------------------------------------------------- */

static void flow_make_dirty(struct value_flow *f, uint32_t block)
{
	f->nr_dirty += !f->blocks[block].is_dirty;
	f->blocks[block].is_dirty = true;
	if (block < f->first_dirty)
		f->first_dirty = block;
}

/* The state @from reaches block @to. */
static void flow_reach(struct value_flow *f, uint32_t to, const struct flow_state *from)
{
	struct flow_block *b = &f->blocks[to];

	if (!b->state) {
		b->state = malloc(sizeof(*b->state));
		if (!b->state) {
			f->no_memory = true;
			return;
		}
		*b->state = *from;
		flow_make_dirty(f, to);
	} else if (flow_state_meet(b->state, from)) {
		flow_make_dirty(f, to);
	}
}

static void flow_reach_addr(struct value_flow *f, uint64_t addr, const struct flow_state *from)
{
	uint32_t to = flow_block_from(f, addr);

	if (to < f->nr && flow_start(f, to) == addr)
		flow_reach(f, to, from);
}

/* The variables that are in registers from @from on, up to @to. */
static size_t flow_seed(const struct value_flow *f, struct flow_state *s, size_t cursor,
			uint64_t to)
{
	const struct variable_ranges *r = f->in->ranges;

	for (; cursor < r->nr_registers && r->list[cursor].start <= to; cursor++) {
		if (r->list[cursor].end > to)
			flow_state_seed(f->in, s, &r->list[cursor]);
	}
	return cursor;
}

static size_t flow_cursor(const struct value_flow *f, uint64_t addr)
{
	const struct variable_ranges *r = f->in->ranges;
	size_t low = 0, high = r->nr_registers;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->list[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A jump through a table. */
static void flow_jump(struct value_flow *f, const struct flow_state *from)
{
	if (f->jumps) {
		f->jumps_changed = flow_state_meet(f->jumps, from) || f->jumps_changed;
		return;
	}
	f->jumps = malloc(sizeof(*f->jumps));
	if (f->jumps)
		*f->jumps = *from;
	else
		f->no_memory = true;
}

/* Go through a block; @is_last: report its calls. */
static void flow_visit(struct value_flow *f, uint32_t number, bool is_last)
{
	const struct flow_block *b = &f->blocks[number];
	const struct code_step *list = f->in->steps->list, *last = &list[b->end - 1];
	size_t cursor = flow_cursor(f, list[b->first].addr);
	struct flow_state s = *b->state;
	uint32_t i;

	for (i = 0; i < b->nr_covered; i++)
		flow_state_seed(f->in, &s, &f->in->ranges->list[f->covered[b->covered + i]]);
	for (i = b->first; i < b->end; i++) {
		if (i > b->first && list[i].addr != list[i - 1].addr)
			cursor = flow_seed(f, &s, cursor, list[i].addr);
		if (is_last && list[i].kind == STEP_CALL)
			flow_state_report(f->in, &s, &list[i]);
		flow_state_step(f->in, &s, &list[i]);
	}
	if (is_last)
		return;
	if (flow_ends_block(last) && last->target)
		flow_reach_addr(f, last->target, &s);
	if (last->kind == STEP_JUMP && !last->target)
		flow_jump(f, &s);
	if (last->kind != STEP_JUMP && last->kind != STEP_END)
		flow_reach_addr(f, last->next, &s);
}

/* All cases begin with what the jumps agree on. */
static void flow_reach_cases(struct value_flow *f)
{
	uint32_t i;

	for (i = 0; f->jumps_changed && i < f->nr; i++) {
		if (f->blocks[i].is_case)
			flow_reach(f, i, f->jumps);
	}
	f->jumps_changed = false;
}

/* Visit blocks until none is dirty; those before the first dirty one are not looked at. */
static void flow_settle(struct value_flow *f)
{
	while (!f->no_memory && !f->endless) {
		uint32_t i = f->first_dirty;

		f->first_dirty = f->nr;
		for (; i < f->nr && f->nr_dirty; i++) {
			if (!f->blocks[i].is_dirty)
				continue;
			f->blocks[i].is_dirty = false;
			f->nr_dirty--;
			f->endless = f->endless || ++f->blocks[i].visits > FLOW_VISITS_MAX;
			flow_visit(f, i, false);
		}
		flow_reach_cases(f);
		if (!f->nr_dirty)
			break;
	}
}

/* Only the frame is known at the start of @block. */
static void flow_enter(struct value_flow *f, uint32_t block)
{
	struct flow_state s;
	int64_t offset;
	int reg;

	flow_state_init(&s);
	if (f->in->frame_at(f->in->arg, flow_start(f, block), &reg, &offset) && reg >= 0 &&
	    reg < STEP_REGISTERS)
		flow_state_set_frame(&s, reg, -offset);
	else if (flow_start(f, block) == f->in->entry)
		flow_state_set_frame(&s, f->in->machine->stack_pointer, -f->in->machine->entry);
	flow_reach(f, block, &s);
	flow_settle(f);
}

/* Instructions that only fill the space up to an aligned address. */
static bool flow_is_padding(const struct value_flow *f, const struct flow_block *b)
{
	uint32_t i;

	for (i = b->first; i < b->end; i++) {
		const struct code_step *s = &f->in->steps->list[i];

		if (s->kind != STEP_OTHER || s->written)
			return false;
	}
	return true;
}

/* Blocks that no known jump reaches: cases of a switch, or handlers of exceptions. */
static void flow_enter_rest(struct value_flow *f)
{
	uint32_t i;

	for (i = 0; f->jumps && !f->in->has_handlers && i < f->nr; i++) {
		if (!f->blocks[i].state && !flow_is_padding(f, &f->blocks[i])) {
			f->blocks[i].is_case = true;
			flow_reach(f, i, f->jumps);
		}
	}
	flow_settle(f);
	for (i = 0; i < f->nr && !f->no_memory; i++) {
		if (!f->blocks[i].state && !flow_is_padding(f, &f->blocks[i]))
			flow_enter(f, i);
	}
}

int value_flow_run(const struct flow_input *in)
{
	struct value_flow f = { .in = in };
	int ret = in->steps->nr ? flow_make_blocks(&f) : 0;
	uint32_t i, entry;

	if (ret == 0 && f.nr)
		ret = flow_cover(&f);
	entry = ret == 0 ? flow_block_from(&f, in->entry) : f.nr;
	if (entry < f.nr)
		flow_enter(&f, entry);
	if (ret == 0)
		flow_enter_rest(&f);
	if (ret == 0 && (f.no_memory || f.endless))
		ret = f.no_memory ? -ENOMEM : -E2BIG;
	for (i = 0; ret == 0 && i < f.nr; i++) {
		if (f.blocks[i].state)
			flow_visit(&f, i, true);
	}
	for (i = 0; i < f.nr; i++)
		free(f.blocks[i].state);
	free(f.blocks);
	free(f.covered);
	free(f.jumps);
	return ret;
}
