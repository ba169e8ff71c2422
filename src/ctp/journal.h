/* SPDX-License-Identifier: MIT */
/*
 * journal.h - which records of every lane are in the trace's files.
 *
 * A collector has events that it read and has not written: in its buffers, or in a write(2) that
 * the kernel is just doing.  Killed then, it leaves them in neither place, unless the region
 * still has them and somebody can tell which those are.  So chunks go back to the pool only once
 * their events are in the files (drain.h), and this file, REGION.saved, says up to where.
 *
 * Every write of the trace ("save", numbered from 1) is announced here and completed here:
 *
 *	begin   the lanes' new positions and the sizes that the files will have
 *	        the write itself
 *	end     done = the number
 *
 * Killed in between, the files' sizes tell whether the write was complete.  If not, what it added
 * does not count: a reader takes as many events of the files as the save before says.  Two saves
 * are kept, and two positions of each lane, so that no moment is without an answer.
 *
 * The file is the collector's own; programs do not map it.  Stores are ordered for a reader that
 * comes when the collector is dead, which needs no more than the order of the program.
 */
#ifndef CTP_JOURNAL_H
#define CTP_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctp/drain.h"
#include "trace/writer.h"

#define JOURNAL_PATH_SIZE 4096u

struct journal_save {
	uint64_t number; /* stored last; 0: not valid */
	uint64_t trace_size;
	uint64_t sidecar_size;
	uint64_t transitions, others; /* in the files */
	uint32_t lane;                /* ctf: the stream that is written */
	uint32_t reserved;
};

struct journal_head {
	uint64_t magic;
	uint32_t version;
	uint32_t collector_pid;
	uint32_t format;            /* enum trace_format */
	uint32_t failed;            /* a write failed: events after it are in no file */
	uint64_t done;              /* saves that are complete */
	uint64_t lost, lost_others; /* by lanes that were given back */
	struct journal_save save[2];
	char path[JOURNAL_PATH_SIZE]; /* of the trace, absolute */
};

/* Position in a lane, in records since it was opened: `after` if save `number` is complete. */
struct journal_lane {
	uint64_t number;
	uint64_t before, after;
	uint64_t reserved;
};

/* ---- the collector's side ----------------------------------------------------- */

struct journal {
	char *path;
	int fd;
	void *map;
	volatile struct journal_head *head; /* NULL: there is none */
	volatile struct journal_lane *lanes;
	uint32_t nr_ready; /* lanes that there is memory for */
	struct drain *drain;
	struct trace_saver saver;
};

/* Beside @region; from now on @drain gives chunks back only when they are saved. */
int journal_open(struct journal *j, const char *region, const char *trace, enum trace_format format,
		 struct drain *drain, struct err *err);

/* Removes it.  Accepts one that is all zero. */
void journal_close(struct journal *j);

/* Lane @i is given back: it begins at 0 again. */
void journal_reset_lane(struct journal *j, uint32_t i);

/* ---- after its death ------------------------------------------------------------ */

/* A copy of what a collector left. */
struct journal_copy {
	bool found;  /* there is one, of that collector, and it can be believed */
	bool failed; /* the trace could not be written to its end */
	char *trace; /* the trace's path, as the collector named it or as was asked for */
	bool has_trace;
	enum trace_format format;
	struct journal_save save;   /* the last that is complete */
	uint64_t lost, lost_others; /* by lanes that were given back */
	struct journal_lane *lanes;
	uint32_t nr_lanes;
	uint64_t trace_number, sidecar_number; /* of the last save that is in that file */
	uint32_t cut_lane; /* ctf: its stream may end with a part of a packet; UINT32_MAX: none */
};

/* @trace: NULL, or where the trace is now. */
void journal_read(struct journal_copy *c, const char *region, uint32_t collector_pid,
		  uint32_t nr_lanes, const char *trace);
void journal_copy_release(struct journal_copy *c);

/* Records of lane @i that are in the trace: with their transitions, or with their other events. */
uint64_t journal_position(const struct journal_copy *c, uint32_t i, bool transitions);

/* Where the journal of @region is; to be freed. */
char *journal_path(const char *region);

#endif
