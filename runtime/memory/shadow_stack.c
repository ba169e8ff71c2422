/* SPDX-License-Identifier: MIT */
/* shadow_stack.c - memory of the shadow stacks, the rare cases, and copies of them. */
#include "shadow_stack.h"

#include "shadow_switch.h"
#include "sys.h"
#include "trace_session.h"

struct crt_frame crt_no_frame __attribute__((visibility("hidden")));
__thread struct crt_calls crt_calls
	__attribute__((visibility("hidden"))) = { .top = &crt_no_frame };

/* ---- memory ------------------------------------------------------------------ */

/* Frames of ended threads, for new ones. */
#define SPARES 64u
static struct crt_frames *spare_frames[SPARES]; /* [threads] */

static struct crt_frames *shadow_take_spare(void)
{
	uint32_t i;

	for (i = 0; i < SPARES; i++) {
		struct crt_frames *f = __atomic_load_n(&spare_frames[i], __ATOMIC_RELAXED);

		/* (mem-I) pairs with the release in crt_calls_end(): the thread no longer uses it.
		 */
		if (f && __atomic_compare_exchange_n(&spare_frames[i], &f, NULL, false,
						     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return f;
	}
	return NULL;
}

/* Allocate the frames of this thread.  False: there are none. */
static bool shadow_begin(void)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frames *f;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED) || c->is_closed)
		return false;
	f = shadow_take_spare();
	if (!f)
		f = crt_memory(sizeof(*f));
	if (!f) {
		c->is_closed = 1;
		return false;
	}
	f->outer[0].at = UINT64_MAX;
	c->frames = f;
	c->last = &f->outer[CRT_OUTER];
	c->depth = 0;
	c->floor = CRT_OUTER;
	c->top = f->outer;
	crt_thread_watch();
	return true;
}

void crt_calls_end(void)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frames *f = c->frames, *none;
	uint32_t i;

	c->is_closed = 1;
	c->top = &crt_no_frame;
	c->last = NULL;
	c->frames = NULL;
	if (c->left)
		crt_memory_free(c->left, sizeof(*c->left));
	c->left = NULL;
	for (i = 0; f && i < SPARES; i++) {
		none = NULL;
		/* (mem-I) pairs with the acquire in shadow_take_spare(). */
		if (__atomic_compare_exchange_n(&spare_frames[i], &none, f, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	if (f)
		crt_memory_free(f, sizeof(*f));
}

/* ---- frames by number ----------------------------------------------------------- */

static struct crt_frame *shadow_frame(const struct crt_calls *c, uint64_t number)
{
	if (number < CRT_OUTER)
		return &c->frames->outer[1 + number];
	return &c->frames->inner[number & (CRT_INNER - 1)];
}

static uint64_t shadow_depth(const struct crt_calls *c)
{
	if (c->top == &c->frames->deep)
		return c->depth;
	return (uint64_t)(c->top - c->frames->outer);
}

static void shadow_set_depth(struct crt_calls *c, uint64_t depth)
{
	c->depth = depth;
	c->top = depth > CRT_OUTER ? &c->frames->deep : &c->frames->outer[depth];
}

uint64_t crt_calls_depth(void)
{
	return crt_calls.frames ? shadow_depth(&crt_calls) : 0;
}

void crt_calls_select(const struct crt_frame *frames, uint32_t nr)
{
	struct crt_calls *c = &crt_calls;
	uint32_t i;

	for (i = 0; i < nr && i < CRT_OUTER; i++)
		c->frames->outer[1 + i] = frames[i];
	c->floor = CRT_OUTER;
	shadow_set_depth(c, i);
}

const struct crt_frame *crt_calls_frame(uint64_t number)
{
	const struct crt_calls *c = &crt_calls;

	return number >= CRT_OUTER && number < c->floor ? NULL : shadow_frame(c, number);
}

/* ---- the rare cases ---------------------------------------------------------------- */

/* The innermost @nr functions are left. */
static void shadow_drop(struct crt_calls *c, uint64_t nr)
{
	uint64_t depth = shadow_depth(c) - nr;

	shadow_set_depth(c, depth);
	if (c->floor > depth)
		c->floor = depth < CRT_OUTER ? CRT_OUTER : depth;
	if (crt_session.calls)
		crt_calls_record(nr, CRW_W1(CRW_LEAVE, 1));
}

/*
 * Remove the frames that are gone if the stack pointer is @at; @inclusive: also one with the same
 * address.  A frame with the return address @caller is the last one.  True: it was removed.
 */
static bool shadow_settle(struct crt_calls *c, uint64_t at, bool inclusive, uint64_t caller)
{
	uint64_t depth;

	while ((depth = shadow_depth(c)) > 0) {
		/* An unknown frame is gone if one outside of it is. */
		bool is_hidden = depth > CRT_OUTER && depth == c->floor;
		const struct crt_frame *f = shadow_frame(c, is_hidden ? CRT_OUTER - 1 : depth - 1);
		uint64_t returns_to = f->caller;

		if (inclusive ? f->at > at : f->at >= at)
			return false;
		shadow_drop(c, is_hidden ? depth - CRT_OUTER : 1);
		if (!is_hidden && returns_to == caller)
			return true;
	}
	return false;
}

void crt_calls_push_slow(uint64_t caller, uint64_t function, uint64_t at)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frame *f;
	uint64_t depth;

	if (c->is_switching || (!c->frames && !shadow_begin()))
		return;
	crt_switch_enter(c, at, caller);
	shadow_settle(c, at, true, 0);
	depth = shadow_depth(c);
	f = shadow_frame(c, depth++);
	f->caller = caller;
	f->function = function;
	f->at = at;
	shadow_set_depth(c, depth);
	if (depth > c->floor + CRT_INNER)
		c->floor = depth - CRT_INNER;
	if (crt_session.calls)
		crt_calls_record(caller, CRW_W1(CRW_ENTER, function));
}

void crt_calls_pop_slow(uint64_t pc, uint64_t at)
{
	struct crt_calls *c = &crt_calls;
	enum crt_switch_exit where;
	const struct crt_frame *f;
	uint64_t depth;

	if (!c->frames || c->is_switching)
		return;
	where = crt_switch_leave(c, pc, at);
	if (where == CRT_EXIT_INNERMOST)
		shadow_drop(c, 1);
	if (where != CRT_EXIT_HERE || shadow_settle(c, at, false, pc))
		return;
	depth = shadow_depth(c);
	if (!depth)
		return;
	f = crt_calls_frame(depth - 1);
	if (!f || f->at == at || crt_is_inside(pc, f->function))
		shadow_drop(c, 1);
}

/* ---- copies ------------------------------------------------------------------------- */

uint32_t crt_calls_copy(uint64_t at, uint64_t *out, uint32_t max)
{
	uint64_t i, site = 0;
	uint32_t nr = 0;

	if (crt_calls.left && !crt_calls.is_switching)
		crt_switch_enter(&crt_calls, at, 0);
	for (i = crt_calls_depth(); i > 0 && nr < max; i--) {
		const struct crt_frame *f = crt_calls_frame(i - 1);

		if (!f) {
			i = CRT_OUTER + 1;
			site = 0;
			continue;
		}
		if (f->at < at) /* left by longjmp */
			continue;
		/* Called by code without hooks: the function itself is not among the callers. */
		if (!crt_is_inside(site, f->function))
			out[nr++] = f->function;
		site = f->caller;
		if (nr < max)
			out[nr++] = site;
	}
	return nr;
}
