/* SPDX-License-Identifier: MIT */
/*
 * call_record.c - record function entries and exits, if that is asked for.
 *
 * The stream of a thread begins with all functions that the thread is in, and so does what follows
 * after units were lost or recording was off: from then on each entry and exit is one unit.
 */
#include "decode_calls.h"
#include "shadow_stack.h"
#include "sys.h"
#include "trace_session.h"

#define WHOLE_MAX 64u /* innermost functions; few, because coroutines may have small stacks */
#define DEEP      (CRW_CALLS_KEPT - 1) /* the consumer may forget the outermost functions */

/* Record the functions that this thread is in, up to number @depth. */
static bool call_record_whole(uint64_t depth)
{
	uint64_t from = depth > WHOLE_MAX ? depth - WHOLE_MAX : 0, i;
	struct crw_unit calls[WHOLE_MAX];
	uint32_t nr = 0;

	for (i = from; i < depth && nr < WHOLE_MAX; i++) {
		const struct crt_frame *f = crt_calls_frame(i);

		if (f)
			calls[nr++] = (struct crw_unit){ f->caller, f->function };
	}
	return crt_put_payload(CRW_CALLS, 0, 1, (const uint8_t *)calls,
			       nr * (uint32_t)sizeof(calls[0]));
}

static void call_record_put(uint64_t w0, uint64_t w1)
{
	struct crt_thread *t = &crt_self;
	uint64_t word = __atomic_load_n(&crt_state.word, __ATOMIC_RELAXED), at;
	uint64_t depth = crt_calls_depth();
	struct crw_unit unit = { w0, w1 };

	if (!(word & CRT_ON)) {
		t->calls_known = 0;
		return;
	}
	/* After deep recursion, name all functions again. */
	if (depth > DEEP)
		crt_calls.was_deep = 1;
	else if (crt_calls.was_deep && depth <= WHOLE_MAX)
		t->calls_known = crt_calls.was_deep = 0;
	if (!t->calls_known || t->generation != crt_session.generation) {
		bool enters = CRW_CODE(w1) == CRW_ENTER;

		t->calls_known = call_record_whole(depth - enters);
		if (!t->calls_known || !enters)
			return;
	}
	if (word == t->seen) {
		at = crt_reserve(CRW_UNIT);
		if (!(at & CRT_OVER)) {
			crt_fill(at, w0, w1);
			return;
		}
	}
	if (!crt_put(&unit, 1))
		t->calls_known = 0;
}

/* A unit that does not fit is not counted as lost: that is the number of accesses. */
void crt_calls_record(uint64_t w0, uint64_t w1)
{
	crt_self.uncounted = 1;
	call_record_put(w0, w1);
	crt_self.uncounted = 0;
}
