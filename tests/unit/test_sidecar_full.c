/* SPDX-License-Identifier: MIT */
/* test_sidecar_full.c - the disk is full: what the writer counts is what the file holds. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "trace/sidecar.h"

static char dir[] = "/tmp/ct_test_XXXXXX", path[64];

static struct trace_event event_of(unsigned kind, uint64_t n)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = (uint8_t)kind;
	ev.ts = 1000 + n;
	ev.probe_id = n;
	ev.tid = 5;
	return ev;
}

/* As on a full disk: bytes in the file can be overwritten, and none can be added. */
static void limit_files_to(rlim_t size)
{
	struct rlimit limit = { size, RLIM_INFINITY };

	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static uint64_t events_in_the_file(void)
{
	struct sidecar_reader r;
	struct trace_item item;
	struct err err = { 0 };
	uint64_t nr = 0;

	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	while (sidecar_next(&r, &item, &err) > 0)
		nr += item.type == TRACE_ITEM_EVENT;
	CHECK_EQ(r.stats.garbage, 0);
	sidecar_reader_close(&r);
	return nr;
}

/* Writes events of @kind (NR_TRACE_KINDS: all in turn) and other records until the file is full. */
static void fill_with(unsigned kind, rlim_t room)
{
	static const struct sidecar_process process = { 7, 8, 9, 0 };
	static const struct trace_site site = { .id = 1, .file = "a.c", .line = 2 };
	static const struct sidecar_totals totals = { .written = 1 };
	enum { NR = 3000 };
	struct sidecar_writer w;
	struct err err = { 0 };
	uint64_t n;

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	limit_files_to(room);
	for (n = 0; n < NR; n++) {
		unsigned in_turn = (unsigned)(n % (NR_TRACE_KINDS - TRACE_BIRTH)) + TRACE_BIRTH;
		unsigned k = kind < NR_TRACE_KINDS ? kind : in_turn;
		struct trace_event ev = event_of(k, n);

		sidecar_put_event(&w, &ev);
		if (n % 50 == 0)
			sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_PROCESS,
								   .process = process });
		if (n % 70 == 0)
			sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_SITE,
								   .site = site });
	}
	sidecar_flush(&w);
	CHECK_EQ(w.error, -EFBIG);
	sidecar_put_totals(&w, &totals);
	CHECK_EQ(sidecar_writer_close(&w, &err), -EFBIG);
	limit_files_to(RLIM_INFINITY);
	CHECK(w.events_written > 0 && w.events_unwritten > 0);
	CHECK_EQ(w.events_written + w.events_unwritten, NR);
	CHECK_EQ(w.events_written, events_in_the_file());
}

static void counts_every_kind_of_event_that_is_in_the_file(void)
{
	unsigned kind;

	for (kind = TRACE_BIRTH; kind <= NR_TRACE_KINDS; kind++) {
		fill_with(kind, 20000);
		fill_with(kind, 70001);
	}
}

static void knows_a_kind_by_its_name(void)
{
	unsigned kind;

	for (kind = 0; kind < NR_TRACE_KINDS; kind++) {
		const char *name = trace_kind_name(kind);

		CHECK(name && *name);
		CHECK_EQ(trace_kind_from_name(name, strlen(name)), kind);
		CHECK_EQ(trace_kind_from_name(name, strlen(name) - 1), -1);
	}
	CHECK_EQ(trace_kind_from_name("coroutine", 9), -1);
	CHECK_EQ(trace_kind_from_name("", 0), -1);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/trace.jsonl.meta", dir);
	RUN(counts_every_kind_of_event_that_is_in_the_file);
	RUN(knows_a_kind_by_its_name);
	unlink(path);
	rmdir(dir);
	return 0;
}
