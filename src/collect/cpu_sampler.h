/* SPDX-License-Identifier: MIT */
/*
 * cpu_sampler.h - processor time of threads that run one coroutine for long, and stops.
 *
 * The time between a resume and a suspend is not the time that the coroutine used: the thread may
 * have been preempted, stopped, or waiting for memory.  For a lane without a new event for
 * several milliseconds, whose last transition leaves a coroutine running, the sampler reads the
 * counters of the thread (thread_stat.h) and writes the differences to the trace.
 *
 * Cost
 *   Nothing per event and nothing in the program.  A thread is read at most every 5 ms, and less
 *   often the longer the slice is; one pass reads a limited number of threads.
 */
#ifndef COLLECT_CPU_SAMPLER_H
#define COLLECT_CPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/lane_scan.h"
#include "collect/wake_socket.h"
#include "collect/thread_stat.h"
#include "trace/trace_writer.h"

struct sampled_lane {
	uint64_t read;   /* of the lane, when it was last looked at */
	bool judged;     /* runs is valid for this value of read */
	bool runs;       /* the lane's last transition leaves a coroutine running */
	bool measured;   /* at and last are valid */
	uint64_t due_ns; /* time of the next reading */
	uint64_t at_ns;  /* time of the last reading */
	struct thread_stat last;
	struct trace_cpu open; /* the interval to write; to_ts 0: none */
	uint64_t blocked_ns;   /* of the lane, as reported */
	uint64_t tid;          /* that blocked_ns belongs to */
};

struct sampled_stop {
	uint64_t seen_ns; /* when the process was last seen not stopped */
	uint64_t from_ns; /* 0: it is not stopped */
};

struct cpu_sampler {
	const struct drain *drain;
	const struct endpoint *endpoint;
	struct trace_writer *writer;
	struct sampled_lane *lanes;
	uint32_t room;
	uint32_t turn;     /* lane to begin with: each pass reads a limited number */
	uint64_t next_ns;  /* time of the next pass */
	uint64_t stops_ns; /* time of the next look at the processes */
	bool is_running;   /* a slice is being measured: the collector should not sleep long */
	struct sampled_stop *stops; /* by number of the peer */
	uint32_t nr_stops;
};

void cpu_sampler_open(struct cpu_sampler *s, const struct drain *drain,
		      const struct endpoint *endpoint, struct trace_writer *writer);

/* After a poll that ended at @now_ns: read what is due. */
void cpu_sampler_look(struct cpu_sampler *s, uint64_t now_ns);

/* A child of the collector has stopped, continued or ended. */
void cpu_sampler_child_changed(struct cpu_sampler *s);

/* Time until the next reading is due, at most @ns. */
uint64_t cpu_sampler_wait(const struct cpu_sampler *s, uint64_t now_ns, uint64_t ns);

/* The run is over: write open intervals. */
void cpu_sampler_finish(struct cpu_sampler *s, uint64_t now_ns);

void cpu_sampler_close(struct cpu_sampler *s);

#endif
