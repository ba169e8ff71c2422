/* SPDX-License-Identifier: MIT */
/*
 * journal.h - which records of every lane are in the trace's files.
 *
 * A collector holds events that it has read and not written: in its buffers, or in a write(2)
 * in progress.  If it is killed, these events are lost unless the region still has them and a
 * reader can determine which ones they are.  So chunks return to the pool only once their
 * events are in the files (lane_scan.h), and this file, REGION.saved, records up to which position.
 *
 * Every write of the trace (a "save", numbered from 1) is announced and completed here:
 *
 * 	begin   the lanes' new positions and the sizes that the files will have
 * 	        the write itself
 * 	end     done = the number
 *
 * If the collector is killed in between, the sizes of the files show whether the write was
 * complete.  If not, what it added does not count: a reader takes as many events of the files as
 * the save before says.  Two saves and two positions of each lane are kept, so that the journal
 * is valid at any moment.
 *
 * Only the collector maps the file; programs do not.  It is read after the collector has ended,
 * so program order of the stores is sufficient.
 */
#ifndef COLLECT_JOURNAL_H
#define COLLECT_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/lane_scan.h"
#include "trace/trace_writer.h"

#define JOURNAL_PATH_SIZE 4096u

struct journal_save {
	uint64_t number; /* stored last; 0: not valid */
	uint64_t trace_size;
	uint64_t sidecar_size;
	uint64_t transitions, others; /* in the files */
	uint32_t lane;                /* CTF: the stream being written */
	uint32_t reserved;
};

struct journal_head {
	uint64_t magic;
	uint32_t version;
	uint32_t collector_pid;
	uint32_t format;            /* enum trace_format */
	uint32_t failed;            /* a write failed: later events are in no file */
	uint64_t done;              /* number of complete saves */
	uint64_t lost, lost_others; /* of lanes that were given back */
	struct journal_save save[2];
	char path[JOURNAL_PATH_SIZE]; /* of the trace, absolute */
};

/*
 * Position in a lane, in records since it was opened: `after` if save `number` is complete,
 * else `before`.
 */
struct journal_lane {
	uint64_t number;
	uint64_t before, after;
	uint64_t reserved;
};

/* ---- collector side ----------------------------------------------------------- */

struct journal {
	char *path;
	int fd;
	void *map;
	volatile struct journal_head *head; /* NULL: no journal */
	volatile struct journal_lane *lanes;
	uint32_t nr_ready; /* lanes with reserved file space */
	struct drain *drain;
	struct trace_saver saver;
};

/* Create REGION.saved; from now on @drain gives chunks back only once they are saved. */
int journal_open(struct journal *j, const char *region, const char *trace, enum trace_format format,
		 struct drain *drain, struct err *err);

/* Removes the file.  Accepts an all-zero struct. */
void journal_close(struct journal *j);

/* Lane @i is given back: its position restarts at 0. */
void journal_reset_lane(struct journal *j, uint32_t i);

/* ---- after the collector was killed --------------------------------------------- */

/* A copy of the journal that a collector left. */
struct journal_copy {
	bool found;  /* the journal exists, is valid and belongs to that collector */
	bool failed; /* the trace could not be written completely */
	char *trace; /* path of the trace, from the journal or from the caller */
	bool has_trace;
	enum trace_format format;
	struct journal_save save;   /* the last complete save */
	uint64_t lost, lost_others; /* of lanes that were given back */
	struct journal_lane *lanes;
	uint32_t nr_lanes;
	uint64_t trace_number, sidecar_number; /* number of the last save in that file */
	uint32_t cut_lane; /* CTF: lane whose stream may end with a partial packet; UINT32_MAX: none
			    */
};

/* @trace: current path of the trace; NULL: as in the journal. */
void journal_read(struct journal_copy *c, const char *region, uint32_t collector_pid,
		  uint32_t nr_lanes, const char *trace);
void journal_copy_release(struct journal_copy *c);

/* Number of records of lane @i whose transitions, or whose other events, are in the trace. */
uint64_t journal_position(const struct journal_copy *c, uint32_t i, bool transitions);

/* Path of the journal of @region; the caller frees it. */
char *journal_path(const char *region);

#endif
