/* SPDX-License-Identifier: MIT */
/* run_end.c - when a run ended: the reports of the witness, or what the collector noticed. */
#include "collect/run_end.h"

#include <stdbool.h>

#include "base/monotonic.h"

/* The witness reports the exit of a process within this time, or not at all. */
#define WITNESS_LATE_NS UINT64_C(500000000)

/*
 * Time when process @pid ended: the witness's time, unless the witness could not watch the
 * process or its report is about an earlier process with the same pid (before @born_ns).
 * Otherwise @noticed_ns, the time at which the collector noticed.
 */
static uint64_t end_of_process(struct signals *signals, uint32_t pid, uint64_t born_ns,
			       uint64_t noticed_ns, uint64_t until_ns)
{
	uint64_t end = signals_end_of(signals, (pid_t)pid, until_ns);

	return end > born_ns && end < noticed_ns ? end : noticed_ns;
}

static uint64_t end_of_peer(struct signals *signals, const struct peer *p, uint64_t now_ns,
			    uint64_t until_ns)
{
	/*
	 * A process that closed its connection and still runs is not traced any more: do not wait
	 * for a report.
	 */
	uint64_t wait_ns = endpoint_process_is_gone(p->pid) ? until_ns : 0;

	return end_of_process(signals, p->pid, p->connected_ns,
			      p->hung_up_ns ? p->hung_up_ns : now_ns, wait_ns);
}

uint64_t collected_until(struct signals *signals, const struct endpoint *e,
			 const struct launch *launch, uint64_t start_ns)
{
	uint64_t now = clock_now_ns(), until = now + WITNESS_LATE_NS, end = 0, one;
	uint32_t i;

	for (i = 0; i < e->nr_peers; i++) {
		one = end_of_peer(signals, &e->peers[i], now, until);
		end = one > end ? one : end;
	}
	if (end)
		return end;
	if (!launch->ended)
		return now;
	return end_of_process(signals, (uint32_t)launch->pid, start_ns, launch->ended_ns, until);
}
