/* SPDX-License-Identifier: MIT */
/*
 * cpu_samples.h - what the kernel counted for threads, between any two times.
 *
 * The trace has intervals (struct trace_cpu) only for slices of several milliseconds and for stops
 * of a process; everything else is not measured.  The counters of an interval that is only partly
 * asked for are taken in proportion.
 */
#ifndef ANALYZE_CPU_SAMPLES_H
#define ANALYZE_CPU_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/thread_lists.h"
#include "base/strtab.h"
#include "trace/item.h"

/* Intervals that are kept; later ones are not measured. */
#define CPU_SAMPLES_MAX (1u << 17)

struct cpu_interval {
	struct time_span span;
	uint64_t cpu_ns, queued_ns;
	uint32_t call; /* 1 + index in names; 0: not known */
	uint8_t state; /* enum cpu_state */
};

struct cpu_samples {
	struct thread_lists threads; /* of struct cpu_interval; key: tid, or a pid with its top bit
					set */
	size_t nr;                   /* intervals of all threads */
	struct time_list stops;      /* of any process */
	struct strtab names;
};

/* Where the time between two times went.  The parts add up to measured_ns at most. */
struct cpu_use {
	uint64_t measured_ns;
	uint64_t cpu_ns;
	uint64_t queued_ns;  /* ready, without a processor */
	uint64_t blocked_ns; /* in system calls */
	uint64_t page_ns;
	uint64_t stopped_ns;
	uint64_t tracer_ns; /* waiting for room in the lane */
	const char *call;   /* of most of blocked_ns; NULL: not known */
	bool has_calls;     /* others than that one were seen, too */
	bool is_exact;      /* by context switches (switch_times.h), not by samples */
};

/* 0 or -ENOMEM. */
int cpu_samples_add(struct cpu_samples *s, const struct trace_cpu *cpu);

/* Of thread @tid of process @pid; @pid 0: not known, stops of any process count. */
struct cpu_use cpu_samples_thread(const struct cpu_samples *s, uint32_t pid, uint64_t tid,
				  uint64_t from_ts, uint64_t to_ts);

/* Call @take for each interval of the thread that overlaps with the two times, in order. */
void cpu_samples_each(const struct cpu_samples *s, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
		      void (*take)(void *ctx, const struct cpu_interval *interval), void *ctx);

/* Time between the two that process @pid was stopped; @pid 0: any process. */
uint64_t cpu_samples_stopped(const struct cpu_samples *s, uint32_t pid, uint64_t from_ts,
			     uint64_t to_ts);

void cpu_samples_release(struct cpu_samples *s);

#endif
