/* SPDX-License-Identifier: MIT */
/* report_parts.c - the analyses of a trace, or of the parts of a merged one. */
#include "report_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- open ------------------------------------------------------------------------- */

/* "both.ct, part 1 of 2 (a.ct)" */
static int report_parts_name(struct report_parts *p, const char *path, const char *name)
{
	size_t i = p->parts.nr - 1;
	struct report_part *more = reallocarray(p->list, p->parts.nr, sizeof(*more));

	if (!more)
		return -ENOMEM;
	p->list = more;
	p->list[i] = (struct report_part){ .analysis = NULL };
	p->nr = i + 1;
	if (asprintf(&p->list[i].title, "%s, part %" PRIu64 "%s%s%s", path, p->parts.list[i].number,
		     name ? " (" : "", name ? name : "", name ? ")" : "") >= 0)
		return 0;
	p->list[i].title = NULL;
	return -ENOMEM;
}

/* The parts follow the run, before anything else. */
static int report_parts_find(struct report_parts *p, const char *path, struct err *err)
{
	struct trace_reader *r = path && strcmp(path, "-") != 0 ? trace_reader_open(path, err)
								: NULL;
	struct trace_item item;
	int rc = 0;

	if (!r)
		return err->code;
	while (!rc && trace_next(r, &item, err) > 0 &&
	       (item.type == TRACE_ITEM_RUN || item.type == TRACE_ITEM_PART)) {
		rc = trace_parts_note(&p->parts, &item);
		if (!rc && item.type == TRACE_ITEM_PART)
			rc = report_parts_name(p, path, item.part.name);
	}
	trace_reader_close(r);
	p->is_merged = p->nr > 0;
	return rc < 0 ? err_set(err, rc, "no memory for the parts of '%s'", path) : err->code;
}

int report_parts_open(struct report_parts *p, const char *path,
		      const struct analysis_options *options, struct symbols *symbols,
		      struct err *err)
{
	size_t i;

	if (report_parts_find(p, path, err) < 0)
		return err->code;
	if (!p->list)
		p->list = calloc(1, sizeof(*p->list));
	if (!p->list)
		return err_set(err, -ENOMEM, "no memory");
	p->nr = p->is_merged ? p->nr : 1;
	for (i = 0; i < p->nr; i++) {
		p->list[i].analysis = analysis_new(options);
		if (!p->list[i].analysis)
			return err_set(err, -ENOMEM, "no memory");
		p->list[i].analysis->symbols = symbols;
	}
	return 0;
}

/* ---- read ------------------------------------------------------------------------- */

int report_parts_add(struct report_parts *p, const struct trace_item *item)
{
	size_t i;
	int rc = 0;

	if (!p->is_merged)
		return analysis_add(p->list[0].analysis, item);
	if (item->type == TRACE_ITEM_PROCESS)
		rc = trace_parts_note(&p->parts, item);
	for (i = 0; i < p->nr && !rc; i++) {
		struct trace_item own = *item;

		if (!trace_parts_take(&p->parts, &p->parts.list[i], &own))
			continue;
		trace_completeness_count(&p->list[i].stats.completeness, &own);
		rc = analysis_add(p->list[i].analysis, &own);
	}
	return rc;
}

/* A filter leaves events out that are in the trace. */
static void report_parts_judge(struct report_part *part, bool is_filtered)
{
	struct trace_completeness *c = &part->stats.completeness;

	if (is_filtered && c->has_totals) {
		c->read = c->expected;
		c->read_others = c->expected_others;
	}
}

int report_parts_finish(struct report_parts *p, const struct trace_stats *stats, bool is_filtered)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < p->nr && !rc; i++) {
		if (p->is_merged)
			report_parts_judge(&p->list[i], is_filtered);
		else
			p->list[i].stats = *stats;
		rc = analysis_finish(p->list[i].analysis, &p->list[i].stats);
	}
	return rc;
}

void report_parts_release(struct report_parts *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++) {
		analysis_free(p->list[i].analysis);
		free(p->list[i].title);
	}
	free(p->list);
	trace_parts_release(&p->parts);
	*p = (struct report_parts){ .list = NULL };
}
