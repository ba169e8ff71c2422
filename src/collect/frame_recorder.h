/* SPDX-License-Identifier: MIT */
/*
 * frame_recorder.h - write the frames of the program to the trace (`run --frames`).
 *
 *	frame_recorder_open()	before the program runs, or of a running one: attach its buffers
 *	frame_recorder_begin()	the trace is open
 *	frame_recorder_look()	read frames; write those whose coroutine is known by now
 *	frame_recorder_stop()	the program has ended, or goes on without: read the rest
 *	frame_recorder_finish()	all lanes are read: write the rest
 *
 * Each frame has a stamp of the generated code, the thread and the cycle counter that lanes use,
 * too.  So a frame and the events of its thread are in one order, and the coroutine follows from
 * the events before it (frame_owners.h).  A frame waits until these are read.  Programs whose code
 * writes no stamps: the time is that of reading, and there is neither thread nor coroutine.
 */
#ifndef COLLECT_FRAME_RECORDER_H
#define COLLECT_FRAME_RECORDER_H

#include "base/bytes.h"
#include "collect/frame_owners.h"
#include "collect/tickclock.h"
#include "frames/live/attach_session.h"
#include "trace/trace_writer.h"

struct frame_request {
	bool is_wanted;
	const char *buffers; /* names, separated by commas; NULL: all */
	struct counters counters;
	void (*say)(const char *text); /* a message about a buffer; may be NULL */
};

struct frame_totals {
	uint64_t written;      /* frames in the trace */
	uint64_t in_coroutine; /* of these: with a coroutine */
	uint64_t issued;       /* saved by the program */
	uint64_t lost;
	uint64_t dropped; /* of the lost ones: by the program itself */
	uint64_t buffers; /* attached */
	uint64_t silent;  /* of these: without any frame */
	uint64_t late;    /* frames without a stamp */
	uint64_t failed;  /* buffers that could not be read until the end */
};

struct frame_recorder {
	const struct frame_request *request;
	bool is_open;
	pid_t pid;
	struct frame_buffer *buffers;
	size_t nr;
	struct frame_pending *pending; /* read, and not written */
	size_t nr_pending, room;
	struct bytes images; /* of the pending frames */
	char *line;          /* fields of a frame, as JSON */
	size_t line_room;
	struct frame_owners *owners;
	struct tickclock *clock;
	struct trace_writer *writer;
	uint64_t next_ns;    /* time of the next poll */
	uint64_t settled_ns; /* time of the last poll that left no complete frame */
	uint64_t looked_ns;  /* time of the last poll */
	uint64_t ordered_ns; /* frames up to this time are read, in all buffers */
	uint64_t slack_ns;   /* error of a stamp relative to the events of its thread */
	struct frame_totals totals;
};

/* Attach the buffers of @pid.  Fails if it has none, or not those that are wanted. */
int frame_recorder_open(struct frame_recorder *r, const struct frame_request *request, pid_t pid,
			const struct tickclock *clock, struct err *err);

void frame_recorder_begin(struct frame_recorder *r, struct frame_owners *owners,
			  struct tickclock *clock, struct trace_writer *writer);

/*
 * At @now_ns, after a scan of the lanes: all events before @seen_ns are read; UINT64_MAX: there
 * are no lanes.
 */
void frame_recorder_look(struct frame_recorder *r, uint64_t now_ns, uint64_t seen_ns);

/* Time until the next poll is due, at most @ns. */
uint64_t frame_recorder_wait(const struct frame_recorder *r, uint64_t now_ns, uint64_t ns);

void frame_recorder_stop(struct frame_recorder *r);
void frame_recorder_finish(struct frame_recorder *r);
void frame_recorder_close(struct frame_recorder *r);

#endif
