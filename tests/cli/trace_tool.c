/* SPDX-License-Identifier: MIT */
/*
 * trace_tool.c - for tests that compare with babeltrace2.
 *
 *	trace_tool make DIR N [PID]   a CTF trace with N events of all kinds, and other records;
 *	                        with the name FILE.ct a compact trace.  PID: of its run
 *	trace_tool dump TRACE   every event and gap that the reader returns, a JSON object each
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"
#include "unit/trace_items.h"

static int fail(const struct err *err)
{
	fprintf(stderr, "trace_tool: %s\n", err->text);
	return 1;
}

/* Names without quotes and control characters, which babeltrace2 prints in its own way. */
static struct trace_event plain_event(uint64_t ts)
{
	struct trace_event ev = any_event(ts);

	if (ev.name) {
		ev.name = "worker 17";
		ev.name_size = 9;
	}
	return ev;
}

static void put_all(struct trace_writer *w, unsigned long nr)
{
	uint64_t ts = 10000, transitions = 0;
	unsigned long i;

	for (i = 0; i < 4; i++)
		trace_put_lane(w, &(struct trace_lane){ (uint32_t)i, 77, 1000 + i });
	for (i = 0; i < nr; i++) {
		uint32_t lane = next_random() % 5 ? (uint32_t)(next_random() % 4)
						  : TRACE_LANE_STATIONS;
		struct trace_event ev;

		ts += next_random() % 500 ? next_random() % 1000
					  : next_random() % (UINT64_C(1) << 34);
		ev = plain_event(ts);
		transitions += trace_is_transition(&ev);
		trace_put_event(w, lane, &ev);
		if (i % 1000 == 0) {
			trace_put_site(w, &(struct trace_site){ (uint32_t)i, 1, 77, "a.c", "f" });
			trace_put_horizon(w, ts);
			trace_flush(w);
		}
	}
	trace_put_coroutine(w, &(struct sidecar_coroutine){ .probe_id = 5, .name = "c" });
	trace_put_totals(w, &(struct sidecar_totals){
				    .written = transitions,
				    .collected = transitions,
				    .others_written = nr - transitions,
				    .others_collected = nr - transitions,
				    .end_ts = ts + 1,
			    });
}

static int make(const char *path, unsigned long nr, unsigned long pid)
{
	static const char *const words[] = { "./app", "with \"quotes\"", "and\nlines" };
	struct trace_output output = {
		.path = path,
		.format = trace_format_of(path) == TRACE_FORMAT_CT ? TRACE_FORMAT_CT
								   : TRACE_FORMAT_CTF,
		.run = { .tool = "trace_tool",
			 .command = words,
			 .nr_command = 3,
			 .pid = pid,
			 .start_ts = 5000,
			 .start_realtime = UINT64_C(1700000000000005000),
			 .hostname = "box",
			 .arch = "any" },
	};
	struct trace_counts counts;
	struct err err = { 0 };
	struct trace_writer *w;

	if (output.format == TRACE_FORMAT_CTF)
		mkdir(path, 0777);
	output.fd = output.format == TRACE_FORMAT_CT
			    ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666)
			    : open(path, O_RDONLY | O_DIRECTORY);
	w = trace_writer_open(&output, &err);
	if (!w)
		return fail(&err);
	trace_put_run(w, &output.run);
	put_all(w, nr);
	trace_writer_close(w, &counts, &err, &err);
	return err.code ? fail(&err) : 0;
}

static void dump_event(struct json_writer *j, const struct trace_event *ev)
{
	jw_field_string(j, "kind", trace_kind_name(ev->kind));
	jw_field_u64(j, "ts", ev->ts);
	jw_field_u64(j, "probe_id", ev->probe_id);
	jw_field_u64(j, "tid", ev->tid);
	jw_field_u64(j, "addr", ev->addr);
	jw_field_u64(j, "seq", ev->seq);
	jw_field_u64(j, "station", ev->station);
	jw_field_u64(j, "site", ev->site);
	jw_field_string(j, "reason", trace_reason_name(ev->reason));
	jw_field_u64(j, "flags", ev->flags);
	jw_field_u64(j, "resource", ev->resource);
	jw_field_u64(j, "peer", ev->peer);
	jw_field_u64(j, "seen", ev->seen);
	jw_field_u64(j, "pid", ev->pid);
	jw_key(j, "name");
	jw_string_n(j, ev->name ? ev->name : "", ev->name_size);
	jw_field_u64(j, "written", ev->written);
	jw_field_u64(j, "lost", ev->lost);
}

static void dump_gap(struct json_writer *j, const struct trace_gap *gap)
{
	jw_field_string(j, "kind", "gap");
	jw_field_u64(j, "from_ts", gap->from_ts);
	jw_field_u64(j, "to_ts", gap->to_ts);
	jw_field_u64(j, "tid", gap->tid);
	jw_field_u64(j, "transitions", gap->transitions);
	jw_field_u64(j, "others", gap->others);
}

static int dump(const char *path)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(path, &err);
	struct json_writer j;
	struct trace_item item;
	int rc;

	if (!r)
		return fail(&err);
	jw_init_file(&j, stdout);
	while ((rc = trace_next(r, &item, &err)) > 0) {
		if (item.type != TRACE_ITEM_EVENT && item.type != TRACE_ITEM_GAP)
			continue;
		jw_object_begin(&j);
		if (item.type == TRACE_ITEM_EVENT)
			dump_event(&j, &item.event);
		else
			dump_gap(&j, &item.gap);
		jw_object_end(&j);
		jw_newline(&j);
	}
	jw_release(&j);
	trace_reader_close(r);
	return rc < 0 ? fail(&err) : 0;
}

int main(int argc, char **argv)
{
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "make"))
		return make(argv[2], strtoul(argv[3], NULL, 10),
			    argc == 5 ? strtoul(argv[4], NULL, 10) : 0);
	if (argc == 3 && !strcmp(argv[1], "dump"))
		return dump(argv[2]);
	fprintf(stderr, "usage: trace_tool make DIR N [PID] | dump TRACE\n");
	return 2;
}
