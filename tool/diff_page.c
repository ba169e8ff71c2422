/* SPDX-License-Identifier: MIT */
/* diff_page.c - `corotracer diff --html`: a comparison as one page for a browser. */
#include "diff_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "cmd.h"
#include "page/page.h"
#include "trace_foreach.h"

#define DIFF_PAGE       "compare" /* name of the page, see page.h */
#define DIFF_PAGE_SITES 2000u     /* rows of a table; those that differ come first */
#define DIFF_PAGE_NODES 4000u     /* of the flame graph */
#define DIFF_PAGE_SHARE 2000u     /* a node with less than this part of both sides is left out */

int diff_page_check(struct err *err)
{
	struct html_page page;

	return page_embedded(DIFF_PAGE, &page, err);
}

/* ---- reading ------------------------------------------------------------------------- */

static int diff_page_item(void *arg, const struct trace_item *item, struct err *err)
{
	return state_profile_add(arg, item) < 0 ? err_set(err, -ENOMEM, "no memory for the stacks")
						: 0;
}

int diff_page_read_times(const char *trace, const struct trace_filter *filter,
			 struct state_profile *times, struct err *err)
{
	const struct trace_filter part = { .part = filter->part, .parts = filter->parts };
	struct trace_reader *reader;
	int rc;

	if (!strcmp(trace, "-")) {
		rc = err_set(err, -EINVAL, "a part of standard input cannot become a page");
		err_hint(err, "save the trace to a file: it is read twice");
		return rc;
	}
	reader = trace_reader_open(trace, err);
	if (!reader)
		return err->code;
	trace_reader_set_filter(reader, &part);
	rc = read_trace(trace, reader, diff_page_item, times, err);
	trace_reader_close(reader);
	return rc;
}

static uint64_t strong_findings(const struct report *r)
{
	const struct findings *f = &r->analysis->findings;
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < f->nr; i++)
		nr += f->groups[i].detector->is_fault &&
		      f->groups[i].confidence >= CONFIDENCE_STRONG;
	return nr;
}

int diff_page_add_run(struct diff_page *page, enum time_side side, const struct report *r,
		      struct state_profile *times)
{
	int rc = state_profile_finish(times);

	if (!rc)
		rc = time_tree_join(&page->times.sides[side], &times->tree);
	page->left_out += times->window.late + times->impossible;
	page->unknown += times->unknown;
	page->runs[side][page->nr_runs[side]++] = (struct diff_page_run){
		.totals = report_totals_of(r),
		.verdict = trace_verdict(r->stats),
		.findings = strong_findings(r),
	};
	return rc;
}

/* ---- writing --------------------------------------------------------------------------- */

static void page_put_run(struct json_writer *j, const char *trace, const struct diff_page_run *run)
{
	const struct report_totals *t = &run->totals;

	jw_object_begin(j);
	jw_field_string(j, "trace", trace);
	jw_field_string(j, "verdict", trace_verdict_name(run->verdict));
	jw_field_u64(j, "duration_ns", t->duration_ns);
	jw_field_u64(j, "coroutines", t->coroutines);
	jw_field_u64(j, "alive", t->alive);
	jw_field_u64(j, "transitions", t->events);
	jw_field_u64(j, "threads", t->threads);
	jw_field_u64(j, "findings", run->findings);
	jw_field_u64(j, "garbage", t->garbage);
	if (t->loss_known)
		jw_field_u64(j, "lost", t->lost + t->others_lost);
	else
		jw_field_null(j, "lost");
	jw_object_end(j);
}

static void page_put_runs(struct json_writer *j, const char *key, const struct diff_page *page,
			  enum time_side side, const char *const *names)
{
	size_t i;

	jw_key(j, key);
	jw_array_begin(j);
	for (i = 0; i < page->nr_runs[side]; i++)
		page_put_run(j, names[i], &page->runs[side][i]);
	jw_array_end(j);
}

static void page_put_node(struct json_writer *j, const struct time_diff_node *n, uint32_t parent)
{
	jw_object_begin(j);
	jw_field_string(j, "name", n->place->name);
	jw_field_string(j, "file", n->place->file);
	jw_field_u64(j, "line", n->place->line);
	jw_field_u64(j, "parent", parent);
	jw_field_string(j, "state", profiled_state_name(n->state));
	jw_field_u64(j, "base_ns", n->ns[TIME_BASE]);
	jw_field_u64(j, "head_ns", n->ns[TIME_HEAD]);
	jw_object_end(j);
}

/* The first node has no place: it becomes the sums, and parent 0. */
static int page_put_flame(struct json_writer *j, const struct diff_page *page)
{
	const struct time_diff *t = &page->times;
	uint32_t *numbers = calloc(t->nr + 1, sizeof(*numbers)), shown;
	size_t i;

	if (!numbers)
		return -ENOMEM;
	shown = time_diff_choose(t, DIFF_PAGE_NODES, DIFF_PAGE_SHARE, numbers);
	jw_key(j, "flame");
	jw_object_begin(j);
	jw_field_u64(j, "base_ns", t->nodes[0].ns[TIME_BASE]);
	jw_field_u64(j, "head_ns", t->nodes[0].ns[TIME_HEAD]);
	jw_field_u64(j, "hidden", t->nr - shown);
	jw_field_u64(j, "unknown", page->unknown);
	jw_field_u64(j, "left_out", page->left_out);
	jw_key(j, "nodes");
	jw_array_begin(j);
	for (i = 1; i < t->nr; i++) {
		if (numbers[i] != UINT32_MAX)
			page_put_node(j, &t->nodes[i], numbers[t->nodes[i].parent]);
	}
	jw_array_end(j);
	jw_object_end(j);
	free(numbers);
	return 0;
}

static int page_put_page(struct json_writer *j, const struct diff_page *page, const struct diff *d,
			 const struct diff_form *form)
{
	int rc;

	jw_object_begin(j);
	diff_put_members(j, d, form);
	jw_field_u64(j, "threshold_percent", d->limits.percent);
	jw_field_u64(j, "min_change_ns", d->limits.ns);
	page_put_runs(j, "base_runs", page, TIME_BASE, form->base);
	page_put_runs(j, "head_runs", page, TIME_HEAD, form->head);
	rc = diff_put_pairs(j, d, DIFF_PAGE_SITES);
	if (!rc)
		rc = page_put_flame(j, page);
	jw_object_end(j);
	return rc ? rc : j->error;
}

int diff_page_save(struct diff_page *page, const struct diff *d, const struct diff_form *form,
		   const char *path, struct err *err)
{
	struct json_writer j;
	const char *text;
	size_t size = 0;
	int rc = time_diff_make(&page->times);

	jw_init_buffer(&j);
	if (!rc)
		rc = page_put_page(&j, page, d, form);
	text = rc ? NULL : jw_text(&j, &size);
	if (!text)
		rc = err_set(err, -ENOMEM, "no memory for the page");
	else
		rc = page_save_json(path, DIFF_PAGE, text, size, err);
	jw_release(&j);
	if (!rc && strcmp(path, "-") != 0)
		message_print("diff", "wrote '%s'", path);
	return rc;
}

void diff_page_release(struct diff_page *page)
{
	time_diff_release(&page->times);
}
