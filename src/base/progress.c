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
	p->to_go = -1;
	p->unit = NULL;
}

static void progress_print(struct progress *p, uint64_t done, double rate)
{
	char text[TEXT_SIZE];

	fputs("\r", stderr);
	text_put(stderr, p->what);
	if (p->unit)
		fprintf(stderr, ": %s %s", text_count(text, done), p->unit);
	else
		fprintf(stderr, ": %.0f MB, %.0f MB/s", (double)done / 1e6, rate / 1e6);
}

/* Rounded up, and not more than was shown before. */
static double progress_to_go(struct progress *p, uint64_t done, double rate)
{
	double seconds = (double)(uint64_t)((double)(p->total - done) / rate) + 1;

	if (p->to_go < 0 || seconds < p->to_go)
		p->to_go = seconds;
	return p->to_go;
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
	progress_print(p, done, rate);
	/* A file that is still written may be longer by now. */
	if (p->total && done < p->total && rate > 0)
		fprintf(stderr, ", %u %%, %.0f s to go",
			(unsigned)(100.0 * (double)done / (double)p->total),
			progress_to_go(p, done, rate));
	else if (p->total && rate > 0)
		fputs(", 100 %", stderr);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void progress_full(struct progress *p, const char *rest)
{
	uint64_t now = clock_now_ns();

	/* What is left may take longer than all before it: it is said in any case. */
	if (!p->on || (!p->shown && !rest))
		return;
	p->shown = true;
	progress_print(p, p->total, (double)p->total * 1e9 / (double)(now - p->start_ns));
	fprintf(stderr, ", 100 %%%s%s\033[K", rest ? ", " : "", rest ? rest : "");
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
