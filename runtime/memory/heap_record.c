/* SPDX-License-Identifier: MIT */
/*
 * heap_record.c - record blocks of the heap: where, how large, and who allocated them.
 *
 * Order.  While only one thread was ever recorded, its stream has the order.  With more threads a
 * record has a ticket, as an annotation has (annotate.c): no access of any thread is on the wrong
 * side of it.
 *
 * Recursion.  Nothing here allocates.  If an allocation nevertheless happens while one is recorded
 * (a signal handler), the inner one is not recorded.
 *
 * A record that does not fit is not counted as lost: that is the number of accesses.
 */
#include "heap_record.h"

#include "alloc_stacks.h"
#include "shadow_stack.h"
#include "trace_session.h"

#define OPERATOR_NEAR 1024u /* bytes of stack between operator new and malloc */

/* True if this allocation is to be recorded; then heap_record_end() follows. */
static bool heap_record_begin(uint64_t at)
{
	struct crt_calls *c = &crt_calls;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED) || !crt_session.heap ||
	    c->is_closed)
		return false;
	/* A recorder above this frame is still at work; one below was left by longjmp. */
	if (c->busy > at)
		return false;
	c->busy = at;
	crt_self.uncounted = 1;
	return true;
}

/* The return address of operator new or delete if it called the allocator, else @pc. */
static uint64_t heap_record_pc(uint64_t pc, uint64_t at)
{
	const struct crt_calls *c = &crt_calls;

	/* An exception may have left an operator: then its frame is not just above this one. */
	return c->operator_pc && c->operator_at - at < OPERATOR_NEAR ? c->operator_pc : pc;
}

static void heap_record_end(void)
{
	crt_calls.busy = 0;
	crt_self.uncounted = 0;
}

/* Complete the record @units with its ticket, if it needs one, and record it. */
static void heap_record_put(struct crw_unit *units, uint32_t nr)
{
	struct crt_thread *t = &crt_self;

	if (__atomic_load_n(&crt_session.next_thread, __ATOMIC_RELAXED) <= 1) {
		crt_put(units, nr);
		return;
	}
	t->ticket = crt_ticket();
	units[nr].w0 = t->ticket;
	units[nr].w1 = CRW_W1(CRW_TICKET, 1);
	crt_put(units, nr + 1);
	t->ticket = 0;
}

void crt_heap_allocated(uint64_t address, uint64_t size, uint64_t pc, uint64_t at)
{
	struct crw_unit units[3];

	if (!heap_record_begin(at))
		return;
	units[0] = (struct crw_unit){ address, CRW_W1(CRW_ALLOC, heap_record_pc(pc, at)) };
	units[1] = (struct crw_unit){ size, CRW_W1(CRW_AMOUNT, crt_stack_number(at)) };
	heap_record_put(units, 2);
	heap_record_end();
}

void crt_heap_freed(uint64_t address, uint64_t pc, uint64_t at)
{
	struct crw_unit units[2];

	if (!heap_record_begin(at))
		return;
	units[0] = (struct crw_unit){ address, CRW_W1(CRW_RELEASE, heap_record_pc(pc, at)) };
	heap_record_put(units, 1);
	heap_record_end();
}
