/* SPDX-License-Identifier: MIT */
/*
 * item.h - the items of a trace: events, and facts about the run.
 *
 * The items are the same in every format.  Strings belong to the creator of the item.
 */
#ifndef TRACE_ITEM_H
#define TRACE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/trace_site.h"

/* The lane of events that came from stations, not from the lane of a thread. */
#define TRACE_LANE_STATIONS UINT32_MAX

/* A longer name is cut and flagged (TRACE_NAME_CUT, name_truncated). */
#define TRACE_NAME_MAX 4096

/* State of a coroutine. */
enum trace_state {
	TRACE_STATE_UNKNOWN,
	TRACE_STATE_NEW,   /* created, has not run */
	TRACE_STATE_READY, /* woken, has not run since */
	TRACE_STATE_RUNNING,
	TRACE_STATE_SUSPENDED,
	TRACE_STATE_ENDED, /* and not destroyed */
	NR_TRACE_STATES,
};

/*
 * "suspended"; NULL for an unknown value and for TRACE_STATE_UNKNOWN.  And back: 0 for an
 * unknown name.
 */
const char *trace_state_name(unsigned state);
uint8_t trace_state_from_name(const char *name);

struct sidecar_run {
	uint64_t format;  /* set by the writer */
	const char *tool; /* "corotracer 0.1.0" */
	const char *const *command;
	size_t nr_command;
	uint64_t pid;
	uint64_t start_ts;       /* CLOCK_MONOTONIC ns */
	uint64_t start_realtime; /* ns since 1970 */
	const char *hostname;    /* may be NULL */
	const char *arch;        /* "x86_64" */
	uint64_t stations;
};

struct sidecar_process {
	uint64_t pid;
	uint64_t uid;
	uint64_t connected_ts;
	uint64_t part; /* of a merged trace: number of the part; 0: not merged */
};

/* A file that a process had mapped with code in it, from its first mapping to its last. */
struct sidecar_module {
	uint64_t pid;
	uint64_t start, end;
	uint64_t offset;      /* of start in the file */
	const char *path;     /* as the process sees it */
	const char *build_id; /* in hexadecimal; NULL: the file has none, or it could not be read */
};

/*
 * A coroutine that used a station, or that still existed at the end of the run.  The state, its
 * time, and for a suspension its cause are set if they are known.
 */
struct sidecar_coroutine {
	uint64_t station; /* TRACE_NO_STATION: none */
	uint64_t probe_id;
	uint64_t pid;
	const char *name; /* NULL: it has none */
	bool name_truncated;
	uint64_t birth_ts;
	uint64_t death_ts; /* 0: not known */
	bool dead;
	const char *writer; /* "corotracer", "seed-002", "seed-000" or "unknown" */
	uint64_t written;
	uint64_t collected;
	uint64_t lost;
	uint64_t garbage;
	uint8_t state;     /* enum trace_state */
	uint8_t reason;    /* enum trace_reason, of a suspension */
	bool has_resource; /* resource is set; it may be 0 */
	uint32_t site;     /* where it is suspended; 0: not reported */
	uint32_t birth_site;
	uint64_t since_ts; /* begin of its state */
	uint64_t resource;
	uint64_t addr;   /* where it is suspended, as in a transition */
	uint64_t parent; /* 0: none, or not reported */
	/* For a row of a table, which sums up a coroutine; no file has them. */
	uint64_t end_ts; /* of its end event; 0: not known */
	bool is_counted; /* written and lost are known */
};

struct sidecar_totals {
	bool complete; /* the collector read everything that was written */
	uint64_t written;
	uint64_t collected;
	uint64_t lost;
	uint64_t lost_overwritten;
	uint64_t lost_output;
	uint64_t garbage;
	uint64_t unfinished;
	uint64_t coroutines;
	uint64_t without_station;
	int exit_status; /* -1: the program did not exit; TRACE_EXIT_DETACHED: it still ran */
	int signal;      /* 0: not killed by a signal */
	uint64_t end_ts;
	uint64_t lost_full; /* transitions that found no room in their lane */
	/*
	 * Births, wakes, ends, destroys: counted apart, so that the sums of the transitions
	 * hold.
	 */
	uint64_t others_written;
	uint64_t others_collected;
	uint64_t others_lost;
	/* A flight recorder keeps the newest events: collected events that it overwrote. */
	uint64_t forgotten;
	uint64_t others_forgotten;
	bool detached;    /* as TRACE_EXIT_DETACHED, in JSON lines */
	uint64_t waits;   /* times that a writer waited for room, if it is set to wait */
	uint64_t wait_ns; /* total time of these waits */
};

/* exit_status of a run that ended with a detach. */
#define TRACE_EXIT_DETACHED (-2)

/* True if the program still ran at the end of the trace, and was detached. */
static inline bool totals_detached(const struct sidecar_totals *t)
{
	return t->detached || t->exit_status == TRACE_EXIT_DETACHED;
}

/* Events of a lane that are missing between these times. */
struct trace_gap {
	uint32_t lane; /* TRACE_LANE_STATIONS: of the stations */
	uint32_t pid;
	uint64_t tid;
	uint64_t from_ts, to_ts;
	uint64_t transitions; /* lost */
	uint64_t others;      /* lost creations, wakes, ends, destroys */
};

/*
 * What the kernel says of a thread between two times in which it ran one coroutine, or of all
 * threads of a process (tid 0).  The rest of the interval that is neither cpu_ns nor queued_ns is
 * time in @state.
 */
struct trace_cpu {
	uint64_t pid, tid;
	uint64_t from_ts, to_ts;
	uint64_t cpu_ns;    /* time on a processor */
	uint64_t queued_ns; /* time ready to run, without a processor */
	const char *state;  /* TRACE_CPU_* */
	const char *call;   /* blocked: name of the system call; NULL: not known */
};

#define TRACE_CPU_RUNNING "running"
#define TRACE_CPU_BLOCKED "blocked" /* in a system call */
#define TRACE_CPU_PAGE    "page"    /* waits for memory, outside of system calls */
#define TRACE_CPU_STOPPED "stopped" /* by a signal or a debugger */
#define TRACE_CPU_TRACER  "tracer"  /* waits for room in its lane (--on-full block) */

/*
 * A thread without a processor, from one context switch to the next (`run --cpu`).  Three states
 * are about all threads, with tid 0: "recorded" says that switches are recorded from to_ts on,
 * "wakes" that wake-ups are, too, "lost" that records between the two times are missing.
 */
struct trace_switch {
	uint64_t pid, tid;
	uint64_t from_ts, to_ts;
	uint64_t cpu;      /* the processor that it got at to_ts; "lost": whose records are lost */
	uint64_t lost;     /* "lost": number of records */
	const char *state; /* TRACE_SWITCH_* */
};

#define TRACE_SWITCH_BLOCKED   "blocked"   /* it waited */
#define TRACE_SWITCH_PREEMPTED "preempted" /* it was ready, and other threads ran */
#define TRACE_SWITCH_READY     "ready"     /* the rest of a wait, after it was woken */
#define TRACE_SWITCH_RECORDED  "recorded"
#define TRACE_SWITCH_WAKES     "wakes" /* from to_ts on, the end of "blocked" is the wake-up */
#define TRACE_SWITCH_LOST      "lost"

/*
 * A coroutine waits for a descriptor that is ready: the collector looked twice, at both times with
 * all threads of the process asleep and the coroutine in the same wait.  With probe_id 0: every
 * coroutine of the process that waited for a descriptor for long was looked at, at these times;
 * those without an item of their own wait for one that was not ready.
 */
struct trace_descriptor {
	uint64_t pid, probe_id;
	uint64_t fd;
	uint64_t from_ts, to_ts; /* the first and the last look */
	uint64_t unread;         /* bytes, or the count of an eventfd or timerfd; 0: unknown */
	const char *kind;        /* "socket", "pipe", ...; NULL: of no descriptor */
	const char *ready;       /* TRACE_DESCRIPTOR_*; NULL: likewise */
	const char *watch;       /* how epoll watches it, TRACE_WATCH_*; NULL: not known */
};

#define TRACE_DESCRIPTOR_AGE_NS 300000000u /* shorter waits are not looked at */

#define TRACE_DESCRIPTOR_READ   "read"  /* a read, or an accept, would not block */
#define TRACE_DESCRIPTOR_WRITE  "write" /* a write would not block */
#define TRACE_DESCRIPTOR_ERROR  "error" /* an error, or the other side has closed it */

#define TRACE_WATCH_NONE        "none"     /* no epoll set has it */
#define TRACE_WATCH_LEVEL       "level"    /* for what the coroutine waits for */
#define TRACE_WATCH_EDGE        "edge"     /* likewise, edge-triggered */
#define TRACE_WATCH_DISARMED    "disarmed" /* one-shot, and its event was delivered */
#define TRACE_WATCH_OTHER       "other"    /* not for what the coroutine waits for */

/*
 * Coroutines that existed when a running program was attached, with one stack of awaits, as they
 * were found in the memory of the program.
 */
struct trace_waiting {
	uint64_t pid;
	uint64_t ts;      /* when they were found */
	uint64_t count;   /* suspended then */
	bool is_checked;  /* unmoved is known: the program was looked at again at the end */
	uint64_t unmoved; /* of these: have not run since; they have no event */
	uint64_t line;    /* of the innermost await; 0: unknown */
	const char *file; /* NULL: unknown */
	const char *function;
	const char *stack;   /* "read server.cpp:7 <- serve server.cpp:20": innermost first */
	const char *verdict; /* of `corotracer why`: "waiting", "unreachable" ... */
	const char *missing; /* what is not known of all of them, and why; count is 0 */
};

/*
 * A frame that the program saved (`run --frames`), or with type NULL: frames that are lost.  The
 * coroutine is the one that ran on the thread at that time; 0: none ran, or it is not known.
 */
struct trace_frame {
	uint64_t pid;
	uint64_t tid;      /* 0: not known */
	uint64_t ts;       /* time of the save; with is_late: when the collector read it */
	uint64_t probe_id; /* 0: none */
	uint64_t ticket;   /* number of the frame in its buffer */
	uint64_t lost;     /* number of frames, if type is NULL */
	bool is_late;      /* the time of the save is not known: it is before ts */
	const char *buffer;
	const char *type;
	const char *fields; /* JSON object: the values by name; null: not measured */
};

/*
 * A memory trace of the same run (`run --mem`), with its file.  Or with file NULL: a stamp, what
 * one thread did in it from one change of coroutine to the next; the times are those of the memory
 * trace.
 */
struct trace_memory {
	uint64_t pid;
	uint64_t from_ts, to_ts;
	uint64_t accesses, writes;       /* in the memory trace; writes are accesses, too */
	uint64_t allocations, allocated; /* blocks, and their bytes */
	/* Of a stamp: */
	uint64_t tid, probe_id;
	uint64_t offset; /* of the block of the memory trace that it begins in; 0: not known */
	/* Of a file: */
	uint64_t size;        /* bytes */
	uint64_t lost;        /* accesses that are missing in it */
	const char *file;     /* beside the trace, or with its directories */
	const char *build_id; /* of the program's module, in hexadecimal; NULL: it has none */
};

/*
 * A merged trace is the parts that it was made of: the coroutines of a part have numbers in a range
 * of their own, and its processes have its number.  merge.h writes it, trace_parts.h reads it.
 */
struct trace_part {
	struct sidecar_run run;       /* of the part; the first member: schema.c has its rows */
	struct sidecar_totals totals; /* the same */
	uint64_t number;              /* from 1 */
	uint64_t ids_from, ids_to;    /* of its coroutines */
	const char *name;             /* of its file when it was merged, without the directories */
	bool has_totals;
	bool is_whole; /* its file was not damaged, and had everything that it should have */
};

enum trace_item_type {
	TRACE_ITEM_RUN,
	TRACE_ITEM_PROCESS,
	TRACE_ITEM_SITE,
	TRACE_ITEM_EVENT,
	TRACE_ITEM_GAP,
	TRACE_ITEM_COROUTINE,
	TRACE_ITEM_TOTALS,
	TRACE_ITEM_MODULE,
	TRACE_ITEM_CPU,
	TRACE_ITEM_DESCRIPTOR,
	TRACE_ITEM_SWITCH,
	TRACE_ITEM_WAITING,
	TRACE_ITEM_FRAME,
	TRACE_ITEM_PART,
	TRACE_ITEM_MEMORY,
	NR_TRACE_ITEM_TYPES,
};

/*
 * A missing member is 0, NULL or false; a missing exit_status is -1, a missing station
 * TRACE_NO_STATION.
 */
struct trace_item {
	enum trace_item_type type;
	union {
		struct sidecar_run run;
		struct sidecar_process process;
		struct sidecar_module module;
		struct trace_site site;
		struct trace_event event;
		struct trace_gap gap;
		struct sidecar_coroutine coroutine;
		struct sidecar_totals totals;
		struct trace_cpu cpu;
		struct trace_descriptor descriptor;
		struct trace_switch switched;
		struct trace_waiting waiting;
		struct trace_frame frame;
		struct trace_part part;
		struct trace_memory memory;
	};
};

/* Initializes an item of @type with every member missing. */
void trace_item_init(struct trace_item *item, enum trace_item_type type);

#endif
