/* SPDX-License-Identifier: MIT */
/*
 * frames_timeline.h - place the frames of a recording on a time line, for any viewer.
 *
 * An interval of time becomes a slice; the other values of its frame are its arguments.  A frame
 * without an interval becomes an instant at its first time, and its numbers become counters.  A
 * frame without any time is only counted.
 *
 * CPU clocks (proc_cputime, thread_cputime) measure work: their values are not positions in
 * time.  Frames of such a buffer are placed by their number, FRAME_STEP_NS apart, as instants;
 * the durations of their intervals are counters.
 */
#ifndef EXPORT_FRAMES_TIMELINE_H
#define EXPORT_FRAMES_TIMELINE_H

#include "base/output_file.h"
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

struct frame_timeline;

/* Callbacks of a viewer; times are nanoseconds. */
struct frame_view {
	const char *note; /* how to open the output */
	/* @cell: the difference cell of an interval of time; from <= to. */
	void (*slice)(struct frame_timeline *t, const struct frame_shown *f,
		      const struct row_cell *cell, uint64_t from, uint64_t to);
	void (*instant)(struct frame_timeline *t, const struct frame_shown *f, uint64_t at);
	/* @v: a finite number. */
	void (*counter)(struct frame_timeline *t, const struct frame_shown *f,
			const struct row_cell *cell, const struct cell *v, uint64_t at);
	/* Frames were lost before @at. */
	void (*lost)(struct frame_timeline *t, uint64_t frames, uint64_t at);
	/* A negative errno, if something could not be kept in memory. */
	int (*error)(const struct frame_timeline *t);
	/* After the last frame: write the rest to t->out. */
	void (*finish)(struct frame_timeline *t);
	void (*release)(struct frame_timeline *t);
};

/* Must be the first member of a viewer's struct. */
struct frame_timeline {
	const struct frame_view *view;
	const struct recfile *file;
	struct outfile out;
	struct frame_counts counts;
};

/* The name of the program, or of the buffer; and its pid, or 1. */
const char *frame_timeline_process(const struct frame_timeline *t, uint64_t *pid);

/* Leaves t->out as it is. */
void frame_timeline_init(struct frame_timeline *t, const struct frame_view *view,
			 const struct recfile *file);
void frame_timeline_frame(struct frame_timeline *t, const struct frame_shown *f);
void frame_timeline_mark(struct frame_timeline *t, const struct recording_mark *mark);

#endif
