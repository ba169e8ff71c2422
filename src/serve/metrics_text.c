/* SPDX-License-Identifier: MIT */
/* metrics_text.c - the metrics as text: format 0.0.4 of Prometheus, and OpenMetrics 1.0.0. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <corotracer/version.h>

#include "base/fmt.h"
#include "base/monotonic.h"
#include "base/utf8.h"
#include "serve/metrics.h"

/* The bounds as text: equal in both formats, or a change of the format would change the series. */
static const char *const metrics_bound_names[METRICS_BUCKETS + 1] = {
	"1e-06", "2e-06", "5e-06", "1e-05", "2e-05", "5e-05", "0.0001", "0.0002", "0.0005",
	"0.001", "0.002", "0.005", "0.01",  "0.02",  "0.05",  "0.1",    "0.2",    "0.5",
	"1.0",   "2.0",   "5.0",   "10.0",  "20.0",  "50.0",  "100.0",  "+Inf",
};

static const char *const metrics_kind_names[NR_METRICS_KINDS] = { "transition", "other" };

struct metrics_page {
	struct bytes *out;
	bool is_openmetrics;
	struct bytes common; /* labels that every sample has, terminated: ,service="x",host="y" */
	const char *name;    /* of the family */
	bool is_counter;
};

/* ---- samples ------------------------------------------------------------------- */

void metrics_put_escaped(struct bytes *out, const char *text)
{
	size_t size = strlen(text);
	uint32_t cp;

	while (size) {
		size_t length = utf8_next(text, size, &cp);

		if (*text == '\\' || *text == '"')
			bytes_add(out, "\\", 1);
		if (*text == '\n')
			bytes_add_text(out, "\\n");
		else if (cp == UTF8_BAD)
			bytes_add_text(out, "\xef\xbf\xbd");
		else
			bytes_add(out, text, length);
		text += length;
		size -= length;
	}
}

/* Begin a family.  The name of a counter is given without "_total", which OpenMetrics leaves out.
 */
static void metrics_family(struct metrics_page *p, const char *name, const char *type,
			   const char *help)
{
	const char *unit = strstr(name, "_seconds");
	const char *suffix = "";

	p->name = name;
	p->is_counter = !strcmp(type, "counter");
	if (p->is_counter && !p->is_openmetrics)
		suffix = "_total";
	bytes_add_text(p->out, "# HELP ");
	bytes_add_text(p->out, name);
	bytes_add_text(p->out, suffix);
	bytes_add_text(p->out, " ");
	bytes_add_text(p->out, help);
	bytes_add_text(p->out, "\n# TYPE ");
	bytes_add_text(p->out, name);
	bytes_add_text(p->out, suffix);
	bytes_add_text(p->out, " ");
	bytes_add_text(p->out, type);
	bytes_add_text(p->out, "\n");
	if (!p->is_openmetrics || (!unit && !(unit = strstr(name, "_bytes"))) ||
	    strchr(unit + 1, '_'))
		return;
	bytes_add_text(p->out, "# UNIT ");
	bytes_add_text(p->out, name);
	bytes_add_text(p->out, " ");
	bytes_add_text(p->out, unit + 1);
	bytes_add_text(p->out, "\n");
}

static void metrics_label(struct metrics_page *p, const char *key, const char *escaped)
{
	bytes_add_text(p->out, ",");
	bytes_add_text(p->out, key);
	bytes_add_text(p->out, "=\"");
	bytes_add_text(p->out, escaped);
	bytes_add_text(p->out, "\"");
}

/*
 * Begin a sample with the labels that all have.  The caller adds its own labels, and a value by
 * metrics_end() or metrics_end_ns().
 */
static void metrics_begin(struct metrics_page *p, const char *suffix, size_t *at)
{
	bytes_add_text(p->out, p->name);
	bytes_add_text(p->out, p->is_counter ? "_total" : suffix);
	*at = p->out->size;
	if (p->common.data && !p->common.error)
		bytes_add_text(p->out, (const char *)p->common.data);
}

/* The first comma of the labels becomes the brace. */
static void metrics_close_labels(struct metrics_page *p, size_t at)
{
	if (!p->out->error && p->out->size > at) {
		p->out->data[at] = '{';
		bytes_add_text(p->out, "}");
	}
	bytes_add_text(p->out, " ");
}

static void metrics_end(struct metrics_page *p, size_t at, uint64_t value)
{
	char *room;

	metrics_close_labels(p, at);
	room = bytes_room(p->out, FMT_U64_MAX);
	if (room)
		p->out->size += (size_t)(fmt_u64(room, value) - room);
	bytes_add_text(p->out, "\n");
}

/* Nanoseconds as seconds, exactly. */
static void metrics_end_ns(struct metrics_page *p, size_t at, uint64_t ns)
{
	char text[40];

	metrics_close_labels(p, at);
	snprintf(text, sizeof(text), "%llu.%09llu\n", (unsigned long long)(ns / NS_PER_SEC),
		 (unsigned long long)(ns % NS_PER_SEC));
	bytes_add_text(p->out, text);
}

static void metrics_one(struct metrics_page *p, uint64_t value)
{
	size_t at;

	metrics_begin(p, "", &at);
	metrics_end(p, at, value);
}

static void metrics_one_ns(struct metrics_page *p, uint64_t ns)
{
	size_t at;

	metrics_begin(p, "", &at);
	metrics_end_ns(p, at, ns);
}

static void metrics_with(struct metrics_page *p, const char *key, const char *escaped,
			 uint64_t value)
{
	size_t at;

	metrics_begin(p, "", &at);
	metrics_label(p, key, escaped);
	metrics_end(p, at, value);
}

/* ---- families: coroutines and waits ------------------------------------------------ */

static void metrics_put_coroutines(struct metrics_page *p, const struct metrics *m)
{
	unsigned state;
	size_t i, at;

	metrics_family(p, "coroutines", "gauge",
		       "Coroutines that exist, by state and site: where they are suspended or were "
		       "woken, otherwise where they were created.");
	for (i = 0; i < m->nr_sites; i++) {
		for (state = TRACE_STATE_NEW; state < NR_TRACE_STATES; state++) {
			if (!(m->sites[i].seen >> state & 1))
				continue;
			metrics_begin(p, "", &at);
			metrics_label(p, "state", trace_state_name(state));
			metrics_label(p, "site", m->sites[i].label);
			metrics_end(p, at, m->sites[i].states[state]);
		}
	}
}

/* Of each site, how long the oldest coroutine is suspended there. */
static void metrics_put_oldest(struct metrics_page *p, const struct metrics *m)
{
	uint64_t now = m->has_ended || m->behind_ns ? m->last_ts : clock_now_ns(), *oldest;
	size_t i, at;

	oldest = calloc(m->nr_sites, sizeof(*oldest));
	metrics_family(p, "coroutine_oldest_wait_seconds", "gauge",
		       "How long the coroutine that is suspended longest has waited, by site.");
	for (i = 0; oldest && i < m->coroutines.room; i++) {
		const struct metrics_coroutine *co = coro_table_at(&m->coroutines, i);

		if (co && co->counted == TRACE_STATE_SUSPENDED && co->life.since_ts < now &&
		    now - co->life.since_ts > oldest[co->slot])
			oldest[co->slot] = now - co->life.since_ts;
	}
	for (i = 0; oldest && i < m->nr_sites; i++) {
		if (!oldest[i])
			continue;
		metrics_begin(p, "", &at);
		metrics_label(p, "site", m->sites[i].label);
		metrics_end_ns(p, at, oldest[i]);
	}
	free(oldest);
}

/* Behind the value of a bucket: a wait in it that belongs to a trace of the user. */
static void metrics_put_exemplar(struct metrics_page *p, const struct metrics_exemplar *e)
{
	char text[160];

	if (!p->is_openmetrics || !e->context.span || p->out->error)
		return;
	snprintf(text, sizeof(text),
		 " # {trace_id=\"%016" PRIx64 "%016" PRIx64 "\",span_id=\"%016" PRIx64
		 "\"} %" PRIu64 ".%09" PRIu64 "\n",
		 e->context.trace_high, e->context.trace_low, e->context.span,
		 (uint64_t)(e->ns / NS_PER_SEC), (uint64_t)(e->ns % NS_PER_SEC));
	p->out->size--; /* the end of the line */
	bytes_add_text(p->out, text);
}

/* @exemplars, one per bucket, may be NULL. */
static void metrics_put_histogram(struct metrics_page *p, const struct metrics *m,
				  const struct metrics_waits *w, const struct metrics_histogram *h,
				  const struct metrics_exemplar *exemplars)
{
	const char *reason = w->reason < NR_TRACE_REASONS ? trace_reason_name(w->reason) : "other";
	const char *site = m->sites[w->site].label;
	uint64_t sum = 0;
	unsigned i;
	size_t at;

	if (!h->count)
		return;
	for (i = 0; i <= METRICS_BUCKETS; i++) {
		sum += h->buckets[i];
		metrics_begin(p, "_bucket", &at);
		metrics_label(p, "site", site);
		metrics_label(p, "reason", reason);
		metrics_label(p, "le", metrics_bound_names[i]);
		metrics_end(p, at, sum);
		if (exemplars)
			metrics_put_exemplar(p, &exemplars[i]);
	}
	metrics_begin(p, "_sum", &at);
	metrics_label(p, "site", site);
	metrics_label(p, "reason", reason);
	metrics_end_ns(p, at, h->sum_ns);
	metrics_begin(p, "_count", &at);
	metrics_label(p, "site", site);
	metrics_label(p, "reason", reason);
	metrics_end(p, at, h->count);
}

static void metrics_put_waits(struct metrics_page *p, const struct metrics *m)
{
	size_t i;

	metrics_family(p, "coroutine_wait_seconds", "histogram",
		       "Time from suspend to resume, by site and reason.");
	for (i = 0; i < m->nr_waits; i++)
		metrics_put_histogram(p, m, &m->waits[i], &m->waits[i].wait, m->waits[i].exemplars);
	metrics_family(p, "coroutine_ready_seconds", "histogram",
		       "Time from the first wake to resume, by site and reason of the wait.");
	for (i = 0; i < m->nr_waits; i++)
		metrics_put_histogram(p, m, &m->waits[i], &m->waits[i].ready, NULL);
	metrics_family(
		p, "coroutine_waits_ended", "counter",
		"Waits that ended: resumed, closed (the coroutine ended or was destroyed) or "
		"lost (the event is missing).");
	metrics_with(p, "state", "resumed", m->wait_states[WAIT_RESUMED]);
	metrics_with(p, "state", "closed", m->wait_states[WAIT_CLOSED]);
	metrics_with(p, "state", "lost", m->wait_states[WAIT_LOST]);
}

/* ---- families: the collector ------------------------------------------------------- */

static void metrics_put_kinds(struct metrics_page *p, const char *name, const char *help,
			      const uint64_t numbers[NR_METRICS_KINDS])
{
	unsigned i;

	metrics_family(p, name, "counter", help);
	for (i = 0; i < NR_METRICS_KINDS; i++)
		metrics_with(p, "kind", metrics_kind_names[i], numbers[i]);
}

static void metrics_put_events(struct metrics_page *p, const struct metrics *m)
{
	uint64_t written[NR_METRICS_KINDS];
	unsigned i;

	for (i = 0; i < NR_METRICS_KINDS; i++)
		written[i] = m->collected[i] + m->lost[i];
	metrics_put_kinds(p, "corotracer_events_written",
			  "Events that the program wrote, as far as the trace tells: collected and "
			  "lost.",
			  written);
	metrics_put_kinds(p, "corotracer_events_collected", "Events that the trace holds.",
			  m->collected);
	metrics_put_kinds(p, "corotracer_events_lost",
			  "Events that the program wrote and that are in no trace.", m->lost);
}

static void metrics_put_collector(struct metrics_page *p, const struct metrics *m)
{
	struct timespec used;
	clockid_t clock;

	metrics_family(p, "corotracer_collecting", "gauge",
		       "1 while the trace is being written, 0 after its end.");
	metrics_one(p, !m->has_ended);
	metrics_family(p, "corotracer_metrics_lag_seconds", "gauge",
		       "Age of the newest event that these metrics contain, while newer ones are "
		       "in the trace.");
	metrics_one_ns(p, m->behind_ns);
	metrics_family(p, "corotracer_metrics_missed_blocks", "counter",
		       "Blocks of the trace that these metrics do not contain: they were shipped "
		       "and given back before they were read.");
	metrics_one(p, m->missed);
	metrics_family(p, "corotracer_sites_in_other", "gauge",
		       "Sites beyond the limit, which are together the site other.");
	metrics_one(p, m->sites_beyond);
	if (!m->collector || clock_getcpuclockid(m->collector, &clock) != 0 ||
	    clock_gettime(clock, &used) != 0)
		return;
	metrics_family(p, "corotracer_collector_cpu_seconds", "counter",
		       "Processor time of the collector.");
	metrics_one_ns(p, (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec);
}

static void metrics_put_version(struct metrics_page *p)
{
	size_t at;

	if (p->is_openmetrics)
		metrics_family(p, "corotracer", "info", "Version of corotracer.");
	else
		metrics_family(p, "corotracer_info", "gauge", "Version of corotracer.");
	metrics_begin(p, p->is_openmetrics ? "_info" : "", &at);
	metrics_label(p, "corotracer_version", COROTRACER_VERSION);
	metrics_end(p, at, 1);
}

/* ---- families: the spool -------------------------------------------------------------- */

static void metrics_put_spooled(struct metrics_page *p, const struct metrics_spool *s)
{
	unsigned i;

	metrics_family(p, "corotracer_spool_blocks", "gauge", "Blocks that wait to be shipped.");
	metrics_one(p, s->spooled.blocks);
	metrics_family(p, "corotracer_spool_bytes", "gauge", "Bytes that wait to be shipped.");
	metrics_one(p, s->spooled.bytes);
	metrics_family(p, "corotracer_spool_events", "gauge", "Events that wait to be shipped.");
	for (i = 0; i < NR_METRICS_KINDS; i++)
		metrics_with(p, "kind", metrics_kind_names[i], s->spooled.events[i]);
}

static void metrics_put_spool(struct metrics_page *p, const struct metrics *m)
{
	static const char *const results[] = { "acknowledged", "given_up" };
	const struct metrics_shipped *counts[2];
	struct metrics_spool s;
	unsigned i, kind;
	size_t at;

	if (!metrics_spool_read(&s, m->trace))
		return;
	counts[0] = &s.shipped;
	counts[1] = &s.given_up;
	metrics_family(
		p, "corotracer_ship_up", "gauge",
		"1 if the receiver takes blocks, 0 if it cannot be reached or rejects them.");
	metrics_one(p, !s.has_trouble);
	metrics_put_spooled(p, &s);
	metrics_family(p, "corotracer_ship_blocks", "counter",
		       "Blocks that the receiver acknowledged, or that were given up.");
	for (i = 0; i < 2; i++)
		metrics_with(p, "result", results[i], counts[i]->blocks);
	metrics_family(p, "corotracer_ship_bytes", "counter", "Bytes of these blocks.");
	for (i = 0; i < 2; i++)
		metrics_with(p, "result", results[i], counts[i]->bytes);
	metrics_family(p, "corotracer_ship_events", "counter", "Events of these blocks.");
	for (i = 0; i < 2; i++) {
		for (kind = 0; kind < NR_METRICS_KINDS; kind++) {
			metrics_begin(p, "", &at);
			metrics_label(p, "result", results[i]);
			metrics_label(p, "kind", metrics_kind_names[kind]);
			metrics_end(p, at, counts[i]->events[kind]);
		}
	}
}

/* ---- the page --------------------------------------------------------------------------- */

static void metrics_add_common(struct bytes *common, const char *key, const char *text)
{
	if (!*text)
		return;
	bytes_add_text(common, ",");
	bytes_add_text(common, key);
	bytes_add_text(common, "=\"");
	metrics_put_escaped(common, text);
	bytes_add_text(common, "\"");
}

static void metrics_set_common(struct metrics_page *p, const struct metrics_labels *l)
{
	metrics_add_common(&p->common, "service", l->service);
	metrics_add_common(&p->common, "build", l->build);
	metrics_add_common(&p->common, "version", l->version);
	metrics_add_common(&p->common, "host", l->host);
	metrics_add_common(&p->common, "region", l->region);
	bytes_add(&p->common, "", 1);
}

void metrics_render(struct metrics *m, bool is_openmetrics, struct bytes *out)
{
	struct metrics_page p = { .out = out, .is_openmetrics = is_openmetrics };

	metrics_lock(m);
	metrics_set_common(&p, &m->labels);
	metrics_put_coroutines(&p, m);
	metrics_put_oldest(&p, m);
	metrics_put_waits(&p, m);
	metrics_put_events(&p, m);
	metrics_put_collector(&p, m);
	metrics_put_version(&p);
	metrics_unlock(m);
	metrics_put_spool(&p, m);
	if (is_openmetrics)
		bytes_add_text(out, "# EOF\n");
	if (p.common.error && !out->error)
		out->error = p.common.error;
	bytes_release(&p.common);
}
