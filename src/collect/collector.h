/* SPDX-License-Identifier: MIT */
/*
 * collector.h - collect from programs until they end.
 *
 * One thread, one loop: poll stations and lanes, write what they hold, then wait as long as
 * poll_interval.h says or, when there are no events, announce sleep and wait for a wake-up. However
 * the program ends, the collector drains the region before it closes the files.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/clock_watch.h"
#include "collect/frame_recorder.h"
#include "collect/lane_scan.h"
#include "collect/sdk_watch.h"
#include "collect/station_scan.h"
#include "collect/lane_memory.h"
#include "base/top_n.h"
#include "trace/trace_writer.h"

struct snapshot_result;

struct collector_config {
	uint32_t nr_stations;
	const char *shm;    /* NULL: in a private directory */
	const char *sock;   /* NULL: in a private directory */
	const char *output; /* "-": stdout */
	enum trace_format format;
	char *const *argv;    /* the program; NULL: serve until a stop signal */
	pid_t pid;            /* a running program to attach to, without argv; 0: none */
	uint64_t duration_ns; /* with pid: detach after this time; 0: when asked to */
	bool cpu;             /* record context switches */
	struct frame_request frames;
	bool wait_all;   /* also wait until every connected process has disconnected */
	bool no_inherit; /* give the program paths only, no descriptors: program_door.h */
	struct lanes_config lanes;
	uint64_t flight_size; /* size of the flight recorder, written on request; 0: none */
	const char *tool;     /* name and version for the sidecar: "corotracer 1.2.3" */
	/*
	 * Called when region and socket exist, before the program is started.  A negative errno
	 * with a message ends the run.
	 */
	int (*ready)(const char *shm, const char *sock, uint32_t nr_stations, struct err *err);
	/* The program was started. */
	void (*started)(void);
	/* The trace uses standard output; the program's output goes to standard error. */
	void (*stdout_moved)(void);
	/* The running program has attached, or (@is_idle) has had no event yet. */
	void (*attached)(pid_t pid, bool is_idle);
	/* A process has connected. */
	void (*connected)(pid_t pid);
	/*
	 * Where a coroutine waits that has not said it, if that is known otherwise: file, line and
	 * function are in @site.
	 */
	bool (*await_of)(const struct sidecar_coroutine *coroutine, struct trace_site *site);
	/*
	 * Called at the end of a run that is written without a flight recorder, when all events
	 * were read and the region still exists: adds facts to the trace.  @pid: the program.
	 * @is_running: it was attached, and still runs.  @has_attached: it has had an event.
	 */
	void (*add_facts)(struct trace_writer *writer, pid_t pid, bool is_running,
			  bool has_attached);
	/*
	 * The program has ended, and events are left: @done of @all are read.  Called now and then,
	 * and with 0 and 0 at the end.
	 */
	void (*draining)(uint64_t done, uint64_t all);
	/* Called when a snapshot that a signal requested was written or has failed. */
	void (*snapshot_taken)(const struct snapshot_result *result);
	/* Called when any snapshot was written to @path, also the last one. */
	void (*snapshot_written)(const char *path);
};

struct collector_result {
	struct harvest_totals totals; /* stations and lanes */
	struct drain_totals lanes;    /* the lanes' part of the totals */
	struct err no_lanes;          /* why no lanes were offered; code 0: they were */
	struct err no_wakes;          /* with cpu: why wake-ups of threads were not recorded */
	int starved;           /* errno of the failed attempt to grow the region; 0: none failed */
	uint64_t place_holds;  /* room for the region if less than wanted; 0: enough */
	char place[256];       /* path of the region, possibly truncated */
	uint64_t region_bytes; /* memory of the region at the end */
	uint64_t collected;    /* transitions in the trace */
	uint64_t lost;         /* written - collected, for any reason */
	uint64_t lost_output;  /* of these: read, but writing the file failed */
	uint64_t lost_full;    /* of these: no room in their lane */
	uint64_t others_collected;  /* create, wake, end and destroy events in the trace */
	uint64_t others_lost;       /* such events that are lost */
	uint64_t waits, wait_ns;    /* times a thread waited for room in a lane */
	uint64_t switches;          /* times that a thread had no processor, with config.cpu */
	uint64_t switches_lost;     /* records of them that are missing */
	struct frame_totals frames; /* with config.frames */
	uint64_t forgotten;         /* transitions that the flight recorder discarded */
	uint64_t others_forgotten;
	uint64_t facts_forgotten; /* about threads, descriptors and frames: likewise */
	uint64_t facts_refused;   /* those that are too large for the flight recorder */
	uint64_t clamped;         /* events whose time was raised to that of the event before */
	struct err output;        /* why writing the trace failed; code 0: it did not */
	struct err sidecar;       /* likewise for the sidecar */
	uint32_t nr_connected;    /* processes that ever connected */
	uint32_t still_connected;
	uint32_t nr_refused;     /* connections of other users, rejected */
	uint32_t nr_turned_away; /* connections closed for lack of a descriptor */
	uint64_t nr_wakeups;
	uint64_t modules_left_out; /* programs and libraries that are not in the trace: too many */
	struct clock_watch clocks;
	/* Processes that have the SDK and did not connect. */
	struct sdk_process unconnected[SDK_PROCESSES];
	uint32_t nr_unconnected;
	bool region_shrunk;
	bool wild_count;
	bool launched;
	struct err failed;  /* why a running program could not attach; code 0: it could */
	bool attached;      /* to a running program: config.pid */
	bool detached;      /* the program still ran at the end, and was detached */
	bool replaced;      /* it executed another program */
	int pid;            /* pid of the program */
	int exit_status;    /* as a shell reports it */
	int signal;         /* signal that ended the program; 0: none */
	bool drain_stopped; /* a signal ended the reading of what was left: it is in lost_output */
	int stop_signal;    /* last signal that asked the collector to stop; 0: none */
	uint64_t end_ns;    /* end of the run: exit of the last traced process, or the last poll */
	uint64_t duration_ns;   /* duration of the run */
	uint64_t collecting_ns; /* until everything was read, possibly later than end_ns */
	uint64_t cpu_ns;        /* CPU time of the collector */
	struct worst worst;     /* coroutines with the most lost events */
};

/*
 * Returns 0 if there was a run, however it ended: see @result.  Returns a negative errno and
 * sets @err if the run could not start.
 */
int collector_run(const struct collector_config *config, struct collector_result *result,
		  struct err *err);

#endif
