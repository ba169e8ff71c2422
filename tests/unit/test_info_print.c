/* SPDX-License-Identifier: MIT */
/* test_info_print.c - what `corotracer info` says of a trace: every number has its words. */
#include "info.h"

#include <errno.h>

#include "captured.h"

/* The rest of the command is in other tests. */
void info_print_run(struct printer *p, const struct info *info)
{
	(void)info;
	print_text(p, "the run\n");
}

void info_parts_print(struct printer *p, const struct info_parts *parts)
{
	(void)parts;
	print_text(p, "the parts\n");
}

static struct info info;
static struct summary_gaps gaps[12];

static void info_new(void)
{
	summary_release(&info.sum);
	memset(&info, 0, sizeof(info));
	info.trace_path = "trace.jsonl";
	info.stats.format = TRACE_FORMAT_JSONL;
}

static const char *printed(bool json)
{
	captured_begin(stdout);
	CHECK_EQ(info_print(&info, json), 0);
	return captured_end();
}

#define TEXT_IS(wanted) CHECK_STR(printed(false), wanted)
#define JSON_IS(wanted) CHECK_STR(printed(true), wanted)

static void an_empty_trace(void)
{
	info_new();
	info.sidecar_path = (char *)"trace.jsonl.meta";
	TEXT_IS("trace.jsonl\n"
		"\n"
		"  events        0\n"
		"  coroutines    0\n"
		"  threads       0\n"
		"  duration      0 ns\n"
		"  lost          unknown: no 'trace.jsonl.meta' next to the trace\n"
		"  garbage       none\n"
		"the run\n"
		"the parts\n");
	JSON_IS("{\"trace\":\"trace.jsonl\",\"format\":\"jsonl\",\"sound\":true,"
		"\"events\":0,\"others\":{\"births\":0,\"wakes\":0,\"ends\":0,"
		"\"destroys\":0,\"closes\":0,\"acquires\":0,\"releases\":0,\"contexts\":0},"
		"\"coroutines\":0,\"threads\":0,\"duration_ns\":0,\"sites\":0,"
		"\"first_ts\":null,\"last_ts\":null,\"written\":null,\"collected\":null,"
		"\"lost\":null,\"forgotten\":null,\"agrees\":null,"
		"\"completeness\":{\"verdict\":\"unknown\",\"expected\":null,"
		"\"expected_others\":null,\"read\":0,\"read_others\":0,"
		"\"unreadable_files\":0,\"missing\":null},\"lanes_with_loss\":0,"
		"\"lanes_lost_most\":[],\"lines\":0,\"garbage\":0,\"garbage_first\":[],"
		"\"ctf\":null,\"ct\":null}\n");
	info.sidecar_path = NULL;
	CHECK(strstr(printed(false), "unknown: the collector was killed or is still running"));
	info.sidecar_path = (char *)"trace.jsonl.meta";
	info.sum.has_run = true;
	CHECK(strstr(printed(false), "unknown: the collector was killed or is still running"));
	info.stats.is_stdin = true;
	CHECK(strstr(printed(false), "standard input\n\n") == captured.text);
	CHECK(strstr(captured.text, "lost          unknown: standard input carries no .meta file"));
}

/* Numbers that are all different. */
static void many_of_everything(void)
{
	struct sidecar_totals *t = &info.sum.totals;
	unsigned i;

	info_new();
	info.sidecar_path = (char *)"trace.jsonl.meta";
	info.sum.events = 1234567;
	info.sum.others = 4000;
	info.sum.first_ts = 1000000000;
	info.sum.last_ts = 4500000000;
	for (i = 0; i < NR_TRACE_KINDS; i++)
		info.sum.kinds[i] = i == TRACE_CLOSE ? 0 : i == TRACE_END ? 1 : 100 + i;
	CHECK(u64map_put(&info.sum.threads, 7, 1) == 0);
	CHECK(u64map_put(&info.sum.threads, 8, 1) == 0);
	CHECK(u64map_put(&info.sum.sites, 3, 1) == 0);
	info.sum.has_run = info.sum.has_totals = true;
	t->written = 2000;
	t->collected = 1500;
	t->lost = 500;
	t->lost_overwritten = 100;
	t->lost_full = 250;
	t->lost_output = 150;
	t->others_lost = 33;
	t->without_station = 1;
	t->forgotten = 77;
	for (i = 0; i < 7; i++)
		gaps[i] = (struct summary_gaps){ i, 40 + i, 400 + i, 1 + i, 100 - i, i };
	gaps[6].lane = TRACE_LANE_STATIONS;
	gaps[6].transitions = 1000;
	info.sum.gaps = gaps;
	info.sum.nr_gaps = 7;
	info.stats.lines.lines = 5000;
	info.stats.lines.garbage = 8;
	info.stats.lines.nr_first = 6;
	for (i = 0; i < 6; i++) {
		info.stats.lines.first[i].line = 10 + i;
		info.stats.lines.first[i].reason = i % 2 ? "it is not JSON" : "it has no time";
	}
	info.stats.sidecar.garbage = 2;
	info.stats.completeness.has_totals = true;
	info.stats.completeness.expected = 1500;
	info.stats.completeness.read = 1400;
	info.stats.completeness.unreadable = 3;
	info.stats.completeness.unreadable_errno = ENOENT;
	snprintf(info.stats.completeness.unreadable_name,
		 sizeof(info.stats.completeness.unreadable_name), "stream_3");
	TEXT_IS("trace.jsonl\n"
		"\n"
		"  events        1,234,567\n"
		"  and           102 births, 103 wakes, 1 end, 105 destructions, 107 locks "
		"taken, 108 locks released, 109 trace contexts\n"
		"  coroutines    0\n"
		"  threads       2\n"
		"  duration      3.500 s\n"
		"  lost          500 of 2,000 written (25 %)\n"
		"                100 overwritten before they were read\n"
		"                250 found no room in their lane\n"
		"                150 could not be written to the file\n"
		"                and 33 creations, wakes, ends\n"
		"                1 coroutine found no room and is not in the trace at all\n"
		"  forgotten     77 older ones: this is what a flight recorder had\n"
		"  gaps          stations: 1,000 events and 6 others in 7 gaps\n"
		"                thread 400 of process 40: 100 events in 1 gap\n"
		"                thread 401 of process 41: 99 events and 1 other in 2 "
		"gaps\n"
		"                thread 402 of process 42: 98 events and 2 others in 3 "
		"gaps\n"
		"                thread 403 of process 43: 97 events and 3 others in 4 "
		"gaps\n"
		"                2 more threads\n"
		"  garbage       8 lines set aside, not part of anything above\n"
		"                line 10: it has no time\n"
		"                line 11: it is not JSON\n"
		"                line 12: it has no time\n"
		"                line 13: it is not JSON\n"
		"                line 14: it has no time\n"
		"                3 more\n"
		"  disagrees     the collector wrote 1,500 events, the file has 1,400:\n"
		"                it was changed since, or belongs to another run\n"
		"  unreadable    3 files: 'stream_3': No such file or directory\n"
		"  damaged       2 lines of 'trace.jsonl.meta' cannot be read\n"
		"the run\n"
		"the parts\n");
	JSON_IS("{\"trace\":\"trace.jsonl\",\"format\":\"jsonl\",\"sound\":false,"
		"\"events\":1234567,\"others\":{\"births\":102,\"wakes\":103,\"ends\":1,"
		"\"destroys\":105,\"closes\":0,\"acquires\":107,\"releases\":108,"
		"\"contexts\":109},\"coroutines\":0,\"threads\":2,"
		"\"duration_ns\":3500000000,\"sites\":1,\"first_ts\":1000000000,"
		"\"last_ts\":4500000000,\"written\":2000,\"collected\":1500,\"lost\":500,"
		"\"forgotten\":77,\"agrees\":false,"
		"\"completeness\":{\"verdict\":\"incomplete\",\"expected\":1500,"
		"\"expected_others\":0,\"read\":1400,\"read_others\":0,"
		"\"unreadable_files\":3,\"missing\":\"100 of 1,500 transitions are "
		"missing; file 'stream_3' cannot be read: No such file or directory; so it "
		"is with 2 more; 2 lines of the sidecar are damaged\"},"
		"\"lanes_with_loss\":7,\"lanes_lost_most\":[{\"lane\":null,\"pid\":46,"
		"\"tid\":406,\"gaps\":7,\"lost\":1000,\"others_lost\":6},{\"lane\":0,"
		"\"pid\":40,\"tid\":400,\"gaps\":1,\"lost\":100,\"others_lost\":0},"
		"{\"lane\":1,\"pid\":41,\"tid\":401,\"gaps\":2,\"lost\":99,"
		"\"others_lost\":1},{\"lane\":2,\"pid\":42,\"tid\":402,\"gaps\":3,"
		"\"lost\":98,\"others_lost\":2},{\"lane\":3,\"pid\":43,\"tid\":403,"
		"\"gaps\":4,\"lost\":97,\"others_lost\":3},{\"lane\":4,\"pid\":44,"
		"\"tid\":404,\"gaps\":5,\"lost\":96,\"others_lost\":4},{\"lane\":5,"
		"\"pid\":45,\"tid\":405,\"gaps\":6,\"lost\":95,\"others_lost\":5}],"
		"\"lines\":5000,\"garbage\":8,\"garbage_first\":[{\"line\":10,"
		"\"reason\":\"it has no time\"},{\"line\":11,\"reason\":\"it is not "
		"JSON\"},{\"line\":12,\"reason\":\"it has no time\"},{\"line\":13,"
		"\"reason\":\"it is not JSON\"},{\"line\":14,\"reason\":\"it has no "
		"time\"},{\"line\":15,\"reason\":\"it is not JSON\"}],\"ctf\":null,"
		"\"ct\":null}\n");
	info.sum.gaps = NULL;
	info.sum.nr_gaps = 0;
}

static void one_of_something(void)
{
	info_new();
	info.sum.has_totals = true;
	info.sum.totals.written = 10;
	info.sum.totals.without_station = 2;
	gaps[0] = (struct summary_gaps){ 0, 40, 400, 1, 1, 1 };
	info.sum.gaps = gaps;
	info.sum.nr_gaps = 1;
	info.stats.lines.garbage = 1;
	info.stats.completeness.has_totals = true;
	info.stats.completeness.expected_others = 5;
	TEXT_IS("trace.jsonl\n"
		"\n"
		"  events        0\n"
		"  coroutines    0\n"
		"  threads       0\n"
		"  duration      0 ns\n"
		"  lost          none of 10 written\n"
		"                2 coroutines found no room and are not in the trace at "
		"all\n"
		"  gaps          thread 400 of process 40: 1 event and 1 other in 1 gap\n"
		"  garbage       1 line set aside, not part of anything above\n"
		"                1 more\n"
		"  disagrees     the collector wrote 5 creations, wakes, ends, the file "
		"has 0:\n"
		"                it was changed since, or belongs to another run\n"
		"the run\n"
		"the parts\n");
	info.stats.completeness.expected_others = 0;
	CHECK(!strstr(printed(false), "disagrees"));
	info.sum.gaps = NULL;
	info.sum.nr_gaps = 0;
}

static void damaged_packets_and_blocks(void)
{
	info_new();
	info.stats.format = TRACE_FORMAT_CTF;
	info.stats.ctf.streams = 3;
	info.stats.ctf.packets = 40;
	info.stats.ctf.damaged = 1;
	info.stats.ctf.missing = 2;
	info.stats.ctf.torn = 4;
	info.stats.ctf.unknown = 1;
	info.stats.ctf.discarded = 6;
	TEXT_IS("trace.jsonl\n"
		"\n"
		"  events        0\n"
		"  coroutines    0\n"
		"  threads       0\n"
		"  duration      0 ns\n"
		"  lost          unknown: the collector was killed or is still running\n"
		"  damaged       1 packet could not be read to the end, 2 are missing\n"
		"  torn          4 files end inside a packet: the collector was killed or "
		"is still running\n"
		"  unknown       1 record of a later version, skipped\n"
		"the run\n"
		"the parts\n");
	JSON_IS("{\"trace\":\"trace.jsonl\",\"format\":\"ctf\",\"sound\":false,"
		"\"events\":0,\"others\":{\"births\":0,\"wakes\":0,\"ends\":0,"
		"\"destroys\":0,\"closes\":0,\"acquires\":0,\"releases\":0,\"contexts\":0},"
		"\"coroutines\":0,\"threads\":0,\"duration_ns\":0,\"sites\":0,"
		"\"first_ts\":null,\"last_ts\":null,\"written\":null,\"collected\":null,"
		"\"lost\":null,\"forgotten\":null,\"agrees\":null,"
		"\"completeness\":{\"verdict\":\"incomplete\",\"expected\":null,"
		"\"expected_others\":null,\"read\":0,\"read_others\":0,"
		"\"unreadable_files\":0,\"missing\":\"1 packet is damaged; 2 packets are "
		"missing; 4 files end inside a packet; its totals are missing: the "
		"collector was killed or is still running, or the end of the trace was cut "
		"off\"},\"lanes_with_loss\":0,\"lanes_lost_most\":[],\"lines\":0,"
		"\"garbage\":0,\"garbage_first\":[],\"ctf\":{\"streams\":3,\"packets\":40,"
		"\"damaged\":1,\"torn\":4,\"missing\":2,\"unknown\":1,\"discarded\":6},"
		"\"ct\":null}\n");
	info.stats.ctf.damaged = 0;
	CHECK(strstr(printed(false),
		     "damaged       0 packets could not be read to the end, 2 are"));
	info.stats.ctf.missing = 0;
	CHECK(!strstr(printed(false), "damaged"));
	info_new();
	info.stats.format = TRACE_FORMAT_CT;
	info.stats.ct.blocks = 50;
	info.stats.ct.read = 48;
	info.stats.ct.damaged = 2;
	info.stats.ct.missing = 1;
	info.stats.ct.torn = 1;
	info.stats.ct.unknown = 3;
	info.stats.ct.has_index = true;
	TEXT_IS("trace.jsonl\n"
		"\n"
		"  events        0\n"
		"  coroutines    0\n"
		"  threads       0\n"
		"  duration      0 ns\n"
		"  lost          unknown: the collector was killed or is still running\n"
		"  damaged       2 blocks could not be read, 1 is missing\n"
		"  torn          the file ends inside a block: the collector was killed, "
		"or the file was cut\n"
		"  unknown       3 blocks or events of a later version, skipped\n"
		"the run\n"
		"the parts\n");
	JSON_IS("{\"trace\":\"trace.jsonl\",\"format\":\"ct\",\"sound\":false,\"events\":0,"
		"\"others\":{\"births\":0,\"wakes\":0,\"ends\":0,\"destroys\":0,"
		"\"closes\":0,\"acquires\":0,\"releases\":0,\"contexts\":0},"
		"\"coroutines\":0,\"threads\":0,\"duration_ns\":0,\"sites\":0,"
		"\"first_ts\":null,\"last_ts\":null,\"written\":null,\"collected\":null,"
		"\"lost\":null,\"forgotten\":null,\"agrees\":null,"
		"\"completeness\":{\"verdict\":\"incomplete\",\"expected\":null,"
		"\"expected_others\":null,\"read\":0,\"read_others\":0,"
		"\"unreadable_files\":0,\"missing\":\"2 blocks are damaged; 1 block is "
		"missing; the file ends inside a block; its totals are missing: the "
		"collector was killed or is still running, or the end of the trace was cut "
		"off\"},\"lanes_with_loss\":0,\"lanes_lost_most\":[],\"lines\":0,"
		"\"garbage\":0,\"garbage_first\":[],\"ctf\":null,\"ct\":{\"blocks\":50,"
		"\"blocks_read\":48,\"damaged\":2,\"torn\":1,\"missing\":1,\"unknown\":3,"
		"\"index\":true}}\n");
	info.stats.ct.damaged = 0;
	CHECK(strstr(printed(false), "damaged       0 blocks could not be read, 1 is missing"));
	info.stats.ct.missing = 0;
	CHECK(!strstr(printed(false), "damaged"));
}

int main(void)
{
	RUN(an_empty_trace);
	RUN(many_of_everything);
	RUN(one_of_something);
	RUN(damaged_packets_and_blocks);
	summary_release(&info.sum);
	return 0;
}
