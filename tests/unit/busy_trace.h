/* SPDX-License-Identifier: MIT */
/*
 * busy_trace.h - the items of a program with many faults, one scenario after the other, sorted by
 * time.
 *
 * Each scenario has coroutines, threads and sites of its own.  Times are in milliseconds after the
 * first one.
 */
#ifndef BUSY_TRACE_H
#define BUSY_TRACE_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "trace/item.h"

#define BUSY_MS(ms)     (UINT64_C(1000000000) + (uint64_t)((ms)*1e6))
#define BUSY_END        4000
#define BUSY_EVENTS_MAX 8000

static struct trace_event busy_events[BUSY_EVENTS_MAX];
static size_t busy_nr;
static bool busy_is_small; /* without crowds and comparisons, and with few slices */

/* The number of the thread is 7, and the process 50, unless another one is set. */
static inline void busy_add(unsigned kind, double ms, struct trace_event ev)
{
	CHECK(busy_nr < BUSY_EVENTS_MAX);
	ev.kind = (uint8_t)kind;
	ev.is_active = kind == TRACE_RESUME;
	ev.ts = BUSY_MS(ms);
	ev.tid = ev.tid ? ev.tid : 7;
	ev.seq = kind <= TRACE_RESUME ? 2 : 0;
	ev.station = TRACE_NO_STATION;
	ev.name_size = ev.name ? (uint32_t)strlen(ev.name) : 0;
	if (kind == TRACE_BIRTH || (kind >= TRACE_CLOSE && kind <= TRACE_RELEASE))
		ev.pid = 50;
	if (ev.resource)
		ev.flags |= TRACE_HAS_RESOURCE;
	ev.written = busy_nr; /* for the order */
	busy_events[busy_nr++] = ev;
}

#define BUSY(kind, ms, ...) busy_add(TRACE_##kind, ms, (struct trace_event){ __VA_ARGS__ })

static inline void busy_born(double ms, uint64_t id, uint64_t tid, uint32_t site, const char *name)
{
	BUSY(BIRTH, ms, .probe_id = id, .tid = tid, .site = site, .name = name);
	BUSY(RESUME, ms + 0.1, .probe_id = id, .tid = tid);
}

static inline void busy_waits(double ms, uint64_t id, uint64_t tid, uint32_t site, unsigned reason,
			      uint64_t resource)
{
	BUSY(SUSPEND, ms, .probe_id = id, .tid = tid, .site = site, .reason = (uint8_t)reason,
	     .resource = resource);
}

static inline void busy_runs(double ms, uint64_t id, uint64_t tid)
{
	BUSY(RESUME, ms, .probe_id = id, .tid = tid);
}

static inline void busy_ends(double ms, uint64_t id, uint64_t tid)
{
	BUSY(END, ms, .probe_id = id, .tid = tid, .flags = TRACE_DESTROYED);
}

/* ---- scenarios --------------------------------------------------------------------- */

/* Coroutine 1 runs every 20 ms, so that the program is known to go on. */
static inline void busy_ticker(void)
{
	double ms;

	busy_born(0, 1, 7, 1, "ticker");
	for (ms = 1; ms < BUSY_END - 20; ms += busy_is_small ? 300 : 20) {
		busy_waits(ms, 1, 7, 2, TRACE_REASON_TIMER, 0);
		busy_runs(ms + 19, 1, 7);
	}
	busy_waits(BUSY_END - 5, 1, 7, 2, TRACE_REASON_TIMER, BUSY_MS(BUSY_END + 100));
}

static inline void busy_locks(void)
{
	busy_born(10, 10, 20, 3, "left");
	busy_born(10, 11, 21, 3, "right");
	BUSY(ACQUIRE, 12, .probe_id = 10, .tid = 20, .resource = 0x11000, .site = 4);
	BUSY(ACQUIRE, 13, .probe_id = 11, .tid = 21, .resource = 0x12000, .site = 5);
	busy_waits(14, 10, 20, 5, TRACE_REASON_MUTEX, 0x12000);
	busy_waits(15, 11, 21, 4, TRACE_REASON_MUTEX, 0x11000);
	busy_born(16, 12, 22, 3, "behind");
	busy_waits(17, 12, 22, 6, TRACE_REASON_JOIN, 10);
	/* A lock whose holder has ended. */
	busy_born(20, 13, 23, 3, "leaver");
	BUSY(ACQUIRE, 21, .probe_id = 13, .tid = 23, .resource = 0x13000, .site = 4);
	busy_born(22, 14, 23, 3, "heir");
	busy_waits(23, 14, 23, 7, TRACE_REASON_MUTEX, 0x13000);
	busy_ends(24, 13, 23);
	/* A lock that is free. */
	busy_born(30, 20, 24, 3, "late");
	busy_born(30, 21, 25, 3, "early");
	BUSY(ACQUIRE, 31, .probe_id = 21, .tid = 25, .resource = 0x14000, .site = 4);
	busy_waits(32, 20, 24, 8, TRACE_REASON_MUTEX, 0x14000);
	BUSY(RELEASE, 33, .probe_id = 21, .tid = 25, .resource = 0x14000);
	busy_waits(34, 21, 25, 9, TRACE_REASON_SIGNAL, 0);
}

static inline void busy_lost_wakeups(void)
{
	unsigned i;

	/* Closed, woken and not run, expired, ended, without wakers, readable. */
	busy_born(100, 15, 26, 10, "closed");
	busy_waits(101, 15, 26, 11, TRACE_REASON_IO_READ, 5);
	BUSY(CLOSE, 300, .probe_id = 1, .resource = 5, .pid = 50, .site = 2);
	busy_born(110, 16, 27, 10, "woken");
	busy_waits(111, 16, 27, 12, TRACE_REASON_USER, 0);
	BUSY(WAKE, 400, .probe_id = 16, .tid = 9);
	busy_born(120, 17, 26, 10, "expired");
	busy_waits(121, 17, 26, 13, TRACE_REASON_TIMER, BUSY_MS(500));
	busy_born(130, 18, 26, 10, "parent");
	BUSY(BIRTH, 131, .probe_id = 19, .tid = 26, .site = 10, .peer = 18, .name = "child");
	busy_runs(131.5, 19, 26);
	busy_waits(132, 18, 26, 14, TRACE_REASON_JOIN, 19);
	busy_ends(133, 19, 26);
	busy_born(140, 22, 26, 10, "polled");
	busy_waits(141, 22, 26, 15, TRACE_REASON_USER, 0);
	BUSY(RELEASE, 150, .probe_id = 22, .tid = 28,
	     .resource = (uint64_t)TRACE_WAKERS_DROPPED << 32 | 2);
	busy_born(160, 24, 26, 10, "reader");
	busy_waits(161, 24, 26, 16, TRACE_REASON_IO_READ, 9);
	/* The only sender has ended. */
	busy_born(170, 26, 29, 10, "receiver");
	busy_born(170, 27, 29, 10, "sender");
	for (i = 0; i < 3; i++) {
		busy_waits(171 + 3 * i, 26, 29, 17, TRACE_REASON_CHANNEL_RECV, 0x15000);
		BUSY(WAKE, 172 + 3 * i, .probe_id = 26, .tid = 29, .peer = 27, .site = 18);
		busy_runs(173 + 3 * i, 26, 29);
	}
	busy_waits(190, 26, 29, 17, TRACE_REASON_CHANNEL_RECV, 0x15000);
	busy_ends(191, 27, 29);
}

static inline void busy_comparisons(void)
{
	unsigned i;

	/* Four of a kind end soon, one stays. */
	for (i = 0; i < 4; i++) {
		busy_born(200 + i, 30 + i, 31, 20, NULL);
		busy_ends(200.5 + i, 30 + i, 31);
	}
	busy_born(210, 34, 31, 20, NULL);
	busy_waits(211, 34, 31, 21, TRACE_REASON_UNKNOWN, 0);
	/* A rhythm that stops, and one that stops with it. */
	busy_born(220, 50, 32, 22, "steady");
	busy_born(220, 51, 32, 23, "with");
	for (i = 0; i < 12; i++) {
		busy_waits(230 + 20 * i, 50, 32, 24, TRACE_REASON_UNKNOWN, 0);
		busy_runs(240 + 20 * i, 50, 32);
		busy_waits(231 + 20 * i, 51, 32, 25 + i % 2, TRACE_REASON_UNKNOWN, 0);
		busy_runs(241 + 20 * i, 51, 32);
	}
	busy_waits(500, 50, 32, 24, TRACE_REASON_UNKNOWN, 0);
	busy_waits(501, 51, 32, 27, TRACE_REASON_UNKNOWN, 0);
	/* Later waiters of a lock are served. */
	busy_born(600, 52, 33, 28, "overtaken");
	busy_waits(601, 52, 33, 29, TRACE_REASON_SEMAPHORE, 0x16000);
	busy_born(602, 53, 33, 28, "other");
	for (i = 0; i < 30; i++) {
		busy_waits(610 + 3 * i, 53, 33, 29, TRACE_REASON_SEMAPHORE, 0x16000);
		busy_runs(611 + 3 * i, 53, 33);
	}
	busy_ends(710, 53, 33);
	/* Woken while it still ran. */
	busy_born(720, 64, 34, 30, "raced");
	for (i = 0; i < 6; i++) {
		busy_waits(730 + 3 * i, 64, 34, 31, TRACE_REASON_USER, 0);
		BUSY(WAKE, 731 + 3 * i, .probe_id = 64, .tid = 9, .peer = 1);
		busy_runs(732 + 3 * i, 64, 34);
	}
	BUSY(WAKE, 760, .probe_id = 64, .tid = 9, .peer = 1);
	busy_waits(760.01, 64, 34, 31, TRACE_REASON_USER, 0);
	/* Its waker goes on, and does not wake it any more. */
	busy_born(800, 54, 35, 32, "served");
	busy_born(800, 55, 36, 33, "server");
	for (i = 0; i < 12; i++) {
		busy_waits(810 + 10 * i, 54, 35, 34, TRACE_REASON_CHANNEL_RECV, 0x17000);
		BUSY(WAKE, 812 + 10 * i, .probe_id = 54, .tid = 36, .peer = 55);
		busy_waits(813 + 10 * i, 55, 36, 35, TRACE_REASON_YIELD, 0);
		busy_runs(815 + 10 * i, 54, 35);
		busy_runs(816 + 10 * i, 55, 36);
	}
	busy_waits(930, 54, 35, 34, TRACE_REASON_CHANNEL_RECV, 0x17000);
	for (i = 0; i < 50; i++) {
		busy_waits(940 + 10 * i, 55, 36, 35, TRACE_REASON_YIELD, 0);
		busy_runs(941 + 10 * i, 55, 36);
	}
	busy_waits(1500, 55, 36, 35, TRACE_REASON_YIELD, 0);
}

/* More and more coroutines of one kind; most of another one are in their first wait. */
static inline void busy_crowds(void)
{
	unsigned i;

	for (i = 0; i < 120; i++) {
		busy_born(100 + 32 * i, 1000 + i, 40, 40, NULL);
		busy_waits(101 + 32 * i, 1000 + i, 40, 41, TRACE_REASON_IO_READ, 100 + i);
	}
	for (i = 0; i < 13; i++) {
		busy_born(300 + i, 1200 + i, 41, 42, NULL);
		busy_waits(300.5 + i, 1200 + i, 41, 43, TRACE_REASON_UNKNOWN, 0);
	}
	busy_runs(400, 1200, 41);
	busy_ends(401, 1200, 41);
}

static inline void busy_slices(void)
{
	unsigned i;

	/* Coroutine 61 is ready for thread 42 while coroutine 60 keeps it. */
	busy_born(1000, 60, 42, 44, "keeper");
	busy_waits(1001, 60, 42, 45, TRACE_REASON_YIELD, 0);
	busy_born(1001.5, 61, 42, 44, "delayed");
	busy_waits(1002, 61, 42, 46, TRACE_REASON_USER, 0);
	for (i = 0; i < 3; i++) {
		busy_runs(1200 + 200 * i, 60, 42);
		BUSY(WAKE, 1210 + 200 * i, .probe_id = 61, .tid = 9);
		busy_waits(1280 + 200 * i, 60, 42, 45, TRACE_REASON_YIELD, 0);
		busy_runs(1281 + 200 * i, 61, 42);
		busy_waits(1282 + 200 * i, 61, 42, 46, TRACE_REASON_USER, 0);
	}
	/* Coroutine 62 keeps its thread up to the end. */
	busy_born(1010, 62, 43, 44, "endless");
	busy_waits(1011, 62, 43, 47, TRACE_REASON_YIELD, 0);
	busy_born(1012, 63, 43, 44, "hungry");
	busy_waits(1013, 63, 43, 46, TRACE_REASON_USER, 0);
	busy_runs(2000, 62, 43);
	BUSY(WAKE, 2100, .probe_id = 63, .tid = 9);
	/* Empty yields. */
	busy_born(1020, 67, 44, 48, "poller");
	for (i = 0; i < 300u && !busy_is_small; i++) {
		busy_waits(1030 + 0.7 * i, 67, 44, 49, TRACE_REASON_YIELD, 0);
		busy_runs(1030.6999 + 0.7 * i, 67, 44);
	}
	busy_ends(1300, 67, 44);
}

static inline void busy_lives(void)
{
	busy_born(1400, 65, 45, 50, "doubled");
	BUSY(RESUME, 1401, .probe_id = 65, .tid = 46);
	busy_waits(1402, 65, 45, 51, TRACE_REASON_SIGNAL, 0);
	busy_born(1410, 66, 45, 50, "ended");
	BUSY(END, 1411, .probe_id = 66, .tid = 45);
	busy_runs(1412, 66, 46);
	BUSY(BIRTH, 1420, .probe_id = 68, .tid = 45, .site = 52, .name = "unborn");
	busy_born(1430, 69, 45, 53, "dropped");
	busy_waits(1431, 69, 45, 51, TRACE_REASON_USER, 0);
	BUSY(DESTROY, 1500, .probe_id = 69, .tid = 45, .flags = TRACE_WAS_SUSPENDED);
	/* Without a site: an address, and a coroutine that was adopted. */
	BUSY(BIRTH, 1440, .probe_id = 70, .tid = 45, .flags = TRACE_ADOPTED, .name = "old");
	BUSY(SUSPEND, 1441, .probe_id = 70, .tid = 45, .addr = 0x401000,
	     .reason = TRACE_REASON_ACCEPT, .resource = 3);
}

/* ---- facts --------------------------------------------------------------------------- */

typedef void busy_put(void *to, const struct trace_item *item);

static inline void busy_put_start(busy_put *put, void *to)
{
	static const char *const command[] = { "./busy", "--all" };
	static char file[64], function[64];
	struct trace_item item;
	uint32_t i;

	trace_item_init(&item, TRACE_ITEM_RUN);
	item.run = (struct sidecar_run){ .format = 1,
					 .tool = "corotracer 1",
					 .command = command,
					 .nr_command = 2,
					 .pid = 50,
					 .start_ts = BUSY_MS(0) - 1000,
					 .start_realtime = UINT64_C(1700000000000000000),
					 .hostname = "box",
					 .arch = "x86_64",
					 .stations = 16 };
	put(to, &item);
	trace_item_init(&item, TRACE_ITEM_PROCESS);
	item.process = (struct sidecar_process){ 50, 1000, BUSY_MS(0), 0 };
	put(to, &item);
	for (i = 1; i <= 53; i++) {
		trace_item_init(&item, TRACE_ITEM_SITE);
		snprintf(file, sizeof(file), "/src/busy/%s.c", i < 20 ? "locks" : "work");
		snprintf(function, sizeof(function), "step_%u", i);
		item.site = (struct trace_site){ i, 100 + i, 50, file, function };
		put(to, &item);
	}
	trace_item_init(&item, TRACE_ITEM_WAITING);
	item.waiting = (struct trace_waiting){ .pid = 50,
					       .ts = BUSY_MS(1),
					       .count = 7,
					       .is_checked = true,
					       .unmoved = 4,
					       .line = 9,
					       .file = "old.c",
					       .function = "old",
					       .stack = "old old.c:9 <- main old.c:30",
					       .verdict = "unreachable" };
	put(to, &item);
	item.waiting.is_checked = false;
	item.waiting.verdict = "waiting";
	put(to, &item);
}

static inline void busy_put_cpu(busy_put *put, void *to)
{
	struct trace_item item;
	unsigned i;

	for (i = 0; i < 3; i++) {
		trace_item_init(&item, TRACE_ITEM_CPU);
		item.cpu = (struct trace_cpu){ .pid = 50,
					       .tid = 42,
					       .from_ts = BUSY_MS(1200 + 200 * i),
					       .to_ts = BUSY_MS(1280 + 200 * i),
					       .cpu_ns = 20000000,
					       .queued_ns = 4000000,
					       .state = TRACE_CPU_BLOCKED,
					       .call = i ? "read" : "fsync" };
		put(to, &item);
	}
	trace_item_init(&item, TRACE_ITEM_CPU);
	item.cpu = (struct trace_cpu){ .pid = 50,
				       .tid = 43,
				       .from_ts = BUSY_MS(2000),
				       .to_ts = BUSY_MS(BUSY_END),
				       .cpu_ns = 1900000000,
				       .queued_ns = 50000000,
				       .state = TRACE_CPU_RUNNING };
	put(to, &item);
	trace_item_init(&item, TRACE_ITEM_DESCRIPTOR);
	item.descriptor = (struct trace_descriptor){ .pid = 50,
						     .probe_id = 24,
						     .fd = 9,
						     .from_ts = BUSY_MS(600),
						     .to_ts = BUSY_MS(900),
						     .unread = 12,
						     .kind = "socket",
						     .ready = TRACE_DESCRIPTOR_READ,
						     .watch = TRACE_WATCH_EDGE };
	put(to, &item);
	trace_item_init(&item, TRACE_ITEM_DESCRIPTOR);
	item.descriptor = (struct trace_descriptor){ .pid = 50,
						     .from_ts = BUSY_MS(600),
						     .to_ts = BUSY_MS(3900) };
	put(to, &item);
}

static inline int busy_compare(const void *a, const void *b)
{
	const struct trace_event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->written < y->written ? -1 : 1; /* as they were added */
}

/* Puts the events into busy_events, in the order of time. */
static inline void busy_make_events(void)
{
	busy_nr = 0;
	busy_ticker();
	busy_locks();
	busy_lost_wakeups();
	if (!busy_is_small) {
		busy_comparisons();
		busy_crowds();
	}
	busy_slices();
	busy_lives();
	qsort(busy_events, busy_nr, sizeof(busy_events[0]), busy_compare);
}

static inline void busy_put_events(busy_put *put, void *to)
{
	struct trace_item item;
	size_t i;

	for (i = 0; i < busy_nr; i++) {
		trace_item_init(&item, TRACE_ITEM_EVENT);
		item.event = busy_events[i];
		item.event.written = 0;
		put(to, &item);
	}
}

static inline void busy_put_end(busy_put *put, void *to)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_COROUTINE);
	item.coroutine.probe_id = 10;
	item.coroutine.station = TRACE_NO_STATION;
	item.coroutine.written = 3;
	put(to, &item);
	trace_item_init(&item, TRACE_ITEM_TOTALS);
	item.totals.complete = true;
	item.totals.written = item.totals.collected = busy_nr;
	item.totals.exit_status = 0;
	item.totals.end_ts = BUSY_MS(BUSY_END);
	put(to, &item);
}

/* Calls @put with every item. */
static inline void busy_items(busy_put *put, void *to)
{
	busy_make_events();
	busy_put_start(put, to);
	busy_put_cpu(put, to);
	busy_put_events(put, to);
	busy_put_end(put, to);
}

#endif
