/* SPDX-License-Identifier: MIT */
/* query_trace.c - the trace of a query: scans with a filter, and the facts read at the start. */
#include "query/query_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "query/frame_views.h"
#include "query/query_table.h"

/* Facts that no scan of events needs. */
#define QUERY_FACTS_APART                                                               \
	(1u << TRACE_ITEM_MODULE | 1u << TRACE_ITEM_CPU | 1u << TRACE_ITEM_DESCRIPTOR | \
	 1u << TRACE_ITEM_SWITCH | 1u << TRACE_ITEM_WAITING | 1u << TRACE_ITEM_FRAME |  \
	 1u << TRACE_ITEM_MEMORY)

/* No event has this kind. */
const struct trace_filter query_no_events = { .kinds = 1u << 15, .has_start = true };

_Static_assert(NR_TRACE_KINDS < 15, "query_no_events uses a kind that does not exist");

/* ---- scans ----------------------------------------------------------------- */

int query_scan_begin(struct query_scan *scan, struct query *q, const struct trace_filter *filter,
		     struct err *err)
{
	const struct query_trace *t = &q->trace;

	*scan = (struct query_scan){ .query = q };
	scan->reader = t->may_grow ? trace_reader_follow(t->path, err)
				   : trace_reader_open(t->path, err);
	if (!scan->reader)
		return err->code;
	if (filter)
		trace_reader_set_filter(scan->reader, filter);
	return 0;
}

int query_scan_next(struct query_scan *scan, struct trace_item *item, struct err *err)
{
	int rc;

	if (scan->has_ended)
		return 0;
	rc = trace_next(scan->reader, item, err);
	if (rc == -EAGAIN && !err->code)
		rc = 0; /* the rest is not written yet */
	scan->has_ended = rc == 0;
	return rc;
}

static void query_scan_count(const struct query_scan *scan)
{
	const struct trace_stats *stats = trace_reader_stats(scan->reader);
	struct query_stats *sum = &scan->query->stats;

	sum->scans++;
	sum->bytes += stats->bytes;
	if (stats->format == TRACE_FORMAT_CT) {
		sum->has_blocks = true;
		sum->blocks = stats->ct.blocks;
		sum->blocks_read += stats->ct.read;
	}
	if (!scan->has_ended ||
	    (sum->has_verdict && trace_verdict(&sum->trace) > trace_verdict(stats)))
		return;
	sum->has_verdict = true;
	sum->trace = *stats;
	sum->trace.sidecar_path = NULL;
}

void query_scan_end(struct query_scan *scan)
{
	if (!scan->reader)
		return;
	query_scan_count(scan);
	trace_reader_close(scan->reader);
	*scan = (struct query_scan){ 0 };
}

/* ---- filters --------------------------------------------------------------- */

/* A glob that matches exactly @text, and ":LINE" if @line is not 0.  NULL: no memory. */
static char *query_filter_pattern(const char *text, uint32_t line)
{
	size_t size = strlen(text), used = 0;
	char *pattern = malloc(2 * size + 16);

	if (!pattern)
		return NULL;
	for (; *text; text++) {
		if (strchr("*?[]\\", *text))
			pattern[used++] = '\\';
		pattern[used++] = *text;
	}
	if (line)
		used += (size_t)snprintf(pattern + used, 16, ":%" PRIu32, line);
	pattern[used] = '\0';
	return pattern;
}

/*
 * A source location may have several numbers in the file, of which events show the first.  The
 * pattern finds them all by their names.
 */
static bool query_filter_set_site(struct query_filter *f, const struct query_trace *t, uint32_t id)
{
	const struct trace_site *site = query_trace_site(t, id);

	if (!site || t->is_growing)
		return true;
	if (site->file && *site->file && site->line)
		f->pattern = query_filter_pattern(site->file, site->line);
	else if (site->function && *site->function)
		f->pattern = query_filter_pattern(site->function, 0);
	else
		return true;
	f->filter.site = f->pattern;
	return f->pattern != NULL;
}

bool query_filter_set(struct query_filter *f, const struct query_trace *t,
		      const struct query_want *want)
{
	*f = (struct query_filter){ .filter = { .has_start = true,
						.has_from = want->from_ts > 0,
						.from_ns = want->from_ts,
						.has_to = want->to_ts < UINT64_MAX,
						.to_ns = want->to_ts,
						.has_coroutine = want->has_coroutine,
						.coroutine = want->coroutine,
						.unwanted_facts = QUERY_FACTS_APART } };
	if (want->kinds != QUERY_ALL_KINDS)
		f->filter.kinds = want->kinds;
	return !want->has_site || query_filter_set_site(f, t, want->site);
}

void query_filter_release(struct query_filter *f)
{
	free(f->pattern);
	*f = (struct query_filter){ 0 };
}

/* ---- facts ----------------------------------------------------------------- */

static int query_trace_no_memory(const struct query_trace *t, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the sites of '%s'", t->path);
}

static int query_trace_add_site(struct query_trace *t, const struct trace_site *site,
				struct err *err)
{
	struct query_site *at;

	if (t->nr_sites == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct query_site *more = reallocarray(t->sites, room, sizeof(*more));

		if (!more)
			return query_trace_no_memory(t, err);
		t->sites = more;
		t->room = room;
	}
	at = &t->sites[t->nr_sites];
	at->site = *site;
	at->site.file = strdup(site->file ? site->file : "");
	at->site.function = strdup(site->function ? site->function : "");
	t->nr_sites++;
	if (!at->site.file || !at->site.function ||
	    u64map_put(&t->numbers, site->id, t->nr_sites) < 0)
		return query_trace_no_memory(t, err);
	return 0;
}

const struct trace_site *query_trace_site(const struct query_trace *t, uint64_t id)
{
	uint64_t number;

	return u64map_get(&t->numbers, id, &number) ? &t->sites[number - 1].site : NULL;
}

/* 1: everything that is needed is known. */
static int query_trace_take(struct query *q, const struct trace_item *item, bool *has_start,
			    struct err *err)
{
	struct query_trace *t = &q->trace;

	switch (item->type) {
	case TRACE_ITEM_SITE:
		return query_trace_add_site(t, &item->site, err);
	case TRACE_ITEM_PART:
	case TRACE_ITEM_PROCESS:
		return trace_parts_note(&t->parts, item) < 0 ? query_trace_no_memory(t, err) : 0;
	case TRACE_ITEM_FRAME:
		return frame_views_take(q, &item->frame) < 0 ? query_trace_no_memory(t, err) : 0;
	case TRACE_ITEM_RUN:
		t->start_ts = item->run.start_ts;
		t->realtime = item->run.start_realtime;
		*has_start = true;
		return 0;
	case TRACE_ITEM_EVENT:
		if (!*has_start)
			t->start_ts = item->event.ts;
		*has_start = true;
		return !t->is_growing;
	default:
		return 0;
	}
}

/* Only corrupt lines: an error is more useful than empty tables. */
static int query_trace_expect_events(const struct query_trace *t, const struct trace_stats *stats,
				     struct err *err)
{
	if (!stats->lines.garbage)
		return 0;
	err_set(err, -EINVAL, "'%s' holds no events: is it a trace?", t->path);
	err_hint(err, "line %" PRIu64 ": %s", stats->lines.first[0].line,
		 stats->lines.first[0].reason);
	return err->code;
}

/* Bytes per event, about. */
static uint64_t query_trace_estimate(const struct query_trace *t, const struct trace_stats *stats)
{
	uint64_t size = stats->total ? stats->total : 1 << 20;

	return 1000 + size / (t->format == TRACE_FORMAT_CT    ? 3
			      : t->format == TRACE_FORMAT_CTF ? 40
							      : 120);
}

/* Reads up to the first event; of a compact trace, whose facts can be read alone, all facts. */
static int query_trace_read_facts(struct query *q, bool *has_start, struct err *err)
{
	struct query_trace *t = &q->trace;
	struct query_scan scan;
	const struct trace_stats *stats;
	struct trace_item item;
	int rc = query_scan_begin(&scan, q, NULL, err), done = 0;

	if (rc < 0)
		return rc;
	stats = trace_reader_stats(scan.reader);
	t->format = stats->format;
	t->is_growing = stats->growing;
	t->has_index = stats->ct.has_index;
	t->estimated = query_trace_estimate(t, stats);
	if (t->format == TRACE_FORMAT_CT)
		trace_reader_set_filter(scan.reader, &query_no_events);
	while (!done && (rc = query_scan_next(&scan, &item, err)) > 0)
		done = query_trace_take(q, &item, has_start, err);
	if (done < 0)
		rc = done;
	else if (rc == 0 && !*has_start)
		rc = query_trace_expect_events(t, stats, err);
	query_scan_end(&scan);
	return rc < 0 ? rc : 0;
}

/* A compact trace that does not say when its run started. */
static int query_trace_read_start(struct query *q, struct err *err)
{
	struct query_scan scan;
	struct trace_item item;
	int rc = query_scan_begin(&scan, q, NULL, err);

	while (rc >= 0 && (rc = query_scan_next(&scan, &item, err)) > 0) {
		if (item.type != TRACE_ITEM_EVENT)
			continue;
		q->trace.start_ts = item.event.ts;
		break;
	}
	query_scan_end(&scan);
	return rc < 0 ? rc : 0;
}

static int query_trace_check_path(const char *path, struct err *err)
{
	struct stat st;

	if (strcmp(path, "-") != 0 &&
	    (stat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0; /* the reader reports what does not exist */
	err_set(err, -ESPIPE, "cannot query '%s': a query may read the trace several times", path);
	err_hint(err, "save the trace to a file first");
	return err->code;
}

int query_trace_open(struct query *q, struct err *err)
{
	bool has_start = false;
	int rc = query_trace_check_path(q->trace.path, err);

	if (rc == 0)
		rc = query_trace_read_facts(q, &has_start, err);
	if (rc == 0 && !has_start && q->trace.format == TRACE_FORMAT_CT)
		rc = query_trace_read_start(q, err);
	return rc;
}

void query_trace_release(struct query_trace *t)
{
	size_t i;

	for (i = 0; i < t->nr_sites; i++) {
		free((char *)t->sites[i].site.file);
		free((char *)t->sites[i].site.function);
	}
	free(t->sites);
	trace_parts_release(&t->parts);
	u64map_release(&t->numbers);
}
