/* SPDX-License-Identifier: MIT */
/* top_warnings.c - what is wrong in a picture, by the names of the detectors of `report`. */
#include "top/top_warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

#define WARNING_NS UINT64_C(1000000000) /* shorter slices and waits are usual */

static void top_warn(struct top_warnings *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void top_warn(struct top_warnings *w, const char *fmt, ...)
{
	va_list ap;

	if (w->nr == TOP_WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(w->text[w->nr++], TOP_WARNING_SIZE, fmt, ap);
	va_end(ap);
}

/* ---- rings of joins ------------------------------------------------------------------- */

/* 1 + row of the coroutine that each row joins; 0: none. */
static uint32_t *top_joined_rows(const struct top_picture *p)
{
	uint32_t *joined = calloc(p->nr + 1, sizeof(*joined));
	struct u64map rows = { 0 };
	bool good = joined != NULL;
	uint64_t row;
	size_t i;

	for (i = 0; good && i < p->nr; i++)
		good = u64map_put(&rows, p->rows[i].c->co.probe_id, i + 1) == 0;
	for (i = 0; good && i < p->nr; i++) {
		const struct sidecar_coroutine *co = &p->rows[i].c->co;

		if (p->rows[i].state == TRACE_STATE_SUSPENDED && co->has_resource &&
		    co->reason == TRACE_REASON_JOIN && u64map_get(&rows, co->resource, &row))
			joined[i] = (uint32_t)row;
	}
	u64map_release(&rows);
	if (!good) {
		free(joined);
		return NULL;
	}
	return joined;
}

static void top_warn_ring(struct top_warnings *w, const struct top_picture *p,
			  const uint32_t *joined, uint32_t first)
{
	uint32_t at = joined[first - 1], nr = 1;

	for (; at != first; at = joined[at - 1])
		nr++;
	top_warn(w,
		 "deadlock: %" PRIu32 " coroutines join each other in a ring; one is %" PRIu64
		 " %s",
		 nr, p->rows[first - 1].c->co.probe_id, p->rows[first - 1].c->name);
}

static void top_find_rings(struct top_warnings *w, const struct top_picture *p)
{
	uint32_t *joined = top_joined_rows(p);
	uint32_t *visit = joined ? calloc(p->nr + 1, sizeof(*visit)) : NULL;
	uint32_t at, i;

	for (i = 1; visit && i <= p->nr; i++) {
		for (at = i; at && !visit[at - 1]; at = joined[at - 1])
			visit[at - 1] = i;
		if (at && visit[at - 1] == i && joined[at - 1])
			top_warn_ring(w, p, joined, at);
	}
	free(visit);
	free(joined);
}

/* ---- long states ------------------------------------------------------------------------ */

static void top_find_long(struct top_warnings *w, const struct top_picture *p, uint8_t state,
			  const char *detector, const char *what)
{
	const struct top_row *longest = NULL;
	uint64_t age, most = 0, nr = 0;
	char time[TEXT_SIZE], count[TEXT_SIZE];
	size_t i;

	for (i = 0; i < p->nr; i++) {
		age = p->rows[i].state == state ? top_row_age(&p->rows[i], p) : 0;
		if (age < WARNING_NS)
			continue;
		nr++;
		if (age > most) {
			most = age;
			longest = &p->rows[i];
		}
	}
	if (longest)
		top_warn(w, "%s: %s %s for %s at most, %" PRIu64 " %s", detector,
			 text_count(count, nr), what, text_duration(time, most),
			 longest->c->co.probe_id, longest->c->name);
}

void top_warnings_make(struct top_warnings *w, const struct top_picture *p)
{
	char count[TEXT_SIZE];

	w->nr = 0;
	top_find_rings(w, p);
	top_find_long(w, p, TRACE_STATE_RUNNING, "blocking", "run without a suspend");
	top_find_long(w, p, TRACE_STATE_READY, "starvation", "are ready and do not run");
	if (p->lost)
		top_warn(w, "loss: %s events are lost", text_count(count, p->lost));
}
