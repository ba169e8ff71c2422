/* SPDX-License-Identifier: MIT */
/* shadow_switch.c - find the frames of the stack that a thread runs on, by the stack pointer. */
#include "shadow_switch.h"

#include "sys.h"
#include "trace_session.h"

#define SWITCH_NEAR  (UINT64_C(16) << 10) /* below a frame: probably the same stack */
#define SWITCH_ABOVE UINT64_C(1024)       /* above the outermost frame: the same stack */
#define SWITCH_PAGES 4096u                /* a power of two */

/* Pages of stacks on which a thread left a function that another one had entered: the time. */
static uint64_t left_elsewhere[SWITCH_PAGES]; /* [threads] */
static uint64_t switch_clock = 1;             /* [threads] */

static uint64_t switch_now(void)
{
	return __atomic_add_fetch(&switch_clock, 1, __ATOMIC_RELAXED);
}

static uint64_t *switch_page(uint64_t at)
{
	uint64_t page = at >> 12;

	return &left_elsewhere[(page ^ page >> 12) & (SWITCH_PAGES - 1)];
}

static const struct crt_frame *switch_frame(uint64_t number)
{
	const struct crt_frame *f = crt_calls_frame(number);

	return f ? f : &crt_no_frame;
}

/* True if the stack pointer @at is on the stack whose frames are selected. */
static bool switch_is_here(uint64_t depth, uint64_t at, uint64_t caller)
{
	const struct crt_frame *inner = switch_frame(depth - 1);

	if (at > inner->at)
		return at <= switch_frame(0)->at + SWITCH_ABOVE;
	return inner->at - at < CRT_NEAR || crt_is_inside(caller, inner->function);
}

/* ---- stacks that were left ---------------------------------------------------- */

/* The stack that is nearest to @at; CRT_LEFT_STACKS: none. */
static uint32_t switch_find(const struct crt_left *l, uint64_t at)
{
	uint64_t least = SWITCH_NEAR, distance;
	uint32_t i, best = CRT_LEFT_STACKS;

	for (i = 0; i < CRT_LEFT_STACKS; i++) {
		if (!l->time[i] || at > l->outer[i])
			continue;
		distance = at < l->inner[i] ? l->inner[i] - at : 0;
		if (distance < least) {
			least = distance;
			best = i;
		}
	}
	return best;
}

/* An unused place, or that of the stack which was left first. */
static uint32_t switch_oldest(const struct crt_left *l)
{
	uint32_t i, best = 0;

	for (i = 1; i < CRT_LEFT_STACKS; i++) {
		if (l->time[i] < l->time[best])
			best = i;
	}
	return best;
}

/* Forget stacks that were in the same memory. */
static void switch_forget(struct crt_left *l, uint64_t inner, uint64_t outer)
{
	uint32_t i;

	for (i = 0; i < CRT_LEFT_STACKS; i++) {
		if (l->time[i] && l->inner[i] <= outer && l->outer[i] >= inner)
			l->time[i] = 0;
	}
}

/* Put the selected frames aside, except the outermost ones if there are too many. */
static void switch_put_aside(struct crt_calls *c, uint64_t depth)
{
	struct crt_left *l = c->left;
	uint64_t from = depth > CRT_LEFT_FRAMES ? depth - CRT_LEFT_FRAMES : 0, i;
	uint32_t place, nr = 0;

	if (depth) {
		switch_forget(l, switch_frame(depth - 1)->at, switch_frame(from)->at);
		place = switch_oldest(l);
		for (i = from; i < depth; i++)
			l->frames[place][nr++] = *switch_frame(i);
		l->nr[place] = nr;
		l->inner[place] = l->frames[place][nr - 1].at;
		l->outer[place] = l->frames[place][0].at;
		l->since[place] = c->since;
		l->time[place] = switch_now();
	}
	crt_calls_select(NULL, 0);
	c->since = switch_now();
	crt_self.calls_known = 0; /* name all functions again */
}

/* True if no other thread has left a function of this stack. */
static bool switch_is_valid(const struct crt_left *l, uint32_t place)
{
	uint64_t at = l->inner[place] & ~UINT64_C(4095), pages = 0;

	for (; at <= l->outer[place] && pages < SWITCH_PAGES; at += 4096, pages++) {
		if (__atomic_load_n(switch_page(at), __ATOMIC_RELAXED) > l->since[place])
			return false;
	}
	return true;
}

/* Put the selected frames aside and select those at @place; without @continues: none. */
static void switch_to(struct crt_calls *c, uint64_t depth, uint32_t place, bool continues)
{
	struct crt_left *l = c->left;

	l->time[place] = UINT64_MAX; /* not the one that is forgotten first */
	switch_put_aside(c, depth);
	if (continues && l->time[place] && switch_is_valid(l, place))
		crt_calls_select(l->frames[place], l->nr[place]);
	l->time[place] = 0;
}

/* ---- hooks ------------------------------------------------------------------- */

static bool switch_has_memory(struct crt_calls *c)
{
	if (!c->left)
		c->left = crt_memory(sizeof(*c->left));
	return c->left != NULL;
}

/*
 * True if the frames at @place are those of a function that calls from @caller: not what remains of
 * an earlier coroutine on the same memory, whose first function was called from there, too.
 */
static bool switch_continues(const struct crt_left *l, uint32_t place, uint64_t at, uint64_t caller)
{
	uint32_t nr = l->nr[place];

	if (!caller)
		return true;
	if (l->frames[place][0].caller == caller)
		return false;
	return at > l->inner[place] || crt_is_inside(caller, l->frames[place][nr - 1].function);
}

void crt_switch_enter(struct crt_calls *c, uint64_t at, uint64_t caller)
{
	uint64_t depth = crt_calls_depth();
	uint32_t place;

	if ((!depth && !c->left) || (depth && switch_is_here(depth, at, caller)))
		return;
	place = c->left ? switch_find(c->left, at) : CRT_LEFT_STACKS;
	/* An allocation, or code without hooks that needs much stack. */
	if (place == CRT_LEFT_STACKS && depth && at < switch_frame(depth - 1)->at &&
	    (!caller || switch_frame(depth - 1)->at - at < SWITCH_NEAR))
		return;
	if ((place == CRT_LEFT_STACKS && !depth) || !switch_has_memory(c))
		return;
	c->is_switching = 1;
	if (place < CRT_LEFT_STACKS)
		switch_to(c, depth, place, switch_continues(c->left, place, at, caller));
	else
		switch_put_aside(c, depth);
	c->is_switching = 0;
}

/* The stack whose innermost function is left by the exit hook; CRT_LEFT_STACKS: none. */
static uint32_t switch_find_exit(const struct crt_left *l, uint64_t pc, uint64_t at)
{
	uint32_t i;

	for (i = 0; i < CRT_LEFT_STACKS; i++) {
		const struct crt_frame *f;

		if (!l->time[i])
			continue;
		f = &l->frames[i][l->nr[i] - 1];
		if (f->at == at || (f->at < at && at - f->at < SWITCH_NEAR && f->caller == pc) ||
		    (f->at > at && f->at - at < SWITCH_NEAR && crt_is_inside(pc, f->function)))
			return i;
	}
	return CRT_LEFT_STACKS;
}

enum crt_switch_exit crt_switch_leave(struct crt_calls *c, uint64_t pc, uint64_t at)
{
	uint64_t depth = crt_calls_depth();
	uint32_t place = c->left ? switch_find_exit(c->left, pc, at) : CRT_LEFT_STACKS;

	if (depth && place == CRT_LEFT_STACKS && switch_is_here(depth, at, pc))
		return CRT_EXIT_HERE;
	if (place == CRT_LEFT_STACKS) {
		__atomic_store_n(switch_page(at), switch_now(), __ATOMIC_RELAXED);
		return CRT_EXIT_ELSEWHERE;
	}
	c->is_switching = 1;
	switch_to(c, depth, place, true);
	c->is_switching = 0;
	return crt_calls_depth() ? CRT_EXIT_INNERMOST : CRT_EXIT_ELSEWHERE;
}
