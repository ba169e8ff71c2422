/* SPDX-License-Identifier: MIT */
/* run_summary.h - the summary of a run, on stderr: as text, or as one JSON object. */
#ifndef TOOL_RUN_SUMMARY_H
#define TOOL_RUN_SUMMARY_H

#include "collect/snapshot.h"
#include "run_collector.h"

void run_summary_text(const struct session *s, const struct collector_result *r);
void run_summary_json(const struct session *s, const struct collector_result *r, int status);

/* The summary of a snapshot requested by a signal during the run. */
void run_summary_snapshot(const struct snapshot_result *r);

/* The run could not be started. */
void run_summary_json_error(const struct err *err);

#endif
