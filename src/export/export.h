/* SPDX-License-Identifier: MIT */
/*
 * export.h - read a trace once, and hand it to a sink.
 *
 * Memory does not grow with the events.  Ctrl-C (SIGINT, SIGTERM, SIGHUP) ends the export
 * and leaves nothing half-made, also while a server does not answer.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "export/sink.h"
#include "trace/reader.h"

struct export_result {
	char *output;        /* the file, NULL: it is none */
	char note[160];      /* the sink's */
	uint64_t rows;       /* events that the sink took */
	uint64_t extra;      /* rows of its other tables */
	uint64_t left_out;   /* events that it had no place for */
	uint64_t bytes;      /* of the files it made; 0: not known */
	uint64_t read_bytes; /* of the trace */
	uint64_t duration_ns;
	uint64_t transitions, others; /* in the trace */
	uint64_t garbage;             /* lines that are no events, packets that are damaged */
	uint64_t first_garbage_line;  /* 0: none, or no lines */
	const char *first_garbage;    /* why; a constant */
	bool is_cut;                  /* the trace ends in the middle of a line or a packet */
	bool has_totals;              /* the collector told what was lost: */
	uint64_t lost, others_lost;
	enum trace_verdict verdict;         /* is the trace complete? */
	char shortage[TRACE_SHORTAGE_SIZE]; /* what is missing; empty: nothing that is known */
	struct trace_stats stats;           /* without the path, which was the reader's */
	int signal;                         /* that asked for the end; 0: none did */
};

/*
 * 0, or a negative errno with words.  -ECANCELED: a signal asked for the end.  Whatever
 * comes of it, export_result_release() follows.
 */
int export_run(const struct sink *sink, const struct export_options *options,
	       struct export_result *result, struct err *err);

/* All that was recorded is in the trace, as far as is known, and was exported. */
bool export_is_whole(const struct export_result *result);

void export_result_release(struct export_result *result);

#endif
