/* SPDX-License-Identifier: MIT */
/*
 * test_region_join.c - the trace of a killed collector is copied up to its last save, and what it
 * has of the region is not added again.
 *
 * The trace is written by this test; the copy is noted as text.
 */
#include <corotracer/ctp.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

#include "check.h"
#include "collect/region_join.h"

/* ---- the copy as text --------------------------------------------------------- */

static char text[8192];

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t size = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + size, sizeof(text) - size, fmt, args);
	va_end(args);
}

static void note_event(struct trace_writer *w, uint32_t lane, const struct trace_event *ev)
{
	(void)w;
	CHECK_EQ(lane, TRACE_LANE_STATIONS);
	note("%s %" PRIu64 " by %" PRIu64 " at %" PRIu64 "\n", trace_kind_name(ev->kind),
	     ev->probe_id, ev->tid, ev->ts);
}

static void note_fact(struct trace_writer *w, const struct trace_item *fact)
{
	static const char *const names[NR_TRACE_ITEM_TYPES] = {
		[TRACE_ITEM_RUN] = "run",
		[TRACE_ITEM_PROCESS] = "process",
		[TRACE_ITEM_MODULE] = "module",
		[TRACE_ITEM_CPU] = "cpu",
		[TRACE_ITEM_DESCRIPTOR] = "descriptor",
		[TRACE_ITEM_SWITCH] = "switch",
		[TRACE_ITEM_FRAME] = "frame",
		[TRACE_ITEM_WAITING] = "waiting",
		[TRACE_ITEM_PART] = "part",
		[TRACE_ITEM_MEMORY] = "memory",
		[TRACE_ITEM_SITE] = "site",
		[TRACE_ITEM_COROUTINE] = "coroutine",
		[TRACE_ITEM_TOTALS] = "totals",
	};

	(void)w;
	if (fact->type == TRACE_ITEM_GAP)
		note("gap %" PRIu64 " to %" PRIu64 ": %" PRIu64 " and %" PRIu64 "\n",
		     fact->gap.from_ts, fact->gap.to_ts, fact->gap.transitions, fact->gap.others);
	else
		note("%s\n", names[fact->type]);
}

static const struct trace_writer_ops note_ops = { .event = note_event, .fact = note_fact };
static struct trace_writer notes = { .ops = &note_ops };

/* ---- the trace ------------------------------------------------------------------ */

static char dir[] = "/tmp/corotracer-test-XXXXXX", path[64];

static void put_event(struct trace_writer *w, enum trace_kind kind, uint64_t id, uint64_t tid,
		      uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = (uint8_t)kind;
	ev.is_active = kind == TRACE_RESUME;
	ev.probe_id = id;
	ev.tid = tid;
	ev.ts = ts;
	ev.seq = trace_is_transition(&ev) ? ts / 100 : 0;
	trace_put_event(w, TRACE_LANE_STATIONS, &ev);
}

static void put_facts(struct trace_writer *w)
{
	trace_put_process(w, &(struct sidecar_process){ .pid = 55 });
	trace_put_module(w, &(struct sidecar_module){ .pid = 55, .path = "/bin/x" });
	trace_put_cpu(w, &(struct trace_cpu){ .pid = 55, .tid = 7 });
	trace_put_descriptor(
		w, &(struct trace_descriptor){ .probe_id = 1, .from_ts = 100, .to_ts = 120 });
	trace_put_switch(w, &(struct trace_switch){ .tid = 7, .from_ts = 110, .to_ts = 115 });
	trace_put_frame(w,
			&(struct trace_frame){
				.pid = 55, .ts = 130, .buffer = "B", .type = "t", .fields = "{}" });
	trace_put_waiting(w, &(struct trace_waiting){
				     .pid = 55, .ts = 140, .count = 2, .verdict = "waiting" });
	trace_put_part(w, &(struct trace_part){ .number = 1, .ids_to = 9, .name = "x" });
	trace_put_memory(w, &(struct trace_memory){ .pid = 55, .size = 9, .file = "m" });
	trace_put_site(w,
		       &(struct trace_site){ .id = 3, .line = 4, .file = "a.c", .function = "f" });
	trace_put_coroutine(w, &(struct sidecar_coroutine){ .probe_id = 1 });
}

static void write_trace(void)
{
	struct sidecar_run run = { .tool = "test", .pid = 55 };
	struct trace_output output = { .path = path, .format = TRACE_FORMAT_CT };
	struct err err = { 0 }, facts = { 0 };
	struct trace_counts counts;
	struct trace_writer *w;

	output.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(output.fd >= 0);
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	trace_put_run(w, &run);
	put_facts(w);
	put_event(w, TRACE_BIRTH, 1, 7, 200);
	put_event(w, TRACE_RESUME, 1, 7, 300);
	put_event(w, TRACE_SUSPEND, 1, 7, 400);
	trace_put_gap(w, TRACE_LANE_STATIONS, 410, 420, 3, 1);
	trace_put_gap(w, TRACE_LANE_STATIONS, 430, 440, 4, 0);
	put_event(w, TRACE_WAKE, 1, 8, 500);
	put_event(w, TRACE_RESUME, 1, 8, 600);
	put_event(w, TRACE_SUSPEND, 1, 8, 700);
	trace_put_totals(w, &(struct sidecar_totals){ .written = 4 });
	trace_writer_close(w, &counts, &err, &facts);
	CHECK_EQ(err.code + facts.code, 0);
}

/* ---- the region ------------------------------------------------------------------- */

static union {
	struct ctp_header header;
	uint8_t bytes[64 << 10];
} region __attribute__((aligned(4096)));

/* A station with events at 300 and 400, which the trace has, and at 800, which it has not. */
static struct image make_image(uint32_t nr_stations)
{
	struct ctp_station *st = ctp_stations(&region.header);
	static const uint64_t times[] = { 300, 400, 800 };
	size_t i;

	memset(&region, 0, sizeof(region));
	st->probe_id = 1;
	for (i = 0; i < 3; i++)
		st->slots[i] = (struct ctp_epoch){ .timestamp = times[i],
						   .tid = 7,
						   .seq = times[i] / 100 };
	return (struct image){ .header = &region.header, .nr_stations = nr_stations };
}

static bool has_event(const struct join *j, uint64_t id, uint64_t tid, uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.probe_id = id;
	ev.tid = tid;
	ev.ts = ts;
	ev.seq = ts / 100;
	return join_has_station_event(j, &ev);
}

static uint64_t time_of(const struct join *j, uint64_t tid, uint64_t ts)
{
	struct trace_event ev = { .tid = tid, .ts = ts };

	return join_time(j, &ev);
}

static struct join join_with(const struct journal_copy *journal, uint32_t nr_stations)
{
	struct image image = make_image(nr_stations);
	struct join j = { 0 };
	struct err err = { 0 };

	text[0] = '\0';
	CHECK_EQ(join_trace(&j, journal, &image, &notes, &err), 0);
	CHECK(j.active && j.has_run && !j.short_of_memory);
	return j;
}

/* ---- tests ------------------------------------------------------------------------- */

static const char facts_text[] =
	"run\nprocess\nmodule\ncpu\ndescriptor\nswitch\nframe\nwaiting\npart\nmemory\nsite\n";

static unsigned count_lines(const char *line)
{
	const char *at = text;
	unsigned nr = 0;

	while ((at = strstr(at, line)) != NULL) {
		nr++;
		at++;
	}
	return nr;
}

/* Each kind of fact is copied once, totals are not. */
static void check_facts(void)
{
	char line[32], *save = NULL, all[sizeof(facts_text)], *name;

	memcpy(all, facts_text, sizeof(all));
	for (name = strtok_r(all, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
		snprintf(line, sizeof(line), "%s\n", name);
		if (count_lines(line) != 1)
			fprintf(stderr, "%s in\n%s", line, text);
		CHECK_EQ(count_lines(line), 1);
	}
	CHECK_EQ(count_lines("coroutine\n"), 1);
	CHECK_EQ(count_lines("totals"), 0);
}

static unsigned count_events(void)
{
	return count_lines(" by ");
}

static void a_trace_without_a_journal_is_copied_whole(void)
{
	struct journal_copy journal = { .trace = path, .cut_lane = UINT32_MAX };
	struct join j = join_with(&journal, 1);
	uint64_t found;

	check_facts();
	CHECK_EQ(count_events(), 6);
	CHECK(strstr(text, "birth 1 by 7 at 200\n") && strstr(text, "suspend 1 by 8 at 700\n"));
	CHECK_EQ(j.transitions, 4);
	CHECK_EQ(j.others, 2);
	CHECK_EQ(j.cut_transitions + j.cut_others, 0);
	CHECK(u64map_get(&j.sites, 3, &found) && u64map_get(&j.pids, 55, &found));
	CHECK(!u64map_get(&j.sites, 4, &found) && !u64map_get(&j.pids, 7, &found));
	join_release(&j);
}

static void events_beyond_the_last_save_are_left_out(void)
{
	static const struct {
		uint64_t transitions, others;
		bool failed;
		enum trace_format format;
		unsigned events;
	} saves[] = {
		{ 0, 0, false, TRACE_FORMAT_CT, 0 },    { 1, 0, false, TRACE_FORMAT_CT, 1 },
		{ 3, 1, false, TRACE_FORMAT_CT, 4 },    { 4, 2, false, TRACE_FORMAT_CT, 6 },
		{ 9, 9, false, TRACE_FORMAT_JSONL, 6 }, { 0, 0, true, TRACE_FORMAT_CT, 6 },
		{ 0, 0, false, TRACE_FORMAT_CTF, 6 },
	};
	size_t i;

	for (i = 0; i < sizeof(saves) / sizeof(saves[0]); i++) {
		struct journal_copy journal = { .found = true,
						.failed = saves[i].failed,
						.format = saves[i].format,
						.trace = path,
						.cut_lane = UINT32_MAX };
		struct join j;

		journal.save.transitions = saves[i].transitions;
		journal.save.others = saves[i].others;
		j = join_with(&journal, 0);
		check_facts();
		CHECK_EQ(count_events(), saves[i].events);
		join_release(&j);
	}
}

static void events_of_stations_are_added_once(void)
{
	struct journal_copy journal = { .trace = path, .cut_lane = UINT32_MAX };
	struct join j = join_with(&journal, 1);

	CHECK(has_event(&j, 1, 7, 300));
	CHECK(has_event(&j, 1, 7, 400));
	CHECK(!has_event(&j, 1, 7, 800)); /* only in the region */
	CHECK(!has_event(&j, 1, 8, 600)); /* only in the trace */
	CHECK(!has_event(&j, 2, 7, 300));
	CHECK(!has_event(&j, 1, 6, 300));
	CHECK(!has_event(&j, 1, 7, 301));
	join_release(&j);
	j = join_with(&journal, 0);
	CHECK(!has_event(&j, 1, 7, 300));
	join_release(&j);
}

static void times_of_a_thread_do_not_go_back(void)
{
	struct journal_copy journal = { .trace = path, .cut_lane = UINT32_MAX };
	struct join j = join_with(&journal, 0);

	CHECK_EQ(time_of(&j, 7, 399), 400);
	CHECK_EQ(time_of(&j, 7, 400), 400);
	CHECK_EQ(time_of(&j, 7, 401), 401);
	CHECK_EQ(time_of(&j, 8, 1), 700);
	CHECK_EQ(time_of(&j, 9, 1), 1);
	join_release(&j);
}

/* A CTF trace may have events of a packet that the kill cut. */
static void events_of_a_cut_packet_are_known(void)
{
	struct journal_copy journal = {
		.found = true, .format = TRACE_FORMAT_CTF, .trace = path, .cut_lane = 3
	};
	struct join j;

	journal.save.transitions = 2;
	journal.save.others = 1;
	j = join_with(&journal, 0);
	CHECK_EQ(j.cut_transitions, 2);
	CHECK_EQ(j.cut_others, 1);
	CHECK(!join_has_cut_event(&j, &journal, 2, true)); /* another lane */
	CHECK(join_has_cut_event(&j, &journal, 3, true));
	CHECK(join_has_cut_event(&j, &journal, 3, true));
	CHECK(!join_has_cut_event(&j, &journal, 3, true));
	CHECK(join_has_cut_event(&j, &journal, 3, false));
	CHECK(!join_has_cut_event(&j, &journal, 3, false));
	join_release(&j);
	j = join_with(&journal, 1); /* with stations the difference has no meaning */
	CHECK_EQ(j.cut_transitions + j.cut_others, 0);
	join_release(&j);
	journal.save.transitions = 5;
	journal.save.others = 5;
	j = join_with(&journal, 0);
	CHECK_EQ(j.cut_transitions + j.cut_others, 0);
	join_release(&j);
}

static void losses_that_the_trace_reports_are_not_reported_again(void)
{
	struct join j = { 0 };

	CHECK_EQ(join_untold(&j, 7, 5), 5);
	CHECK_EQ(u64map_put(&j.gaps, 7, 8), 0);
	CHECK_EQ(join_untold(&j, 7, 5), 0); /* three more are reported */
	CHECK_EQ(join_untold(&j, 7, 4), 1);
	CHECK_EQ(join_untold(&j, 7, 4), 4);
	CHECK_EQ(join_untold(&j, 8, 2), 2);
	join_release(&j);
}

/* Of one thread, or of the stations: all gaps of the trace together. */
static void losses_of_several_gaps_are_one_sum(void)
{
	struct journal_copy journal = { .trace = path, .cut_lane = UINT32_MAX };
	struct join j = join_with(&journal, 0);

	CHECK_EQ(count_lines("gap "), 2);
	CHECK(strstr(text, "gap 410 to 420: 3 and 1\n") &&
	      strstr(text, "gap 430 to 440: 4 and 0\n"));
	CHECK_EQ(join_untold(&j, 0, 10), 3);
	CHECK_EQ(join_untold(&j, 0, 10), 10);
	join_release(&j);
}

static void a_trace_that_is_gone_is_an_error(void)
{
	struct journal_copy journal = { .trace = (char *)"/nonexistent/trace.ct" };
	struct image image = make_image(0);
	struct join j = { 0 };
	struct err err = { 0 };

	CHECK_EQ(join_trace(&j, &journal, &image, &notes, &err), -ENOENT);
	CHECK(!j.active);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/t.ct", dir);
	write_trace();
	RUN(a_trace_without_a_journal_is_copied_whole);
	RUN(events_beyond_the_last_save_are_left_out);
	RUN(events_of_stations_are_added_once);
	RUN(times_of_a_thread_do_not_go_back);
	RUN(events_of_a_cut_packet_are_known);
	RUN(losses_that_the_trace_reports_are_not_reported_again);
	RUN(losses_of_several_gaps_are_one_sum);
	RUN(a_trace_that_is_gone_is_an_error);
	unlink(path);
	rmdir(dir);
	return 0;
}
