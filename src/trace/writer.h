/* SPDX-License-Identifier: MIT */
/*
 * writer.h - a trace being written, in whichever format.
 *
 * Two formats behind one interface
 *   jsonl   transitions as lines that every cTP tool reads, all else in the sidecar
 *           beside it (FILE.meta)
 *   ctf     a directory that babeltrace2 and Trace Compass read, everything inside
 *
 * Lanes
 *   Events arrive by lane: one thread's, in order of time.  A lane is told before its
 *   first event, and again when another thread has taken it over.  Where the format is
 *   one stream (wants_order), whoever calls merges the lanes by time first.
 *
 * What fails
 *   Nothing here fails while it goes on: the first write that fails ends the writing,
 *   what is in the trace stays readable, and from then on events are counted as
 *   unwritten.  trace_writer_close() says why.  The totals get in all the same, where
 *   the file system overwrites in place.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/item.h"

enum trace_format { TRACE_FORMAT_AUTO, TRACE_FORMAT_JSONL, TRACE_FORMAT_CTF };

struct trace_lane {
	uint32_t number; /* below TRACE_LANES_MAX, or TRACE_LANE_STATIONS */
	uint32_t pid;
	uint64_t tid;
};

#define TRACE_LANES_MAX (UINT32_C(1) << 20)

/* Their sums are the events that were put: after the totals, or a flush with nothing held. */
struct trace_counts {
	uint64_t written, unwritten; /* transitions */
	uint64_t others_written, others_unwritten;
	/* Events earlier than one before them in their lane: their time is that one's now. */
	uint64_t clamped;
};

/* One write to the trace's files: see struct trace_saver. */
struct trace_save {
	/* Whose events it has; TRACE_SAVE_ALL: all that were put. */
	uint32_t lane;
	uint64_t trace_size;   /* of the file (ctf: of the lane's stream) once it is written */
	uint64_t sidecar_size; /* likewise */
	uint64_t transitions;  /* in the trace then */
	uint64_t others;
};

#define TRACE_SAVE_ALL UINT32_MAX

/*
 * Told about every write that has events of lanes in it: begin() before it, end() after it.  No
 * event is put between the two.  An event that is being put when begin() is called is not in it.
 */
struct trace_saver {
	void (*begin)(void *ctx, const struct trace_save *save);
	void (*end)(void *ctx, bool complete);
	void *ctx;
};

struct trace_writer;

struct trace_writer_ops {
	void (*lane)(struct trace_writer *w, const struct trace_lane *lane);
	void (*event)(struct trace_writer *w, uint32_t lane, const struct trace_event *ev);
	void (*horizon)(struct trace_writer *w, uint64_t ts);
	void (*fact)(struct trace_writer *w, const struct trace_item *fact);
	void (*flush)(struct trace_writer *w);
	void (*counts)(const struct trace_writer *w, struct trace_counts *counts);
	/* @trace: why events are missing; @facts: why something else is (the sidecar). */
	void (*close)(struct trace_writer *w, struct trace_counts *counts, struct err *trace,
		      struct err *facts);
};

/* The head of every format's own. */
struct trace_writer {
	const struct trace_writer_ops *ops;
	bool wants_order;                /* events of all lanes in one order of time */
	const struct trace_saver *saver; /* NULL: nobody wants to know */
};

/* "trace.ctf" and "dir/" ask for ctf, all else for jsonl. */
enum trace_format trace_format_of(const char *path);

struct trace_output {
	const char *path;
	enum trace_format format;
	/*
	 * jsonl: the file, which is the writer's from now on, also on failure.  ctf: the
	 * directory, empty; stays the caller's.
	 */
	int fd;
	bool has_sidecar; /* jsonl: also write PATH.meta; without, only transitions have a place */
	bool (*stop)(void); /* jsonl: see jsonl_writer.h */
	/* ctf: for whoever reads the trace elsewhere.  trace_put_run() tells the same, and more. */
	struct sidecar_run run;
};

/* NULL and words if it cannot be. */
struct trace_writer *trace_writer_open(const struct trace_output *output, struct err *err);

/*
 * Everything out; frees @w.  @trace says why events are missing, @facts why something
 * else is; code 0: nothing.  @counts are the last.
 */
void trace_writer_close(struct trace_writer *w, struct trace_counts *counts, struct err *trace,
			struct err *facts);

static inline void trace_put_lane(struct trace_writer *w, const struct trace_lane *lane)
{
	w->ops->lane(w, lane);
}

static inline void trace_put_event(struct trace_writer *w, uint32_t lane,
				   const struct trace_event *ev)
{
	w->ops->event(w, lane, ev);
}

/*
 * Events of stations come in order of time only within a station, and those of lanes within a
 * lane.  No event of any of them from before @ts will come any more: say so once a scan, with the
 * time at which it began.  Without this they wait for the flush.
 */
static inline void trace_put_horizon(struct trace_writer *w, uint64_t ts)
{
	w->ops->horizon(w, ts);
}

/* First, once. */
void trace_put_run(struct trace_writer *w, const struct sidecar_run *run);

/* So many transitions and other events of a lane are missing here, between these times. */
void trace_put_gap(struct trace_writer *w, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		   uint64_t transitions, uint64_t others);

void trace_put_site(struct trace_writer *w, const struct trace_site *site);
void trace_put_process(struct trace_writer *w, const struct sidecar_process *process);
void trace_put_module(struct trace_writer *w, const struct sidecar_module *module);
/* A coroutine that stood in a station, or one that was still there at the end of the run. */
void trace_put_coroutine(struct trace_writer *w, const struct sidecar_coroutine *coroutine);
/* Last, once: they go out at once, and everything before them. */
void trace_put_totals(struct trace_writer *w, const struct sidecar_totals *totals);

/*
 * Everything so far out to the files, whole: others may be reading.  Events of stations
 * from behind the horizon wait.
 */
static inline void trace_flush(struct trace_writer *w)
{
	w->ops->flush(w);
}

static inline void trace_writer_counts(const struct trace_writer *w, struct trace_counts *counts)
{
	w->ops->counts(w, counts);
}

#endif
