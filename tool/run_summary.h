/* SPDX-License-Identifier: MIT */
/* run_summary.h - what came of a run, on stderr: for people, or as one JSON object. */
#ifndef TOOL_RUN_SUMMARY_H
#define TOOL_RUN_SUMMARY_H

#include "ctp/snapshot.h"
#include "session.h"

void run_summary_text(const struct session *s, const struct collector_result *r);
void run_summary_json(const struct session *s, const struct collector_result *r, int status);

/* One that a signal asked for, in the middle of a run. */
void run_summary_snapshot(const struct snapshot_result *r);

/* There was no run. */
void run_summary_json_error(const struct err *err);

#endif
