/* SPDX-License-Identifier: MIT */
/* trace_foreach.c - read a trace to its end, with progress. */
#include "trace_foreach.h"

#include <errno.h>
#include <inttypes.h>

#include "base/progress.h"

int read_trace(const char *name, struct trace_reader *reader, take_item *take, void *arg,
	       struct err *err)
{
	const struct trace_stats *stats = trace_reader_stats(reader);
	struct progress progress;
	struct trace_item item;
	uint64_t nr = 0;
	int rc, taken = 0;

	progress_start(&progress, name, stats->total);
	while ((rc = trace_next(reader, &item, err)) > 0) {
		taken = take(arg, &item, err);
		if (taken < 0)
			break;
		if (++nr % 4096 == 0)
			progress_update(&progress, stats->bytes);
	}
	progress_full(&progress, NULL);
	progress_end(&progress);
	return rc < 0 ? rc : taken;
}

int expect_events(const char *name, uint64_t events, const struct trace_stats *stats,
		  struct err *err)
{
	if (events || !stats->lines.garbage)
		return 0;
	err_set(err, -EINVAL, "'%s' holds no events: is it a trace?", name);
	err_hint(err, "line %" PRIu64 ": %s", stats->lines.first[0].line,
		 stats->lines.first[0].reason);
	return err->code;
}
