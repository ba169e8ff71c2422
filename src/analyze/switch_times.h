/* SPDX-License-Identifier: MIT */
/*
 * switch_times.h - when threads had no processor, by the context switches of a trace.
 *
 * Exact where cpu_samples.h has samples: between any two times the thread waited for a processor,
 * was blocked, or ran.  Times in which records were lost are not measured.
 *
 * Memory
 *   Every wait is kept, up to SWITCH_SPANS of them.  Then short waits of a thread that follow each
 *   other are joined, and of a joined span only the sums are known: a time that is not much longer
 *   than the joined spans at its borders is not measured from then on.
 */
#ifndef ANALYZE_SWITCH_TIMES_H
#define ANALYZE_SWITCH_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cpu_samples.h"
#include "analyze/thread_lists.h"
#include "trace/item.h"

#define SWITCH_SPANS (1u << 21)

/* Losses that are kept; after more, nothing is measured. */
#define SWITCH_LOSSES 4096u

struct switch_span {
	struct time_span span;
	uint64_t queued_ns, blocked_ns; /* the rest of the time it had a processor */
};

struct switch_times {
	bool is_recorded;
	bool has_wakes;              /* and wake-ups: a wait for a processor after one is known */
	uint64_t since_ts;           /* switches are recorded from this time on */
	uint64_t known_ts;           /* the end of the last wait: earlier ones have been added */
	struct thread_lists threads; /* of struct switch_span, by tid, without overlaps */
	size_t nr;                   /* spans of all threads */
	uint64_t span_ns;            /* waits that together are not longer are joined; 0: none */
	struct time_list lost;       /* of struct time_span, in which records are missing */
	uint64_t nr_switches, nr_lost;
};

/* 0 or -ENOMEM. */
int switch_times_add(struct switch_times *s, const struct trace_switch *item);

/*
 * Where the time of thread @tid between the two went.  measured_ns is the whole time, or 0 if it is
 * not known.
 */
struct cpu_use switch_times_thread(const struct switch_times *s, uint64_t tid, uint64_t from_ts,
				   uint64_t to_ts);

/*
 * Of a trace without wake-ups: how long the thread, between the two times, waited for a processor
 * while the switches show it as blocked.  The kernel adds a wait to a counter when the wait ends:
 * what it counted in @counted beyond the preemptions that ended there was the end of such waits.
 */
uint64_t switch_times_late(const struct switch_times *s, uint64_t tid,
			   const struct cpu_interval *counted, uint64_t from_ts, uint64_t to_ts);

/*
 * Call @take for each wait of the thread between the two times, cut to them, in order; joined ones
 * are left out.
 */
void switch_times_each(const struct switch_times *s, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
		       void (*take)(void *ctx, const struct time_span *span, bool is_blocked),
		       void *ctx);

void switch_times_release(struct switch_times *s);

#endif
