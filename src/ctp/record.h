/* SPDX-License-Identifier: MIT */
/*
 * record.h - what of a run goes into files: the events, and the sidecar beside them.
 *
 * A trace is of one run: a file of that name that is there already is kept as
 * NAME.old, never mixed into.  When the file takes no more (disk full), what is in it
 * stays whole lines, the run goes on, and the rest is counted as lost.
 */
#ifndef CTP_RECORD_H
#define CTP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctp/collector.h"
#include "ctp/endpoint.h"
#include "ctp/harvest.h"
#include "trace/jsonl_writer.h"

struct record {
	const struct collector_config *config;
	struct jsonl_writer events;
	bool is_open;
	uint64_t start_ns;
	uint64_t start_realtime_ns;
	char *sidecar;                 /* NULL: none (the trace goes to stdout or a device) */
	bool kept_trace, kept_sidecar; /* an earlier one is NAME.old now */
};

int record_open(struct record *r, const struct collector_config *config, uint64_t start_ns,
		struct err *err);
void record_close(struct record *r);

/* There was no run after all: as if record_open() had never been. */
void record_undo(struct record *r);

/* A harvest_sink: @ctx is the record. */
void record_event(void *ctx, const struct trace_event *event);
void record_flush(struct record *r);

/* The run is over: close the trace, fill in what became of it in @result, write the sidecar. */
void record_finish(struct record *r, const struct harvest *h, const struct endpoint *e,
		   struct collector_result *result);

#endif
