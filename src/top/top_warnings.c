/* SPDX-License-Identifier: MIT */
/* top_warnings.c - what is wrong in a picture: findings of the detectors of `report`, and loss. */
#include "top/top_warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "top/top_detect.h"

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

/* ---- findings ---------------------------------------------------------------------------- */

static void top_warn_of(void *arg, const struct top_finding *f)
{
	char time[TEXT_SIZE], count[TEXT_SIZE];
	const char *sure = f->is_sure ? "" : " (suspected)";

	/* One line is for loss. */
	if (((struct top_warnings *)arg)->nr == TOP_WARNINGS_MAX - 1)
		return;
	/* A ring is told by its members. */
	if (!strcmp(f->detector, "deadlock"))
		top_warn(arg, "%s: %s", f->detector, f->detail);
	else
		top_warn(arg, "%s%s: %s for %s at most, %" PRIu64 " %s", f->detector, sure,
			 text_count(count, f->nr), text_duration(time, f->longest_ns), f->id,
			 f->name);
}

void top_warnings_make(struct top_warnings *w, const struct top_picture *p)
{
	char count[TEXT_SIZE];

	w->nr = 0;
	top_detect(p, top_warn_of, w);
	if (p->lost)
		top_warn(w, "loss: %s events are lost", text_count(count, p->lost));
}
