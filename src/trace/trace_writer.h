/* SPDX-License-Identifier: MIT */
/*
 * trace_writer.h - write a trace in any format.
 *
 * Three formats behind one interface
 *   jsonl   transitions as lines that every cTP tool reads, everything else in the sidecar
 *           (FILE.meta)
 *   ctf     a directory that babeltrace2 and Trace Compass read, everything inside
 *   ct      one file, compressed and indexed (compact.h)
 *
 * Lanes
 *   Events arrive by lane: the events of one thread, in order of time.  A lane is announced
 *   before its first event, and again when another thread has taken it over.  Where the
 *   format is one stream (wants_order), the caller merges the lanes by time first.
 *
 * Failures
 *   No function fails during the run: the first write that fails ends the writing, the
 *   trace stays readable, and later events are counted as unwritten.
 *   trace_writer_close() reports the cause.  The totals are still written if the file system
 *   overwrites in place.
 */
#ifndef TRACE_TRACE_WRITER_H
#define TRACE_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/item.h"

enum trace_format { TRACE_FORMAT_AUTO, TRACE_FORMAT_JSONL, TRACE_FORMAT_CTF, TRACE_FORMAT_CT };

struct trace_lane {
	uint32_t number; /* below TRACE_LANES_MAX, or TRACE_LANE_STATIONS */
	uint32_t pid;
	uint64_t tid;
};

#define TRACE_LANES_MAX (UINT32_C(1) << 20)

/*
 * The sums equal the events that were put, after the totals or after a flush with no event held
 * back.
 */
struct trace_counts {
	uint64_t written, unwritten; /* transitions */
	uint64_t others_written, others_unwritten;
	/* Events earlier than a previous one of their lane: they got the time of that one. */
	uint64_t clamped;
};

/* One write to the files of the trace: see struct trace_saver. */
struct trace_save {
	/* The lane whose events are written; TRACE_SAVE_ALL: all events that were put. */
	uint32_t lane;
	uint64_t trace_size;   /* of the file (ctf: of the stream of the lane) after the write */
	uint64_t sidecar_size; /* the same for the sidecar */
	uint64_t transitions;  /* in the trace after the write */
	uint64_t others;
};

#define TRACE_SAVE_ALL UINT32_MAX

/*
 * Callbacks around every write that contains events of lanes: begin() before it, end() after
 * it.  No event is put between the two.  An event that is being put when begin() is called is
 * not part of the write.
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
	/* @trace: why events are missing; @facts: why other data (the sidecar) is missing. */
	void (*close)(struct trace_writer *w, struct trace_counts *counts, struct err *trace,
		      struct err *facts);
};

/* First member of the writer of every format. */
struct trace_writer {
	const struct trace_writer_ops *ops;
	bool wants_order;                /* events of all lanes must come in one order of time */
	const struct trace_saver *saver; /* may be NULL */
	uint64_t flush_ns;               /* flushes closer together make the trace larger */
};

/* "trace.ctf" and "dir/" select ctf, "trace.ct" ct, all other paths jsonl. */
enum trace_format trace_format_of(const char *path);

/* "jsonl", "ctf" or "ct". */
const char *trace_format_name(enum trace_format format);

struct trace_output {
	const char *path;
	enum trace_format format;
	/*
	 * jsonl, ct: the file; the writer owns it, also on failure.  ctf: the directory, empty; the
	 * caller keeps it.
	 */
	int fd;
	bool has_sidecar; /* jsonl: also write PATH.meta; without it only transitions are stored */
	bool (*stop)(unsigned waited_ms); /* jsonl, ct: see jsonl_writer.h */
	/*
	 * ctf: for the metadata, which other tools read.  trace_put_run() gets the same data
	 * and more.
	 */
	struct sidecar_run run;
};

/* Returns NULL and sets @err on failure. */
struct trace_writer *trace_writer_open(const struct trace_output *output, struct err *err);

/*
 * Writes everything out and frees @w.  @trace says why events are missing, @facts why other
 * data is; code 0: nothing is missing.  @counts are final.
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
 * Events of stations come in order of time only within a station, and events of lanes within a
 * lane.  The caller promises that no event from before @ts follows.  Called once per poll with
 * the start time of the poll.  Without a horizon the events are held back until the flush.
 */
static inline void trace_put_horizon(struct trace_writer *w, uint64_t ts)
{
	w->ops->horizon(w, ts);
}

/* The first call, once. */
void trace_put_run(struct trace_writer *w, const struct sidecar_run *run);

/* @transitions and @others events of the lane are missing between the two times. */
void trace_put_gap(struct trace_writer *w, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		   uint64_t transitions, uint64_t others);

void trace_put_site(struct trace_writer *w, const struct trace_site *site);
void trace_put_process(struct trace_writer *w, const struct sidecar_process *process);
void trace_put_module(struct trace_writer *w, const struct sidecar_module *module);
void trace_put_cpu(struct trace_writer *w, const struct trace_cpu *cpu);
void trace_put_descriptor(struct trace_writer *w, const struct trace_descriptor *descriptor);
void trace_put_switch(struct trace_writer *w, const struct trace_switch *switched);
void trace_put_frame(struct trace_writer *w, const struct trace_frame *frame);
void trace_put_waiting(struct trace_writer *w, const struct trace_waiting *waiting);
void trace_put_part(struct trace_writer *w, const struct trace_part *part);
void trace_put_memory(struct trace_writer *w, const struct trace_memory *memory);
/* A coroutine that used a station, or that still existed at the end of the run. */
void trace_put_coroutine(struct trace_writer *w, const struct sidecar_coroutine *coroutine);
/* The last call, once: writes the totals and everything before them immediately. */
void trace_put_totals(struct trace_writer *w, const struct sidecar_totals *totals);

/*
 * Writes everything so far to the files, in whole units, because the files may be read
 * meanwhile.  Events of stations that are not before the horizon are held back.
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
