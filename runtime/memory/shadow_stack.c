/* SPDX-License-Identifier: MIT */
/* shadow_stack.c - memory of the shadow stacks, and copies of them. */
#include "shadow_stack.h"

#include "sys.h"
#include "trace_session.h"

__thread struct crt_calls crt_calls __attribute__((visibility("hidden")));

/* Frames of ended threads, for new ones; a spin bit would do, but a handler may interrupt it. */
#define SPARES 64u
static struct crt_frame *spare_frames[SPARES]; /* [threads] */

static struct crt_frame *shadow_take_spare(void)
{
	uint32_t i;

	for (i = 0; i < SPARES; i++) {
		struct crt_frame *f = __atomic_load_n(&spare_frames[i], __ATOMIC_RELAXED);

		/* (mem-I) pairs with the release in crt_calls_end(): the thread no longer uses it.
		 */
		if (f && __atomic_compare_exchange_n(&spare_frames[i], &f, NULL, false,
						     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return f;
	}
	return NULL;
}

bool crt_calls_begin(void)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frame *f;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED) || c->is_closed)
		return false;
	f = shadow_take_spare();
	if (!f)
		f = crt_memory(CRT_FRAMES * sizeof(*f));
	if (!f) {
		c->is_closed = 1;
		return false;
	}
	c->depth = 0;
	c->floor = CRT_OUTER;
	c->frames = f;
	crt_thread_watch();
	return true;
}

void crt_calls_end(void)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frame *f = c->frames, *none;
	uint32_t i;

	c->is_closed = 1;
	c->frames = NULL;
	for (i = 0; f && i < SPARES; i++) {
		none = NULL;
		/* (mem-I) pairs with the acquire in shadow_take_spare(). */
		if (__atomic_compare_exchange_n(&spare_frames[i], &none, f, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	if (f)
		crt_memory_free(f, CRT_FRAMES * sizeof(*f));
}

uint32_t crt_calls_copy(uint64_t at, uint64_t *out, uint32_t max)
{
	const struct crt_calls *c = &crt_calls;
	uint64_t i, site = 0;
	uint32_t nr = 0;

	for (i = c->frames ? c->depth : 0; i > 0 && nr < max; i--) {
		const struct crt_frame *f;

		if (i > CRT_OUTER && i <= c->floor) { /* unknown frames */
			i = CRT_OUTER;
			site = 0;
		}
		f = crt_calls_frame(c, i - 1);

		if (f->at < at) /* left by longjmp */
			continue;
		/* Called by code without hooks: the function itself is not among the callers. */
		if (!crt_calls_is_inside(site, f->function))
			out[nr++] = f->function;
		site = f->caller;
		if (nr < max)
			out[nr++] = site;
	}
	return nr;
}
