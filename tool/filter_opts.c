/* SPDX-License-Identifier: MIT */
/* filter_opts.c - options that select a part of a trace. */
#include "filter_opts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int filter_part_find(struct trace_parts *parts, const char *trace, struct trace_filter *filter,
		     struct err *err)
{
	if (!filter->part)
		return 0;
	if (!strcmp(trace, "-")) {
		err_set(err, -ESPIPE, "cannot choose a part of standard input: it is read twice");
		err_hint(err, "save the trace to a file first");
		return err->code;
	}
	if (trace_parts_read(parts, trace, err) < 0)
		return err->code;
	if (trace_parts_find(parts, filter->part)) {
		filter->parts = parts;
		return 0;
	}
	err_set(err, -ENOENT, "cannot choose part %llu of '%s': it has %zu parts",
		(unsigned long long)filter->part, trace, parts->nr);
	err_hint(err, parts->nr ? "'corotracer info' lists the parts"
				: "only a trace that 'corotracer merge' wrote has parts");
	return err->code;
}

#define TIME_MOST 1e9 /* seconds */

/* "10", "10s", "1.5m", "500ms", "20us", "7ns" as nanoseconds. */
static bool filter_parse_time(const char *text, uint64_t *out)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 },  { "ms", 1e6 },  { "us", 1e3 },
		      { "ns", 1 }, { "m", 6e10 }, { "h", 3.6e12 } };
	char *end;
	double value = strtod(text, &end);
	size_t i;

	if (end == text || !isfinite(value) || value < 0 || strspn(text, "0123456789.eE+") == 0)
		return false;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		*out = (uint64_t)llround(value * units[i].ns);
		return value * units[i].ns <= TIME_MOST * 1e9;
	}
	return false;
}

#define TIME_EXPECTED "a time such as 10s, 1.5m, 500ms, 20us or 7ns"

bool filter_parse_from(void *filter, const struct opt_use *use)
{
	struct trace_filter *f = filter;

	f->has_from = filter_parse_time(use->value, &f->from_ns);
	return f->has_from || opt_invalid(use, TIME_EXPECTED);
}

bool filter_parse_to(void *filter, const struct opt_use *use)
{
	struct trace_filter *f = filter;

	f->has_to = filter_parse_time(use->value, &f->to_ns);
	return f->has_to || opt_invalid(use, TIME_EXPECTED);
}

bool filter_parse_coroutine(void *filter, const struct opt_use *use)
{
	struct trace_filter *f = filter;
	unsigned long long id;
	char *end;

	errno = 0;
	id = strtoull(use->value, &end, 0);
	if (use->value[0] < '0' || use->value[0] > '9' || *end || errno)
		return opt_invalid(use, "the number of a coroutine");
	f->has_coroutine = true;
	f->coroutine = id;
	return true;
}

bool filter_parse_site(void *filter, const struct opt_use *use)
{
	struct trace_filter *f = filter;

	f->site = use->value;
	return *use->value || opt_invalid(use, "a pattern for FILE, FILE:LINE or FUNCTION");
}

bool filter_parse_kind(void *filter, const struct opt_use *use)
{
	struct trace_filter *f = filter;

	return trace_filter_parse_kinds(use->value, &f->kinds) ||
	       opt_invalid(use, "suspend, resume, birth, wake, end, destroy, close, acquire or "
				"release, or several of them with commas");
}
