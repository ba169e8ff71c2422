/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - convert the items of a trace to the elements of a timeline viewer.
 *
 * Tracks, slices on them, instants, flows and counters, for any viewer that supports these:
 *
 *	process      one per process; the end of the run and missing parts are shown here
 *	thread       what ran on it: a slice per turn of a coroutine, wakes as instants
 *	group        coroutines of one kind (created at one site, or with similar names), by process
 *	coroutine    its lifetime as a slice, with its states in it: new, running, suspended
 *	             (with site, reason and resource), ready (woken, not yet running), ended;
 *	             birth, end and destroy as instants
 *	counter      alive, running, suspended, per process
 *	lost         where events of a thread are missing
 *	away         when a thread had no processor, with run --cpu: blocked or preempted
 *
 * A frame of run --frames is an instant on the track of its coroutine, or of its thread.
 *
 * A flow leads from a wake to the turn that it caused.
 *
 * Times are those of the trace.  Slices that have not ended at the end of the trace stay open:
 * viewers draw them to the end and mark them.
 *
 * Memory is per live coroutine, per thread, per site and per group, and per frame.
 */
#ifndef EXPORT_TIMELINE_H
#define EXPORT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cell.h"
#include "base/strtab.h"
#include "base/u64map.h"
#include "export/window.h"
#include "trace/coro_table.h"
#include "trace/item.h"

/* Minimum interval between two values of a counter; a value may be late by this time. */
#define TIMELINE_COUNTER_NS 20000
/* Coroutines of a group that have a row of their own; later ones share rows, */
#define TIMELINE_OWN_ROWS 100
/* in subgroups of this size. */
#define TIMELINE_BUCKET 1000
/* Maximum nesting of turns on one thread; viewers have limits, too. */
#define TIMELINE_DEPTH 64
/* Maximum number of nested turns that are cut in two when the outer turn ends. */
#define TIMELINE_CUTS      4
#define TIMELINE_GROUPS    4096
#define TIMELINE_PROCESSES 256
#define TIMELINE_NAME_MAX  200 /* bytes of the name of a coroutine that are shown */

/* ---- what the view is given ---------------------------------------------- */

enum timeline_track_type {
	TRACK_PROCESS,
	TRACK_THREAD,
	TRACK_GROUP,
	TRACK_COROUTINE,
	TRACK_COROUTINE_PACKED, /* may share a row with its siblings */
	TRACK_COUNTER,
	TRACK_LOST,
	TRACK_AWAY,
	/* Of a recording, see frames_timeline.h. */
	TRACK_FRAMES,
	TRACK_FRAME_ROW,
	TRACK_FRAME_COUNTER,
};

struct timeline_track {
	uint64_t id;     /* from 1, unique */
	uint64_t parent; /* 0: none */
	enum timeline_track_type type;
	unsigned rank; /* position among its siblings */
	uint32_t pid;  /* 0: not known */
	uint64_t tid;
	const char *name; /* NULL: not known yet; sent later with the same id */
	uint64_t last_ts; /* of the last element on it */
};

enum timeline_word {
	WORD_RUNNING,
	WORD_READY,
	WORD_NEW,
	WORD_ENDED,
	WORD_BIRTH,
	WORD_END,
	WORD_DESTROY,
	WORD_WAKE,
	WORD_CLOSE,
	WORD_ACQUIRE,
	WORD_RELEASE,
	WORD_LOST,
	WORD_GARBAGE,
	WORD_RUN_ENDS,
	WORD_TRACE_ENDS,
	WORD_TWICE,
	WORD_AFTER_END,
	WORD_BLOCKED,
	WORD_PREEMPTED,
	WORD_SWITCHES_LOST,
	WORD_FRAMES_LOST,
	WORD_SUSPENDED, /* and one per reason */
	NR_TIMELINE_WORDS = WORD_SUSPENDED + NR_TRACE_REASONS,
};

const char *timeline_word_name(enum timeline_word word);

/* A text that is used often: a word (timeline_word_name()), or the name of a coroutine. */
struct timeline_name {
	uint64_t id; /* from 1; for a word its number + 1 */
	const char *text;
	bool told; /* owned by the view, false at first */
};

enum timeline_category {
	CATEGORY_LIFE,
	CATEGORY_RUNNING,
	CATEGORY_SUSPENDED,
	CATEGORY_READY,
	CATEGORY_WAKE,
	CATEGORY_RESOURCE,
	CATEGORY_TRACE,
	CATEGORY_PROCESSOR,
	CATEGORY_FRAME,
	NR_TIMELINE_CATEGORIES,
};

const char *timeline_category_name(enum timeline_category category);

enum timeline_key {
	KEY_COROUTINE,
	KEY_COROUTINE_NAME,
	KEY_THREAD,
	KEY_STATION,
	KEY_PARENT,
	KEY_WAKER,
	KEY_WAKER_NAME,
	KEY_SOURCE,
	KEY_REASON,
	KEY_RESOURCE,
	KEY_ADDRESS,
	KEY_SINCE,
	KEY_TRANSITIONS,
	KEY_COLLECTED,
	KEY_LOST,
	KEY_GARBAGE,
	KEY_OTHERS,
	KEY_OTHERS_LOST,
	KEY_FORGOTTEN,
	KEY_COROUTINES,
	KEY_EXIT_STATUS,
	KEY_SIGNAL,
	KEY_LINES,
	KEY_PACKETS,
	KEY_LATE,
	KEY_IMPOSSIBLE,
	KEY_TOO_DEEP,
	KEY_NAME_CUT,
	KEY_NO_BIRTH,
	KEY_NOT_IN_TRACE,
	KEY_CANCELLED,
	KEY_WAS_SUSPENDED,
	KEY_DESTROYED,
	KEY_TIME_UNKNOWN,
	KEY_INCOMPLETE,
	KEY_PROCESSOR,
	KEY_BUFFER,
	KEY_TICKET,
	KEY_FIELDS,
	NR_TIMELINE_KEYS,
};

const char *timeline_key_name(enum timeline_key key);

enum timeline_arg_type { ARG_NUMBER, ARG_SIGNED, ARG_POINTER, ARG_TEXT, ARG_TRUE };

struct timeline_arg {
	enum timeline_key key;
	enum timeline_arg_type type;
	uint64_t number;
	const char *text;
};

#define TIMELINE_ARGS_MAX 16

struct frame_mark;
struct timeline_frames;

/* A field of a frame in a trace; they are one more argument, KEY_FIELDS. */
struct timeline_field {
	const char *key;
	struct cell value;
};

/* A slice that begins, or an instant. */
struct timeline_mark {
	struct timeline_name *name;
	enum timeline_category category;
	uint64_t flow; /* 0: none */
	bool flow_ends;
	uint32_t site;                  /* known to timeline_site(); 0: none */
	const struct frame_mark *frame; /* of a recording: instead of category and args */
	const struct timeline_field *fields;
	unsigned nr_args, nr_fields;
	struct timeline_arg args[TIMELINE_ARGS_MAX];
};

/*
 * The output of a timeline.  Times increase on each track, not across tracks.  A view records
 * its own failures.
 */
struct timeline_view {
	void (*run)(struct timeline_view *v, const struct sidecar_run *run);
	void (*site)(struct timeline_view *v, const struct trace_site *site);
	void (*track)(struct timeline_view *v, const struct timeline_track *t);
	void (*begin)(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
		      const struct timeline_mark *m);
	/* @name is the name of the slice, which is the innermost open slice of the track. */
	void (*end)(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
		    const struct timeline_name *name);
	void (*instant)(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			const struct timeline_mark *m);
	void (*counter)(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			const struct cell *value);
};

/* ---- what is kept --------------------------------------------------------- */

enum timeline_counter { COUNT_ALIVE, COUNT_RUNNING, COUNT_SUSPENDED, NR_TIMELINE_COUNTERS };

struct timeline_counter_state {
	struct timeline_track track;
	uint64_t value, told_value;
	uint64_t told_ts, changed_ts;
	bool is_told;
};

struct timeline_process {
	struct timeline_track track;
	struct timeline_counter_state counters[NR_TIMELINE_COUNTERS];
	char *name;
};

struct timeline_thread {
	struct timeline_track track;
	struct timeline_track lost; /* id 0: nothing was lost so far */
	uint64_t lost_to;
	struct timeline_track away; /* id 0: it always had a processor so far */
	unsigned nr_turns;
	uint32_t turns[TIMELINE_DEPTH]; /* slots of the coroutines that run on it */
	char name[32], lost_name[48], away_name[64];
};

struct timeline_group {
	struct timeline_track track, bucket;
	uint64_t nr; /* coroutines in it since the start */
	char *name;
};

struct timeline_coro {
	struct coro_state life; /* state UNKNOWN: no state slice is open */
	struct timeline_track track;
	struct timeline_name name;
	char *text;      /* of the name */
	char *label;     /* of the track, if it was set later; NULL: the same */
	uint64_t early;  /* flow of a wake that came while it ran */
	uint64_t woken;  /* flow of the first wake of this suspension */
	uint64_t thread; /* number of the thread it runs on */
	uint32_t process;
	uint8_t word; /* enum timeline_word: the name of that slice */
	bool is_ready, has_turn;
};

struct timeline {
	struct timeline_view *view; /* set by the owner */
	struct window window;
	struct timeline_name words[NR_TIMELINE_WORDS];
	struct coro_table coros; /* entries: struct timeline_coro */

	struct timeline_process *processes;
	size_t nr_processes;
	struct u64map process_numbers; /* pid to 1 + number */
	struct timeline_thread *threads;
	size_t nr_threads, threads_room;
	struct u64map thread_numbers; /* tid to 1 + number */
	struct timeline_group *groups;
	size_t nr_groups;
	struct u64map group_numbers;
	struct strtab kinds;  /* names without their numbers */
	struct strtab places; /* "file:line function" */
	struct u64map sites;  /* id to 1 + the number in places */

	struct timeline_frames *frames; /* of the trace; NULL: none */
	uint64_t run_pid;
	char *program; /* of the run: last path component of its first word */
	uint64_t next_track, next_name, next_flow;
	uint64_t first_ts, last_ts;
	bool is_begun, has_totals;

	/* For the summary. */
	uint64_t events, tracks, flows;
	uint64_t unknown_wakes; /* target unknown */
	uint64_t missteps;      /* transitions that do not follow from the previous one */
	uint64_t impossible;    /* events with an invalid time */
	uint64_t too_deep;      /* turns that are not drawn on their thread, or not to their end */
	uint64_t lost, garbage;
	uint64_t frames_drawn;
};

/* Corrupt parts of the trace, from its reader. */
struct timeline_damage {
	uint64_t lines, packets;
};

/* Returns 0 or -ENOMEM.  The items come in the order of trace/trace_reader.h. */
int timeline_add(struct timeline *tl, const struct trace_item *item);

/* After the last item.  @damage may be NULL. */
int timeline_finish(struct timeline *tl, const struct timeline_damage *damage);

/* "container_file.c:12 function"; NULL: not reported. */
const char *timeline_site(const struct timeline *tl, uint32_t site);

void timeline_release(struct timeline *tl);

#endif
