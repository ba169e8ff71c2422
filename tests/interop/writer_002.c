/* SPDX-License-Identifier: MIT */
/*
 * writer_002.c - a cTP 0.x writer with odd and even marks, like the existing SDKs.
 *
 * Exactly, mistakes included: the odd mark is a release store, which orders nothing
 * that follows, and a dead collector causes SIGPIPE.  Options in writer.h.
 */
#include "writer.h"

static struct seed_epoch *next_slot(struct writer_coro *co)
{
	return &co->station->slots[co->nr_events % 8];
}

static void write_event(struct writer_coro *co, uint64_t addr, bool is_active)
{
	struct seed_epoch *slot = next_slot(co);
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_RELAXED);

	__atomic_store_n(&slot->seq, seq + 1, __ATOMIC_RELEASE);
	slot->addr = addr;
	slot->tid = current_tid();
	slot->timestamp = current_ns();
	slot->is_active = is_active;
	__atomic_store_n(&slot->seq, seq + 2, __ATOMIC_RELEASE);
}

/* Half of the next event, and nothing after it. */
static void write_half(struct writer_coro *co)
{
	struct seed_epoch *slot = next_slot(co);

	__atomic_store_n(&slot->seq, slot->seq + 1, __ATOMIC_RELEASE);
	slot->addr = 0xdeadull;
	slot->tid = current_tid();
}

static void wake_collector(void)
{
	uint32_t asleep = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&header->tracer_sleeping, __ATOMIC_RELAXED) != 1)
		return;
	if (__atomic_compare_exchange_n(&header->tracer_sleeping, &asleep, 0, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
	    sock >= 0 && write(sock, "1", 1) < 0)
		return; /* a full socket has already woken it */
}

int main(int argc, char **argv)
{
	return writer_main(argc, argv, "seed-002");
}
