/* SPDX-License-Identifier: MIT */
/*
 * frames_timeline.h - convert the frames of a recording to the elements of a timeline viewer.
 *
 * An interval of time becomes a slice; the other values of its frame are its arguments.  A frame
 * without an interval becomes an instant at its first time, and its numbers become counters.  A
 * frame without any time is only counted.
 *
 * CPU clocks (proc_cputime, thread_cputime) measure work: their values are not positions in
 * time.  Frames of such a buffer are placed by their number, FRAME_STEP_NS apart, as instants;
 * the durations of their intervals are counters.
 *
 * Each frame type has a track below that of the process; below it are rows of slices, and a
 * track per counter.  Slices of a row do not overlap: an overlapping slice goes to the next free
 * row, and beyond ROWS_MAX to a row of its own.  Viewers show the rows of a member as one group.
 */
#ifndef EXPORT_FRAMES_TIMELINE_H
#define EXPORT_FRAMES_TIMELINE_H

#include "export/timeline.h"
#include "frames/file/frame_columns.h"
#include "frames/file/recording_reader.h"

#define FRAME_STEP_NS 1000

/* One frame; valid during a call. */
struct frame_shown {
	const struct row_plan *plan;
	unsigned type; /* index in desc.frames */
	const uint8_t *image;
	uint64_t ticket;
};

struct frame_counts {
	uint64_t slices, instants, counters;
	uint64_t without_time;
	bool by_number; /* frames are placed by their number */
};

/* A track of type TRACK_FRAME_ROW or TRACK_FRAMES. */
struct frame_track {
	struct timeline_track track; /* first member: cast from */
	const char *category;        /* of everything on it: the frame type */
	const char *group;           /* of a row: "frame.member" */
	uint64_t slice;              /* of a row: number of the frame whose slice is drawn */
};

struct frame_row {
	uint64_t id, end; /* id of its track, end of its last slice */
};

/* State of a cell of the plan. */
struct frame_column {
	struct timeline_name key, slice;
	struct timeline_track counter; /* id 0: not shown yet */
	char *name, *group;            /* "frame.cell", "frame.member" */
	struct frame_row *rows;
	uint32_t nr_rows;
};

struct frame_type {
	struct frame_track track; /* id 0: not shown yet */
	struct timeline_name category, instant;
	struct frame_column *columns; /* per cell of the plan */
	char *name;                   /* of the track */
	bool told;                    /* owned by the view, false at first */
};

/* What a mark of a recording has instead of arguments. */
struct frame_mark {
	const struct frame_shown *frame;
	struct frame_type *type;
};

struct frame_timeline {
	struct timeline_view *view;
	const struct recfile *file;
	const struct row_plan *plans;
	struct frame_type *types; /* per type */
	struct timeline_track process, lost;
	uint64_t next_track;
	struct frame_counts counts;
};

/* Returns 0 or -ENOMEM; frame_timeline_release() in every case. */
int frame_timeline_init(struct frame_timeline *t, struct timeline_view *view,
			const struct recfile *file, const struct row_plan *plans);
void frame_timeline_frame(struct frame_timeline *t, const struct frame_shown *f);
void frame_timeline_mark(struct frame_timeline *t, const struct recording_mark *mark);
/* The first and the last time in a frame.  False: it has none. */
bool frame_timeline_times(const struct frame_shown *f, uint64_t *first, uint64_t *last);
/* After the last frame. */
void frame_timeline_finish(struct frame_timeline *t);
void frame_timeline_release(struct frame_timeline *t);

/* The clock of the times, and the start of the recording on it and as time of day; 0: unknown. */
struct frame_clock {
	int id; /* clockid_t; coarse clocks count as the others */
	uint64_t start, realtime;
};
struct frame_clock frame_timeline_clock(const struct frame_timeline *t);

#endif
