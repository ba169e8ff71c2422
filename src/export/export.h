/* SPDX-License-Identifier: MIT */
/*
 * export.h - read a trace or a recording of frames once and pass it to a sink.
 *
 * Memory does not grow with the events.  Ctrl-C (SIGINT, SIGTERM, SIGHUP) ends the export and
 * leaves no partial output, also while a server does not answer.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "export/sink.h"
#include "trace/trace_reader.h"

/* Of a recording. */
struct export_frames {
	struct recfile_stats stats;
	struct frame_counts counts; /* of viewers */
	uint64_t *nr;               /* frames per type; nr_types of them */
	char **names;
	size_t nr_types;
};

struct export_result {
	char *output;        /* the file; NULL: the sink writes no file */
	char note[160];      /* from the sink */
	uint64_t rows;       /* events written by the sink */
	uint64_t extra;      /* rows of its other tables */
	uint64_t left_out;   /* events that the sink could not represent */
	uint64_t bytes;      /* of the output files; 0: not known */
	uint64_t read_bytes; /* of the source */
	uint64_t duration_ns;
	uint64_t transitions, others; /* in the trace */
	uint64_t garbage;             /* corrupt lines, damaged and missing packets */
	uint64_t first_garbage_line;  /* 0: none, or the trace has no lines */
	const char *first_garbage;    /* its problem; a constant */
	bool is_cut;                  /* the trace ends in the middle of a line or a packet */
	bool has_totals;              /* the collector recorded the losses: */
	uint64_t lost, others_lost;
	enum trace_verdict verdict;         /* is the trace complete? */
	char shortage[TRACE_SHORTAGE_SIZE]; /* what is missing; empty: nothing known to be */
	struct trace_stats stats;           /* without the path, which the reader owned */
	int signal;                         /* the signal that ended the export; 0: none */
	struct export_frames frames;        /* the fields about traces are zero with it */
};

/*
 * Returns 0, or a negative errno with a message in @err.  -ECANCELED: ended by a signal.  The
 * caller calls export_result_release() in every case.
 */
int export_run(const struct sink *sink, const struct export_options *options,
	       struct export_result *result, struct err *err);

/* The same with a reader that is open, and stays open; options->trace is its name. */
int export_run_reader(const struct sink *sink, const struct export_options *options,
		      struct trace_reader *reader, struct export_result *result, struct err *err);

/*
 * The same for a recording of frames.  On an error, the result describes what was read until then.
 * Without options->output the output is next to the recording: FILE_output for CSV, which makes a
 * file per frame type, FILE.sqlite, ...
 */
int export_recording(const struct sink *sink, const struct export_options *options,
		     struct export_result *result, struct err *err);

/* True if, as far as is known, everything recorded is in the trace and was exported. */
bool export_is_whole(const struct export_result *result);

void export_result_release(struct export_result *result);

#endif
