/* SPDX-License-Identifier: MIT */
/*
 * weak_stations.c - all executions of a station that threads hand to each other, and of its reader.
 *
 * The first eight events are written, and the first two of them are read, before an execution
 * begins: its events overwrite others.
 */
#include <corotracer/probe.h>

#include "collect/station_scan.h"
#include "weak_tests.h"

#include <string.h>

#define BEFORE 8u /* events before an execution */
#define READ   2u /* of these, read */
#define MOST   32u

static struct ctp_header *header;
static struct ctp_station *station;
static struct ctp_thread writers[2];
static struct ctp_probe probe;
static struct harvest harvest;
static struct cursor cursor;
static uint64_t last_read, nr_taken;

/* ---- set up ------------------------------------------------------------------------ */

/* Event k has the address k + 1 and the time 1000 + k; its thread is even or odd as k / 2 is. */
static void write_event(struct ctp_thread *t)
{
	uint64_t k = probe.nr_events;

	ctp_probe_put(&probe, t, 1000 + k, k + 1, k % 2);
}

static void sink_transition(void *ctx, const struct trace_event *ev)
{
	uint64_t k = ev->addr - 1;

	(void)ctx;
	if (ev->addr <= last_read || k >= MOST || ev->ts != 1000 + k || ev->is_active != k % 2 ||
	    ev->seq != 2 * (k / CTP_SLOTS) + 2)
		weak_fail("event %llu with the time %llu and seq %llu after event %llu",
			  (unsigned long long)k, (unsigned long long)ev->ts,
			  (unsigned long long)ev->seq, (unsigned long long)last_read);
	last_read = ev->addr;
	nr_taken++;
}

static void describe_station(void)
{
	struct ctp_ext_station *ext = ctp_station_ext(station);

	ext->version = CTP_EXT_VERSION;
	ext->magic = CTP_EXT_MAGIC;
	station->probe_id = 1;
	header->allocated_count = 1;
}

static void make_station(void)
{
	unsigned i;

	header = weak_alloc(sizeof(*header));
	station = weak_alloc(sizeof(*station));
	weak_seqlock(station, sizeof(*station));
	probe = (struct ctp_probe){ .station = station };
	describe_station();
	for (i = 0; i < BEFORE; i++)
		write_event(&writers[0]);
	cursor = (struct cursor){ .next = READ, .probe_id = 1, .writer = WRITER_COROTRACER };
	harvest = (struct harvest){ .header = header,
				    .stations = station,
				    .nr_stations = 1,
				    .cursors = &cursor,
				    .sink = sink_transition };
	last_read = READ;
	nr_taken = READ;
	weak_restore(&probe, sizeof(probe));
	weak_restore(&cursor, sizeof(cursor));
	weak_restore(&harvest, sizeof(harvest));
	weak_restore(&last_read, sizeof(last_read));
	weak_restore(&nr_taken, sizeof(nr_taken));
}

/* ---- threads ------------------------------------------------------------------------- */

static void write_two(void)
{
	write_event(&writers[0]);
	write_event(&writers[0]);
}

static void write_and_hand_over(void)
{
	write_two();
	weak_hand_over(0);
}

static void take_and_write(void)
{
	weak_take_over(0);
	write_event(&writers[1]);
}

static void scan_once(void)
{
	struct harvest_scan out;

	harvest_scan(&harvest, &out);
	if (harvest.totals.garbage)
		weak_fail("an event of an honest program is taken for garbage");
}

static void scan_twice(void)
{
	scan_once();
	scan_once();
}

static void check_station(void)
{
	struct harvest_scan out;

	harvest.last = true;
	do {
		harvest_scan(&harvest, &out);
	} while (out.events || out.lost);
	if (harvest.totals.garbage)
		weak_fail("%llu slots are taken for garbage",
			  (unsigned long long)harvest.totals.garbage);
	if (nr_taken + cursor.lost != probe.nr_events || cursor.next != probe.nr_events)
		weak_fail("%llu events: %llu read, %llu lost", (unsigned long long)probe.nr_events,
			  (unsigned long long)nr_taken, (unsigned long long)cursor.lost);
}

const struct weak_test weak_tests[] = {
	{ .name = "station",
	  .what = "2 events overwrite others; 2 scans",
	  .nr_threads = 2,
	  .set_up = make_station,
	  .threads = { write_two, scan_twice },
	  .check = check_station },
	{ .name = "station-hand-over",
	  .what = "another thread writes the third; 1 scan",
	  .nr_threads = 3,
	  .set_up = make_station,
	  .threads = { write_and_hand_over, take_and_write, scan_once },
	  .check = check_station },
	{ .name = "station-multi-copy",
	  .what = "the same on x86-64 and aarch64, without the fence",
	  .nr_threads = 3,
	  .set_up = make_station,
	  .threads = { write_and_hand_over, take_and_write, scan_once },
	  .check = check_station,
	  .is_multi_copy = true },
	{ 0 },
};
