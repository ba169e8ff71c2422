/* SPDX-License-Identifier: MIT */
/* top_warnings.c - what is wrong in a picture, by the names of the detectors of `report`. */
#include "top/top_warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "top/top_detect.h"

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

/* ---- deadlocks ------------------------------------------------------------------------- */

static void top_warn_deadlock(void *arg, const char *text)
{
	top_warn(arg, "deadlock: %s", text);
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
	top_detect_deadlocks(p, top_warn_deadlock, w);
	top_find_long(w, p, TRACE_STATE_RUNNING, "blocking", "run without a suspend");
	top_find_long(w, p, TRACE_STATE_READY, "starvation", "are ready and do not run");
	if (p->lost)
		top_warn(w, "loss: %s events are lost", text_count(count, p->lost));
}
