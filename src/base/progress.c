/* SPDX-License-Identifier: MIT */
/* progress.c - progress of a long operation, on stderr. */
#include "base/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/text.h"

void progress_start(struct progress *p, const char *what, uint64_t total)
{
	p->what = what;
	p->total = total;
	p->on = isatty(STDERR_FILENO);
	p->shown = false;
	p->start_ns = clock_now_ns();
	p->next_ns = p->start_ns + NS_PER_SEC;
}

void progress_update(struct progress *p, uint64_t done)
{
	uint64_t now;
	double seconds, rate;

	if (!p->on)
		return;
	now = clock_now_ns();
	if (now < p->next_ns)
		return;
	p->next_ns = now + NS_PER_SEC / 5;
	p->shown = true;
	seconds = (double)(now - p->start_ns) / 1e9;
	rate = (double)done / seconds;
	fputs("\r", stderr);
	text_put(stderr, p->what);
	fprintf(stderr, ": %.0f MB, %.0f MB/s", (double)done / 1e6, rate / 1e6);
	if (p->total > done && rate > 0)
		fprintf(stderr, ", %.0f %%, %.0f s to go", 100.0 * (double)done / (double)p->total,
			(double)(p->total - done) / rate);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
