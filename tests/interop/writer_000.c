/* SPDX-License-Identifier: MIT */
/*
 * writer_000.c - a cTP 0.x writer with a plain count.
 *
 * One sequence number per station, from 1; slot = seq % 8; the payload first, and
 * seq last by a release store.  Nothing marks a write in progress.  Options in
 * writer.h.
 */
#include "writer.h"

static void write_payload(struct seed_epoch *slot, uint64_t addr, bool is_active)
{
	slot->timestamp = current_ns();
	slot->tid = current_tid();
	slot->addr = addr;
	slot->is_active = is_active;
}

static void write_event(struct writer_coro *co, uint64_t addr, bool is_active)
{
	uint64_t seq = co->nr_events + 1;
	struct seed_epoch *slot = &co->station->slots[seq % 8];

	write_payload(slot, addr, is_active);
	__atomic_store_n(&slot->seq, seq, __ATOMIC_RELEASE);
}

/* The next payload, over an existing one, without its seq. */
static void write_half(struct writer_coro *co)
{
	struct seed_epoch *slot = &co->station->slots[(co->nr_events + 1) % 8];

	slot->addr = 0xdeadull;
	slot->tid = current_tid();
}

/* The collector clears the flag itself when it has received the byte. */
static void wake_collector(void)
{
	if (__atomic_load_n(&header->tracer_sleeping, __ATOMIC_ACQUIRE) != 1)
		return;
	if (sock >= 0 && write(sock, "1", 1) < 0)
		return; /* failures are ignored */
}

int main(int argc, char **argv)
{
	return writer_main(argc, argv, "seed-000");
}
