/* SPDX-License-Identifier: MIT */
/*
 * fuzz_report.c - the analysis and all forms of its report, on traces that make no sense.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_report [ITERATIONS [SEED]]
 *
 * Eight bytes of the input are an item: events of any kind in any order, of few
 * coroutines so that they meet, with times that jump; sites, gaps, coroutines, modules
 * and totals among them.  Beyond "does not crash": the numbers of a group add up, and
 * what is written as JSON can be read.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/* A run that never found anything proves nothing. */
static uint64_t nr_findings, nr_detectors_seen;
static bool seen[64];

static uint64_t ts;

static uint64_t step_time(uint8_t byte)
{
	static const uint64_t steps[] = {
		0, 1, 100, 1000, 1000000, 60000000, 1000000000, 1ull << 62
	};

	if (byte >= 248) /* back, as foreign traces do */
		ts -= ts < 1000 ? ts : 1000;
	else
		ts += steps[byte % 8] * (1 + byte / 8 % 4);
	return ts ? ts : 1;
}

static void make_event(const uint8_t *p, struct trace_event *ev)
{
	trace_event_init(ev);
	ev->kind = p[0] % NR_TRACE_KINDS;
	ev->is_active = ev->kind == TRACE_RESUME;
	ev->probe_id = p[1] % 12;
	ev->ts = step_time(p[2]);
	ev->tid = p[3] % 4;
	ev->seq = 2 + p[3] / 4u;
	ev->site = p[4] % 5;
	ev->addr = p[4] & 0x80 ? p[4] * UINT64_C(0x123456789) : p[4] % 3;
	ev->reason = p[5] % (NR_TRACE_REASONS + 1);
	ev->flags = p[6] &
		    (TRACE_HAS_RESOURCE | TRACE_DESTROYED | TRACE_WAS_SUSPENDED | TRACE_CANCELLED);
	ev->resource = p[7] & 0x80 ? ts + p[7] : p[7] % 12;
	ev->peer = p[6] / 32u;
	ev->pid = p[5] & 0x80 ? 1 : 0;
	ev->station = p[6] == 255 ? p[7] : TRACE_NO_STATION;
	ev->name = "worker\x01 12 <&\"|*";
	ev->name_size = ev->kind == TRACE_BIRTH ? p[7] % 16u : 0;
	ev->written = p[7];
	ev->lost = p[5];
}

static void make_item(const uint8_t *p, struct trace_item *item)
{
	switch (p[0] >= 240 ? p[0] : 0) {
	case 240:
		trace_item_init(item, TRACE_ITEM_SITE);
		item->site = (struct trace_site){ p[1] % 5, p[2], 1, "a.c", p[3] ? "f\n`" : "" };
		break;
	case 241:
		trace_item_init(item, TRACE_ITEM_GAP);
		item->gap = (struct trace_gap){ 0, 1, p[1] % 4, ts, ts + p[2], p[3], p[4] };
		break;
	case 242:
		trace_item_init(item, TRACE_ITEM_COROUTINE);
		item->coroutine.probe_id = p[1] % 12;
		item->coroutine.written = p[2];
		item->coroutine.lost = p[3];
		item->coroutine.dead = p[4] & 1;
		item->coroutine.name = p[5] & 1 ? "named" : NULL;
		break;
	case 243:
		trace_item_init(item, TRACE_ITEM_RUN);
		break;
	case 244:
		trace_item_init(item, TRACE_ITEM_TOTALS);
		item->totals.end_ts = ts + p[1];
		item->totals.lost = p[2];
		item->totals.signal = p[3] % 16;
		break;
	default:
		trace_item_init(item, TRACE_ITEM_EVENT);
		make_event(p, &item->event);
	}
}

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
	MUST(report_sarif(r, f) == 0 && report_markdown(r, f) == 0 && report_text(r, f) == 0 &&
	     report_junit(r, f) == 0);
	fclose(f);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_stats stats = { 0 };
	struct analysis *a = analysis_new(NULL);
	struct report r = { .trace = "t", .analysis = a, .stats = &stats };
	struct trace_item item;

	MUST(a != NULL);
	ts = 1000;
	for (; size >= 8; data += 8, size -= 8) {
		make_item(data, &item);
		MUST(analysis_add(a, &item) == 0);
	}
	MUST(analysis_finish(a) == 0);
	check_groups(a);
	write_forms(&r);
	analysis_free(a);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
static uint64_t state;

static uint32_t next_random(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 2000, i;
	uint8_t data[8 * 400];

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	for (i = 0; i < rounds; i++) {
		size_t size = next_random() % sizeof(data), k;
		bool is_ours = next_random() % 2;

		for (k = 0; k < size; k++)
			data[k] = (uint8_t)next_random();
		if (is_ours)
			data[0] = 243;
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%ld inputs: %llu findings, of %llu detectors\n", rounds,
	       (unsigned long long)nr_findings, (unsigned long long)nr_detectors_seen);
	return nr_detectors_seen >= 8 ? 0 : 1;
}
#endif
