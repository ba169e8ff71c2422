/* SPDX-License-Identifier: MIT */
/* ship_watch.c - find the coroutines with findings in a trace that is shipped and may grow. */
#include "ship_watch.h"

#include <errno.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/monotonic.h"
#include "trace/trace_reader.h"

/* The shipper's callback has no context, and there is one shipper in a process. */
static struct {
	const char *trace;
	struct trace_reader *reader;
	struct analysis *analysis;
	void (*found)(void *arg, uint64_t probe_id);
	void *arg;
} watch;

void ship_watch_end(void)
{
	trace_reader_close(watch.reader);
	analysis_free(watch.analysis);
	memset(&watch, 0, sizeof(watch));
}

void ship_watch_begin(const char *trace)
{
	ship_watch_end();
	watch.trace = trace;
}

/* Report the coroutines of all findings that may be faults. */
static int ship_watch_report(void *arg)
{
	const struct findings *f = &watch.analysis->findings;
	size_t i;

	(void)arg;
	for (i = 0; i < f->nr; i++) {
		const struct group *g = &f->groups[i];
		const struct affected *at;

		if (!g->detector->is_fault || g->confidence < CONFIDENCE_SUSPECT)
			continue;
		for (at = affected_first(&f->affected, &g->affected); at;
		     at = affected_next(&f->affected, at))
			watch.found(watch.arg, at->probe_id);
	}
	return 0;
}

static bool ship_watch_open(void)
{
	struct analysis_options options = { 0 };
	struct err err = { 0 };

	if (watch.analysis)
		return watch.reader != NULL;
	watch.reader = trace_reader_follow(watch.trace, &err);
	watch.analysis = watch.reader ? analysis_new(&options) : NULL;
	if (watch.analysis)
		return true;
	trace_reader_close(watch.reader); /* the next try opens another one */
	watch.reader = NULL;
	return false;
}

/* Read what there is.  0: all of it; -EAGAIN: more may follow; or a negative errno. */
static int ship_watch_read(void)
{
	struct trace_item item;
	struct err err = { 0 };
	int rc;

	while ((rc = trace_next(watch.reader, &item, &err)) > 0) {
		rc = analysis_add(watch.analysis, &item);
		if (rc < 0)
			return rc;
	}
	return rc;
}

void ship_watch_look(bool has_ended, void (*found)(void *arg, uint64_t probe_id), void *arg)
{
	int rc;

	if (!watch.trace || !ship_watch_open())
		return;
	watch.found = found;
	watch.arg = arg;
	rc = ship_watch_read();
	if (rc == 0 && analysis_finish(watch.analysis, trace_reader_stats(watch.reader)) == 0)
		ship_watch_report(NULL);
	else if (rc == -EAGAIN)
		analysis_peek(watch.analysis, clock_now_ns(), ship_watch_report, NULL);
	if (rc == 0 || has_ended) {
		trace_reader_close(watch.reader);
		watch.reader = NULL;
	}
}
