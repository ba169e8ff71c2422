/* SPDX-License-Identifier: MIT */
/*
 * switch_recorder.h - write to the trace when threads had no processor (`run --cpu`).
 *
 * The kernel's records (process/switch_records.h) come from one ring per processor.  A thread moves
 * between them, so the records are put in order of time before a switch away from a processor is
 * paired with the next one to a processor.  Each pair is one item of the trace.
 *
 * Wake-ups, where the kernel lets us see them, divide a wait: blocked until the wake-up, then
 * ready.
 *
 * Cost
 *   Nothing in the program but the kernel's record, below a microsecond per switch.
 */
#ifndef COLLECT_SWITCH_RECORDER_H
#define COLLECT_SWITCH_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/u64map.h"
#include "collect/coro_cpu.h"
#include "collect/wake_socket.h"
#include "process/switch_records.h"
#include "trace/trace_writer.h"

struct switch_recorder {
	struct switch_records records;
	const struct endpoint *endpoint;
	struct trace_writer *writer;
	bool is_open;
	uint32_t pid;     /* the program */
	uint64_t read_ns; /* time of the last reading */
	uint64_t next_ns; /* time of the next reading */
	struct switch_record *batch;
	size_t nr, room;
	uint64_t nr_short; /* records without room in the batch: they are lost */
	struct u64map
		outs; /* tid to (time << 1 | preempted) of its switch away; 0: on a processor */
	struct u64map pids;  /* of threads of other processes than the program */
	struct u64map wakes; /* tid to the time at which it was woken, since then or just before */
	uint64_t nr_written, nr_lost;
	uint64_t start_ns;
	struct coro_cpu cpu; /* sums per coroutine */
};

/* Before the program is started. */
int switch_recorder_open_child(struct switch_recorder *s, struct err *err);

int switch_recorder_open_process(struct switch_recorder *s, pid_t pid, struct err *err);

/* @pid: of the program.  Recording begins in the trace. */
void switch_recorder_begin(struct switch_recorder *s, uint32_t pid, const struct endpoint *endpoint,
			   struct trace_writer *writer);

/* At @now_ns: read what there is, if it is time. */
void switch_recorder_look(struct switch_recorder *s, uint64_t now_ns);

/* Time until the next reading is due, at most @ns. */
uint64_t switch_recorder_wait(const struct switch_recorder *s, uint64_t now_ns, uint64_t ns);

/* The run ended at @end_ns: write what is left, and the threads that still wait. */
void switch_recorder_finish(struct switch_recorder *s, uint64_t end_ns);

void switch_recorder_close(struct switch_recorder *s);

#endif
