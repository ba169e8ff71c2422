/* SPDX-License-Identifier: MIT */
/*
 * fuzz_region.c - the station scan survives any content of the region.
 *
 * The input is a list of writes into a region of eight stations, with scans in
 * between.  Checked: written = collected + lost, per station and in all; no
 * impossible event is handed on; no impossible count; no scan that takes more than a
 * station holds.
 *
 * With clang: -DFUZZ_LIBFUZZER -fsanitize=fuzzer.  Otherwise main() makes its own
 * inputs: fuzz_region [ROUNDS [SEED]].
 */
#include <corotracer/ctp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "collect/station_scan.h"

#define STATIONS 8u
#define SIZE     (sizeof(struct ctp_header) + STATIONS * sizeof(struct ctp_station))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char region[SIZE] __attribute__((aligned(4096)));
static uint64_t handed_on;

static void fail(const char *what)
{
	fprintf(stderr, "fuzz_region: %s\n", what);
	abort();
}

static void sink(void *ctx, const struct trace_event *ev)
{
	(void)ctx;
	if (!trace_event_is_possible(ev))
		fail("an event that cannot be was handed on");
	handed_on++;
}

static void check(const struct harvest *h)
{
	uint64_t written = 0, lost = 0, believable = clock_now_ns() - h->start_ns + (1 << 21);
	uint32_t i;

	for (i = 0; i < STATIONS; i++) {
		if (h->cursors[i].lost > h->cursors[i].next || h->cursors[i].next > believable)
			fail("a count that cannot be");
		written += h->cursors[i].next;
		lost += h->cursors[i].lost;
	}
	if (h->totals.written != written || h->totals.lost != lost ||
	    h->totals.collected != handed_on || written != handed_on + lost)
		fail("written is not collected + lost");
}

/* One write of the input: where (2 bytes), how long (3 bits), what (1 to 8 bytes); or a scan. */
static size_t step(struct harvest *h, const uint8_t *data, size_t size)
{
	size_t at = (size_t)(data[0] | data[1] << 8) % (SIZE - 8), len = data[2] % 8u + 1;
	struct harvest_scan out;
	uint64_t before = handed_on;

	if (data[2] & 0x80) {
		harvest_scan(h, &out);
		if (handed_on - before > 2u * CTP_SLOTS * STATIONS)
			fail("a scan took more than there can be");
		check(h);
		return 3;
	}
	/* Mostly at the decisive offsets: seqs, in slots. */
	if (data[2] & 0x40)
		at = sizeof(struct ctp_header) + (at / 1024 % STATIONS) * 1024 + 0x40 +
		     (at % 8) * 64 + 0x18;
	if (size < 3 + len)
		return size;
	memcpy(region + at, data + 3, len);
	return 3 + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct harvest_coroutine co;
	struct err err = { 0 };
	struct harvest h;
	uint32_t i;

	memset(region, 0, sizeof(region));
	handed_on = 0;
	if (harvest_open(&h, (struct ctp_header *)region, ctp_stations((struct ctp_header *)region),
			 STATIONS, sink, NULL, &err) < 0)
		return 0;
	((struct ctp_header *)region)->allocated_count = STATIONS;
	while (size >= 3) {
		size_t used = step(&h, data, size);

		data += used;
		size -= used;
	}
	harvest_finish(&h);
	check(&h);
	for (i = 0; i < STATIONS; i++)
		harvest_describe(&h, i, &co);
	harvest_close(&h);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "own_input.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Small seqs are likelier than large ones: they pass more checks. */
static size_t make_input(uint8_t *data, size_t size, uint64_t *state)
{
	size_t i;

	for (i = 0; i < size; i++) {
		uint64_t r = next_random(state);

		data[i] = r & 0x300 ? (uint8_t)(r % 12) : (uint8_t)r;
		if (i % 7 == 2)
			data[i] = (uint8_t)(r >> 16);
	}
	return size;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;
	static uint8_t data[2048];
	uint64_t events = 0;

	for (i = 0; i < rounds; i++) {
		size_t size = make_input(data, next_random(&state) % sizeof(data), &state);

		own_input(data, size);
		events += handed_on;
	}
	printf("%lu inputs, %llu events believed\n", rounds, (unsigned long long)events);
	/* Inputs that are always rejected would test little. */
	return events > rounds / 100 ? 0 : 1;
}
#endif
