/* SPDX-License-Identifier: MIT */
/* report_junit.c - the report as a JUnit test suite: one test case per detector. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/report.h"
#include "base/text.h"

/* XML allows neither control characters, even escaped, nor invalid UTF-8. */
static void report_put(FILE *out, const char *text)
{
	size_t size;

	for (; *text; text += size) {
		size = strcspn(text, "<>&\"");
		text_put_n(out, text, size);
		if (!size)
			fprintf(out, "&#%u;", (unsigned char)*text);
		size += !size;
	}
}

/* A failure is what --fail-on all fails on, and what else the user asked to fail on. */
static bool is_failure(const struct report *r, const struct group *g, const struct detector *d)
{
	return g->detector == d && report_shows(r, g) && g->confidence >= r->gate &&
	       (d->is_fault || (r->fails && r->fails[detector_number(d)]));
}

static uint64_t failures_of(const struct report *r, const struct detector *d)
{
	const struct findings *f = &r->analysis->findings;
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < f->nr; i++)
		nr += is_failure(r, &f->groups[i], d);
	return nr;
}

static void put_failure(const struct report *r, FILE *out, const struct group *g)
{
	struct report_place where;
	char line[EVIDENCE_TEXT + 520], names[2048];
	unsigned i;

	fprintf(out, "      <failure type=\"%s\" message=\"", confidence_name(g->confidence));
	report_put(out, g->detector->title);
	fprintf(out, ", %" PRIu64 " times", g->count);
	if (report_group_place(r, g, &where)) {
		fputs(", at ", out);
		report_put(out, where.text);
	}
	fputs("\">", out);
	report_put(out, g->finding.detail);
	for (i = 0; report_evidence(r, g, i, line, sizeof(line)); i++) {
		fputs("\n", out);
		report_put(out, line);
	}
	if (report_names(r, g, 20, names, sizeof(names))) {
		fputs("\ncoroutines: ", out);
		report_put(out, names);
	}
	fputs("\nnext: ", out);
	report_put(out, report_hint(g));
	fputs("</failure>\n", out);
}

static void put_case(const struct report *r, FILE *out, const struct detector *d)
{
	const struct findings *f = &r->analysis->findings;
	size_t i;

	fprintf(out, "    <testcase classname=\"corotracer\" name=\"%s\"", d->name);
	if (!failures_of(r, d)) {
		fputs("/>\n", out);
		return;
	}
	fputs(">\n", out);
	for (i = 0; i < f->nr; i++) {
		if (is_failure(r, &f->groups[i], d))
			put_failure(r, out, &f->groups[i]);
	}
	fputs("    </testcase>\n", out);
}

/*
 * Findings of an incomplete trace are suspicions and fail no test case, so the trace has its own.
 */
static void put_trace_case(const struct report *r, FILE *out)
{
	char text[TRACE_SHORTAGE_SIZE];

	fputs("    <testcase classname=\"corotracer\" name=\"trace-is-complete\">\n"
	      "      <error type=\"incomplete\" message=\"",
	      out);
	report_put(out, trace_shortage(r->stats, text, sizeof(text)));
	fputs("\"/>\n    </testcase>\n", out);
}

static void junit_suite(const struct report *r, FILE *out)
{
	const struct detector *const *d;
	bool is_incomplete = report_is_incomplete(r);
	uint64_t tests = is_incomplete, failed = 0;

	for (d = detectors; *d; d++) {
		tests++;
		failed += failures_of(r, *d) > 0;
	}
	fprintf(out,
		"  <testsuite name=\"corotracer report\" tests=\"%" PRIu64 "\" failures=\"%" PRIu64
		"\" errors=\"%d\">\n",
		tests, failed, is_incomplete);
	if (is_incomplete)
		put_trace_case(r, out);
	for (d = detectors; *d; d++)
		put_case(r, out, *d);
	fputs("  </testsuite>\n", out);
}

int report_junit(const struct report *r, FILE *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
	for (; r; r = r->next)
		junit_suite(r, out);
	fputs("</testsuites>\n", out);
	return ferror(out) ? -EIO : 0;
}
