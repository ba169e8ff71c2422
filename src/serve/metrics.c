/* SPDX-License-Identifier: MIT */
/* metrics.c - count the items of a trace for Prometheus: coroutines by site, waits, events. */
#include "serve/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/monotonic.h"

/* Items added per lock: a scrape waits for at most this many. */
#define METRICS_BATCH   2048
#define METRICS_READ_NS (200 * NS_PER_MS)

const uint64_t metrics_bounds[METRICS_BUCKETS] = {
	1000,        2000,        5000,        10000,        20000,      50000,      100000,
	200000,      500000,      1000000,     2000000,      5000000,    10000000,   20000000,
	50000000,    100000000,   200000000,   500000000,    1000000000, 2000000000, 5000000000,
	10000000000, 20000000000, 50000000000, 100000000000,
};

/* ---- begin and end ----------------------------------------------------------- */

static bool metrics_add_site(struct metrics *m, const char *name)
{
	struct bytes label = { 0 };

	metrics_put_escaped(&label, name);
	bytes_add(&label, "", 1);
	m->sites[m->nr_sites++].label = (char *)label.data;
	return !label.error;
}

int metrics_init(struct metrics *m, const char *path, size_t sites_max, struct err *err)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->turn, NULL);
	pthread_mutex_init(&m->lock, NULL);
	wait_pairs_init(&m->pairs);
	m->trace = path;
	m->coroutines.entry_size = sizeof(struct metrics_coroutine);
	m->sites_max = METRICS_FIRST_SITE + (sites_max ? sites_max : METRICS_SITES_DEFAULT);
	m->waits_max = 2 * m->sites_max;
	m->sites = calloc(m->sites_max, sizeof(*m->sites));
	m->waits = calloc(m->waits_max, sizeof(*m->waits));
	if (!m->sites || !m->waits || !metrics_add_site(m, "other") ||
	    !metrics_add_site(m, "unknown"))
		return err_set(err, -ENOMEM, "no memory for metrics of '%s'", path);
	m->waits[m->nr_waits++].reason = NR_TRACE_REASONS;
	return 0;
}

void metrics_release(struct metrics *m)
{
	size_t i;

	for (i = 0; i < m->nr_sites; i++)
		free(m->sites[i].label);
	free(m->sites);
	free(m->waits);
	u64map_release(&m->site_slots);
	u64map_release(&m->waits_numbers);
	wait_pairs_release(&m->pairs);
	coro_table_release(&m->coroutines);
	context_table_release(&m->contexts);
	pthread_mutex_destroy(&m->turn);
	pthread_mutex_destroy(&m->lock);
	memset(m, 0, sizeof(*m));
}

void metrics_lock(struct metrics *m)
{
	pthread_mutex_lock(&m->turn);
	pthread_mutex_lock(&m->lock);
	pthread_mutex_unlock(&m->turn);
}

void metrics_unlock(struct metrics *m)
{
	pthread_mutex_unlock(&m->lock);
}

/* ---- sites ------------------------------------------------------------------- */

/* Two samples with equal labels are an error: a slot whose label exists is given back. */
static uint64_t metrics_same_label(struct metrics *m, uint64_t slot)
{
	uint64_t i = METRICS_FIRST_SITE;

	while (strcmp(m->sites[i].label, m->sites[slot].label) != 0)
		i++;
	if (i < slot) {
		free(m->sites[slot].label);
		m->sites[slot].label = NULL;
		m->nr_sites--;
	}
	return i;
}

static int metrics_enter_site(struct metrics *m, const struct trace_site *site)
{
	char text[2 * SITE_NAME_SIZE + 16];
	uint64_t slot;

	if (u64map_get(&m->site_slots, site->id, &slot))
		return 0;
	if (m->nr_sites == m->sites_max) {
		m->sites_beyond++;
		return u64map_put(&m->site_slots, site->id, METRICS_OTHER);
	}
	site_text(text, sizeof(text), site->file, site->line, site->function);
	slot = m->nr_sites;
	if (!metrics_add_site(m, text))
		return -ENOMEM;
	return u64map_put(&m->site_slots, site->id, metrics_same_label(m, slot));
}

static uint32_t metrics_slot(const struct metrics *m, uint32_t site)
{
	uint64_t slot;

	return site && u64map_get(&m->site_slots, site, &slot) ? (uint32_t)slot : METRICS_UNKNOWN;
}

/* ---- waits ------------------------------------------------------------------- */

/* Returns the bucket. */
static unsigned metrics_observe(struct metrics_histogram *h, uint64_t ns)
{
	unsigned i = 0;

	while (i < METRICS_BUCKETS && ns > metrics_bounds[i])
		i++;
	h->buckets[i]++;
	h->count++;
	h->sum_ns += ns;
	return i;
}

static struct metrics_waits *metrics_waits_at(struct metrics *m, uint32_t slot, uint8_t reason)
{
	uint64_t *number;

	if (slot == METRICS_OTHER)
		return &m->waits[0];
	number = u64map_at(&m->waits_numbers, (uint64_t)slot << 8 | reason);
	if (!number) {
		memory_shortage_note();
		return &m->waits[0];
	}
	if (!*number && m->nr_waits < m->waits_max) {
		*number = m->nr_waits;
		m->waits[m->nr_waits].site = slot;
		m->waits[m->nr_waits++].reason = reason;
	}
	return &m->waits[*number];
}

static void metrics_add_wait(void *ctx, const struct wait_pair *pair)
{
	struct metrics *m = ctx;
	const struct trace_context *context;
	struct metrics_waits *w;
	unsigned bucket;

	m->wait_states[pair->state]++;
	if (pair->state != WAIT_RESUMED || pair->end_ts < pair->ts)
		return;
	w = metrics_waits_at(m, metrics_slot(m, pair->site), pair->reason);
	bucket = metrics_observe(&w->wait, pair->end_ts - pair->ts);
	context = context_table_find(&m->contexts, pair->probe_id);
	if (context)
		w->exemplars[bucket] = (struct metrics_exemplar){ *context,
								  pair->end_ts - pair->ts };
	if (pair->woken_ts && pair->woken_ts <= pair->end_ts)
		metrics_observe(&w->ready, pair->end_ts - pair->woken_ts);
}

/* ---- coroutines -------------------------------------------------------------- */

static void metrics_count_coroutine(struct metrics *m, struct metrics_coroutine *co, uint8_t state,
				    uint32_t slot)
{
	if (co->counted)
		m->sites[co->slot].states[co->counted]--;
	co->counted = state;
	co->slot = slot;
	if (state) {
		m->sites[slot].states[state]++;
		m->sites[slot].seen |= 1u << state;
	}
}

/* A wake does not prove that its target exists. */
static int metrics_add_wake(struct metrics *m, const struct trace_event *ev)
{
	struct metrics_coroutine *co = coro_table_find(&m->coroutines, ev->probe_id, ev->station);

	if (co && co->counted == TRACE_STATE_SUSPENDED)
		metrics_count_coroutine(m, co, TRACE_STATE_READY, co->slot);
	return 0;
}

static int metrics_add_life(struct metrics *m, const struct trace_event *ev)
{
	struct metrics_coroutine *co = coro_table_enter(&m->coroutines, ev->probe_id, ev->station);

	if (!co)
		return -ENOMEM;
	if (!coro_step_counts(coro_step_of(&co->life, ev)))
		return 0;
	if (!co->birth_slot)
		co->birth_slot = METRICS_UNKNOWN;
	if (ev->kind == TRACE_BIRTH)
		co->birth_slot = metrics_slot(m, ev->site);
	coro_step_apply(&co->life, ev);
	metrics_count_coroutine(m, co, co->life.state,
				ev->kind == TRACE_SUSPEND ? metrics_slot(m, ev->site)
							  : co->birth_slot);
	if (coro_event_destroys(ev)) {
		metrics_count_coroutine(m, co, TRACE_STATE_UNKNOWN, 0);
		coro_table_remove(&m->coroutines, co);
	}
	return 0;
}

static int metrics_add_event(struct metrics *m, const struct trace_event *ev)
{
	m->collected[trace_is_transition(ev) ? METRICS_TRANSITION : METRICS_EVENT_OTHER]++;
	if (ev->ts > m->last_ts)
		m->last_ts = ev->ts;
	/* A wait has the context that the coroutine had before this event. */
	if (wait_pairs_event(&m->pairs, ev, metrics_add_wait, m) < 0 ||
	    context_table_event(&m->contexts, ev) < 0)
		return -ENOMEM;
	switch ((enum trace_kind)ev->kind) {
	case TRACE_WAKE:
		return metrics_add_wake(m, ev);
	case TRACE_SUSPEND:
	case TRACE_RESUME:
	case TRACE_BIRTH:
	case TRACE_END:
	case TRACE_DESTROY:
		return metrics_add_life(m, ev);
	default:
		return 0;
	}
}

/* ---- facts ------------------------------------------------------------------- */

static void metrics_set_label(char *label, size_t size, const char *text)
{
	if (!label[0] && text)
		snprintf(label, size, "%s", text);
}

static const char *metrics_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void metrics_add_run(struct metrics *m, const struct sidecar_run *run)
{
	metrics_set_label(m->labels.host, sizeof(m->labels.host), run->hostname);
	if (run->nr_command)
		metrics_set_label(m->labels.service, sizeof(m->labels.service),
				  metrics_base_name(run->command[0]));
}

/* The totals are exact; gaps are known earlier. */
static void metrics_add_totals(struct metrics *m, const struct sidecar_totals *t)
{
	if (t->lost > m->lost[METRICS_TRANSITION])
		m->lost[METRICS_TRANSITION] = t->lost;
	if (t->others_lost > m->lost[METRICS_EVENT_OTHER])
		m->lost[METRICS_EVENT_OTHER] = t->others_lost;
	if (t->end_ts > m->last_ts)
		m->last_ts = t->end_ts;
}

static int metrics_add(struct metrics *m, const struct trace_item *item)
{
	switch (item->type) {
	case TRACE_ITEM_EVENT:
		return metrics_add_event(m, &item->event);
	case TRACE_ITEM_SITE:
		return metrics_enter_site(m, &item->site);
	case TRACE_ITEM_RUN:
		metrics_add_run(m, &item->run);
		return 0;
	case TRACE_ITEM_MODULE:
		/* The first one is the program itself. */
		metrics_set_label(m->labels.build, sizeof(m->labels.build), item->module.build_id);
		return 0;
	case TRACE_ITEM_GAP:
		m->lost[METRICS_TRANSITION] += item->gap.transitions;
		m->lost[METRICS_EVENT_OTHER] += item->gap.others;
		wait_pairs_gap(&m->pairs, &item->gap);
		return 0;
	case TRACE_ITEM_TOTALS:
		metrics_add_totals(m, &item->totals);
		return 0;
	default:
		return 0;
	}
}

/* ---- reading ----------------------------------------------------------------- */

static int metrics_add_some(struct metrics *m, struct trace_reader *reader, struct err *err)
{
	struct trace_item item;
	unsigned nr = 0;
	int rc = 1;

	metrics_lock(m);
	while (nr++ < METRICS_BATCH && (rc = trace_next(reader, &item, err)) > 0) {
		if (metrics_add(m, &item) < 0) {
			rc = err_set(err, -ENOMEM, "no memory for metrics of '%s'", m->trace);
			break;
		}
	}
	m->missed = trace_reader_stats(reader)->ct.missing;
	m->behind_ns = 0;
	if (rc > 0 && m->last_ts && m->last_ts < clock_now_ns())
		m->behind_ns = clock_now_ns() - m->last_ts;
	metrics_unlock(m);
	return rc;
}

int metrics_read(struct metrics *m, struct trace_reader *reader, struct err *err)
{
	uint64_t start = clock_now_ns();
	int rc;

	do
		rc = metrics_add_some(m, reader, err);
	while (rc > 0 && clock_now_ns() - start < METRICS_READ_NS);
	return rc;
}

void metrics_finish(struct metrics *m)
{
	metrics_lock(m);
	m->has_ended = true;
	m->behind_ns = 0;
	metrics_unlock(m);
}
