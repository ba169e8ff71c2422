/* SPDX-License-Identifier: MIT */
/*
 * writer_stops.c - a program with another project's SDK, in which most coroutines stop.
 *
 *	writer_stops COROUTINES STOP ROUNDS PAUSE_US LONG_EVERY
 *
 * COROUTINES take turns: suspend at their frame's address (from malloc), resume.  In the middle of
 * ROUNDS the first STOP of them suspend and are never resumed; the others continue.  After each
 * round the program pauses; in every LONG_EVERY-th round a coroutine keeps the thread for 12 ms.
 */
#include "../interop/writer.h"

static void write_event(struct writer_coro *co, uint64_t addr, bool is_active)
{
	struct seed_epoch *slot = &co->station->slots[co->nr_events++ % 8];
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_RELAXED);

	__atomic_store_n(&slot->seq, seq + 1, __ATOMIC_RELEASE);
	slot->addr = addr;
	slot->tid = current_tid();
	slot->timestamp = current_ns();
	slot->is_active = is_active;
	__atomic_store_n(&slot->seq, seq + 2, __ATOMIC_RELEASE);
}

static void write_half(struct writer_coro *co)
{
	(void)co;
}

static void wake_collector(void)
{
	uint32_t asleep = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&header->tracer_sleeping, &asleep, 0, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
	    sock >= 0 && write(sock, "1", 1) < 0)
		return; /* a full socket has already woken it */
}

static void turn(struct writer_coro *co, const void *frame, bool stops, bool is_long)
{
	write_event(co, 0, true);
	if (is_long)
		usleep(12000);
	write_event(co, (uint64_t)(uintptr_t)frame, false);
	if (stops)
		printf("%llu\n", (unsigned long long)co->probe_id);
	wake_collector();
}

int main(int argc, char **argv)
{
	unsigned long nr = strtoul(argv[1], NULL, 10), stop = strtoul(argv[2], NULL, 10);
	unsigned long rounds = strtoul(argv[3], NULL, 10), every = strtoul(argv[5], NULL, 10);
	unsigned long i, round;
	void **frames;

	if (argc != 6)
		return writer_main(argc, argv, "seed-002");
	join_collector();
	coros = calloc(nr, sizeof(*coros));
	frames = calloc(nr, sizeof(*frames));
	if (!coros || !frames)
		return 1;
	for (i = 0; i < nr; i++) {
		coros[i].nr = i;
		frames[i] = malloc(200);
		claim(&coros[i]);
	}
	for (round = 0; round < rounds; round++) {
		for (i = round < rounds / 2 ? 0 : stop; i < nr; i++)
			turn(&coros[i], frames[i], round == rounds / 2 - 1 && i < stop,
			     round % every == every - 1 && i == round / every % nr);
		usleep((useconds_t)strtoul(argv[4], NULL, 10));
	}
	return 0;
}
