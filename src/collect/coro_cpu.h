/* SPDX-License-Identifier: MIT */
/*
 * coro_cpu.h - processor time of each coroutine while a program runs (`run --cpu`), for `top`.
 *
 * Events of lanes say which coroutine ran when, context switches when a thread had no processor.
 * The latter come later: a slice that has ended waits until the switches of its time are known.
 *
 * Memory
 *   A row per coroutine that has not ended, 16,384 waits per thread, 65,536 ended slices.  A slice
 *   for which that is not enough is not measured.
 */
#ifndef COLLECT_CORO_CPU_H
#define COLLECT_CORO_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_writer.h"
#include "base/u64map.h"
#include "trace/event.h"

#define CORO_CPU_WAITS  16384u
#define CORO_CPU_SLICES 65536u
#define CORO_CPU_ROWS   (1u << 20)
/* Rows in an answer: those with the longest measured time. */
#define CORO_CPU_TOLD 8192u

struct coro_cpu_row {
	uint64_t id; /* 0: free */
	uint64_t resumed_ts, tid;
	uint64_t slices, ns, queued_ns, blocked_ns; /* of measured slices */
};

struct coro_cpu_wait {
	uint64_t from_ts, to_ts;
	bool is_blocked;
};

struct coro_cpu_thread {
	uint64_t tid;
	struct coro_cpu_wait *waits; /* a ring */
	uint32_t nr, room;           /* nr: in total, modulo room is the next one */
	uint32_t at;                 /* likewise: the first one that the last slice could have */
};

struct coro_cpu_slice {
	uint64_t id, tid, from_ts, to_ts;
	bool is_last; /* the coroutine is gone */
};

/* All zero: off. */
struct coro_cpu {
	bool is_on;
	struct u64map numbers; /* id to 1 + index in rows */
	struct coro_cpu_row *rows;
	size_t nr, room, free; /* free: 1 + index of a free row; its tid is the next one */
	struct u64map tids;    /* to 1 + index in threads */
	struct coro_cpu_thread *threads;
	size_t nr_threads, threads_room;
	struct coro_cpu_slice *ended; /* a ring that grows up to CORO_CPU_SLICES */
	uint32_t first, nr_ended, ended_room;
	size_t last_row, last_thread; /* numbers of those used last; 0: none */
	uint64_t since_ts;            /* slices that began earlier are not measured */
};

void coro_cpu_open(struct coro_cpu *c);
void coro_cpu_close(struct coro_cpu *c);

/* An event of a lane, in order of time for each thread. */
void coro_cpu_event(struct coro_cpu *c, const struct trace_event *ev);

/* A thread had no processor. */
void coro_cpu_wait(struct coro_cpu *c, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
		   bool is_blocked);

/* All waits that ended before @until_ns are known. */
void coro_cpu_settle(struct coro_cpu *c, uint64_t until_ns);

/* Switches are lost up to @until_ts: slices that began earlier are not measured. */
void coro_cpu_forget(struct coro_cpu *c, uint64_t until_ts);

/* "cpu":[[id,slices,ns,queued,blocked], ...],"cpu_omitted":N; null if it is off. */
void coro_cpu_put(const struct coro_cpu *c, struct json_writer *j);

#endif
