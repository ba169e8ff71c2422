/* SPDX-License-Identifier: MIT */
/*
 * fuzz_report.c - the analysis and all forms of its report, on corrupt traces.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_report [ITERATIONS [SEED]]
 *
 * Eight bytes of the input are an item (items.h).  Beyond "does not crash": the numbers of a
 * group add up, what is written as JSON can be read, and a run does not differ from itself.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff.h"
#include "analyze/report.h"
#include "fuzz/items.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A run without findings proves nothing. */
static uint64_t nr_findings, nr_detectors_seen;
static bool seen[64];

static void check_groups(const struct analysis *a)
{
	size_t i;

	for (i = 0; i < a->findings.nr; i++) {
		const struct group *g = &a->findings.groups[i];
		uint64_t sum = 0;
		int k;

		for (k = 0; k < NR_CONFIDENCES; k++)
			sum += g->by_confidence[k];
		MUST(g->count && sum == g->count);
		MUST(!g->has_coro || (g->affected.nr && g->affected.nr <= g->count));
		MUST(g->place < a->model.nr_places && g->spawn < a->model.nr_spawns);
		nr_findings += g->count;
		nr_detectors_seen += !seen[detector_number(g->detector)];
		seen[detector_number(g->detector)] = true;
	}
}

static void write_forms(const struct report *r)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	json_t *json;

	MUST(f != NULL);
	MUST(report_json(r, f) == 0 && fflush(f) == 0);
	json = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL); /* its integers have 63 bits */
	MUST(json != NULL);
	json_decref(json);
	rewind(f);
	MUST(report_suppressions(r, f) == 0);
	MUST(report_sarif(r, f) == 0 && report_markdown(r, f) == 0 && report_text(r, f) == 0 &&
	     report_junit(r, f) == 0);
	fclose(f);
	free(text);
}

/* A comparison of a run with itself has no difference. */
static void compare_with_itself(const struct report *r)
{
	static const char *const names[] = { "t", NULL }, *const none[] = { NULL };
	struct diff_form form = { .base = names, .head = names, .notes = none, .all = true };
	struct diff d = { .limits = { .percent = 1 } };
	FILE *f = fopen("/dev/null", "we");

	MUST(f != NULL);
	diff_profile_init(&d.base, 1);
	diff_profile_init(&d.head, 1);
	MUST(diff_profile_add(&d.base, r) == 0 && diff_profile_add(&d.head, r) == 0);
	MUST(diff_compare(&d) == 0 && d.nr == 0 && d.compared == d.base.nr_sites);
	MUST(diff_text(&d, &form, f) == 0 && diff_markdown(&d, &form, f) == 0 &&
	     diff_json(&d, &form, f) == 0);
	diff_release(&d);
	fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_stats stats = { 0 };
	struct analysis *a = analysis_new(NULL);
	struct report r = { .trace = "t",
			    .analysis = a,
			    .stats = &stats,
			    .gate = CONFIDENCE_STRONG,
			    .all_coroutines = true };
	struct trace_item item;

	MUST(a != NULL);
	items_ts = 1000;
	for (; size >= 8; data += 8, size -= 8) {
		make_item(data, &item);
		MUST(analysis_add(a, &item) == 0);
	}
	MUST(analysis_finish(a, NULL) == 0);
	check_groups(a);
	write_forms(&r);
	compare_with_itself(&r);
	analysis_free(a);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "own_input.h"

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 2000, i;
	uint8_t data[8 * 400];

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	for (i = 0; i < rounds; i++) {
		size_t size = fill_random(data, sizeof(data));

		own_input(data, size);
	}
	printf("%ld inputs: %llu findings, of %llu detectors\n", rounds,
	       (unsigned long long)nr_findings, (unsigned long long)nr_detectors_seen);
	return nr_detectors_seen >= 8 ? 0 : 1;
}
#endif
