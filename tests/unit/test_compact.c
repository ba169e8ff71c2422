/* SPDX-License-Identifier: MIT */
/*
 * test_compact.c - compact traces: what comes back from a file that is whole, cut or damaged, and
 * what a filter returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "trace/compact.h"
#include "trace/compact_block.h"
#include "trace/compact_decode.h"
#include "trace/compact_index.h"
#include "trace/compact_switches.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"
#include "trace_items.h"

#define NR_MOST 200000u

static char dir[40];
static char path[64], piece[64];
static struct trace_event events[NR_MOST];
static char *content; /* of the file */
static size_t size;

/* ---- write ------------------------------------------------------------------- */

static struct trace_writer *open_compact(const char *name)
{
	struct trace_output output = { .path = name, .format = TRACE_FORMAT_CT };
	struct err err = { 0 };
	struct trace_writer *w;

	output.fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	trace_put_run(w, &(struct sidecar_run){ .tool = "t", .start_ts = 1000 });
	return w;
}

static void close_compact(struct trace_writer *w, struct trace_counts *counts)
{
	struct err trace = { 0 }, facts = { 0 };
	struct sidecar_totals totals = { .complete = true, .exit_status = 0, .end_ts = 1 };

	trace_flush(w);
	trace_writer_counts(w, counts);
	totals.collected = counts->written;
	totals.others_collected = counts->others_written;
	trace_put_totals(w, &totals);
	trace_writer_close(w, counts, &trace, &facts);
	CHECK(!trace.code && !facts.code);
}

static void load_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	struct stat st;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	size = (size_t)st.st_size;
	free(content);
	content = malloc(size + 1);
	CHECK(content && read(fd, content, size) == (ssize_t)size);
	close(fd);
}

/* A block after every @block events. */
static void write_events(unsigned nr, unsigned block)
{
	struct trace_writer *w = open_compact(path);
	struct trace_counts counts;
	unsigned i;

	for (i = 1; i <= (nr > 100 ? 20 : 2); i++)
		trace_put_site(w, &(struct trace_site){ i, i, 1, i % 2 ? "src/a.c" : "b.c", "f" });
	for (i = 0; i < nr; i++) {
		trace_put_event(w, 0, &events[i]);
		if (i % block == block - 1)
			trace_flush(w);
	}
	close_compact(w, &counts);
	CHECK_EQ(counts.written + counts.others_written, nr);
	load_file(path);
}

/* Times go back and forth, members take all values. */
static void make_wild_events(unsigned nr)
{
	uint64_t ts = 5000;
	unsigned i;

	for (i = 0; i < nr; i++) {
		ts += next_random() % 100 ? next_random() % 100000 : any_number() - any_number();
		events[i] = any_event(ts);
	}
}

/* As a server has them: coroutines that wait at few sites, on a few threads. */
static void make_calm_events(unsigned nr)
{
	uint64_t ts = 1000;
	unsigned i;

	for (i = 0; i < nr; i++) {
		struct trace_event *ev = &events[i];

		trace_event_init(ev);
		ts += next_random() % 3000;
		ev->ts = ts;
		ev->probe_id = 1 + i / 1000 * 10 + next_random() % 20;
		ev->tid = 100 + next_random() % 3;
		ev->kind = (uint8_t)(next_random() % 4 == 2 ? TRACE_WAKE : next_random() % 2);
		ev->is_active = ev->kind == TRACE_RESUME;
		ev->seq = ev->kind == TRACE_WAKE ? 0 : 2 + i / 100 * 2;
		ev->site = ev->kind == TRACE_SUSPEND ? 1 + i / 2000 % 20 : 0;
	}
}

/* ---- read -------------------------------------------------------------------- */

struct result {
	uint64_t events, checksum;
	enum trace_verdict verdict;
	struct ct_stats ct;
	uint64_t read;
};

static uint64_t mix_event(uint64_t sum, const struct trace_event *ev)
{
	return ((sum ^ ev->ts) * 31 + ev->probe_id * 7 + ev->kind + ev->site * 13 + ev->tid) *
	       UINT64_C(0x9e3779b97f4a7c15);
}

static void read_compact(const char *name, const struct trace_filter *filter, struct result *out)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(name, &err);
	struct trace_item item;
	int rc;

	memset(out, 0, sizeof(*out));
	CHECK(r != NULL);
	if (filter)
		trace_reader_set_filter(r, filter);
	while ((rc = trace_next(r, &item, &err)) > 0) {
		if (item.type != TRACE_ITEM_EVENT)
			continue;
		out->events++;
		out->checksum = mix_event(out->checksum, &item.event);
	}
	CHECK_EQ(rc, 0);
	out->verdict = trace_verdict(trace_reader_stats(r));
	out->ct = trace_reader_stats(r)->ct;
	out->read = trace_reader_stats(r)->completeness.read +
		    trace_reader_stats(r)->completeness.read_others;
	trace_reader_close(r);
}

static void write_piece(const char *data, size_t bytes)
{
	int fd = open(piece, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	close(fd);
}

/* The events in blocks that end at or before @end. */
static uint64_t events_before(size_t end)
{
	size_t at = sizeof(struct compact_file_head);
	struct compact_block_head head;
	uint64_t nr = 0;

	while (at + sizeof(head) <= size) {
		memcpy(&head, content + at, sizeof(head));
		if (!compact_block_head_is_valid(&head))
			break;
		at += sizeof(head) + head.size;
		if (at <= end)
			nr += head.transitions + head.others;
	}
	return nr;
}

/* ---- tests ------------------------------------------------------------------- */

static void events_of_any_kind_come_back_in_their_order(void)
{
	struct err err = { 0 };
	struct trace_reader *r;
	struct trace_item item;
	struct stat st;
	unsigned i = 0;

	make_wild_events(NR_MOST);
	write_events(NR_MOST, NR_MOST / 3);
	r = trace_reader_open(path, &err);
	CHECK(r != NULL);
	while (trace_next(r, &item, &err) > 0) {
		if (item.type != TRACE_ITEM_EVENT)
			continue;
		CHECK(same_event(&item.event, &events[i]));
		i++;
	}
	CHECK_EQ(i, NR_MOST);
	CHECK_EQ(trace_verdict(trace_reader_stats(r)), TRACE_COMPLETE);
	CHECK(trace_reader_stats(r)->ct.has_index);
	/* The bytes of all blocks, which are most of the file, are counted once. */
	CHECK_EQ(stat(path, &st), 0);
	CHECK(trace_reader_stats(r)->bytes <= (uint64_t)st.st_size);
	CHECK(trace_reader_stats(r)->bytes > (uint64_t)st.st_size / 2);
	trace_reader_close(r);
}

/* Bytes from one length of a cut file to the next; AddressSanitizer takes five times as long. */
#ifdef __SANITIZE_ADDRESS__
#define CUT_STEP 5
#else
#define CUT_STEP 1
#endif

static void a_file_that_is_cut_loses_at_most_its_last_block(void)
{
	struct result result;
	size_t cut;

	make_wild_events(60);
	write_events(60, 12);
	for (cut = sizeof(struct compact_file_head); cut < size; cut += CUT_STEP) {
		write_piece(content, cut);
		read_compact(piece, NULL, &result);
		CHECK_EQ(result.events, events_before(cut));
		/* All of it may be there: only the index is cut off then. */
		CHECK(result.verdict == TRACE_INCOMPLETE || result.verdict == TRACE_UNFINISHED ||
		      (result.verdict == TRACE_COMPLETE && result.events == 60));
		CHECK(!result.ct.has_index);
	}
}

/* Another process cuts it while it is read: what is missing is one piece, not as many as bytes. */
static void a_file_that_becomes_shorter_is_read_to_its_end(void)
{
	struct compact_scan scan = { .at = sizeof(struct compact_file_head) };
	struct compact_index index = { 0 };
	size_t whole;
	int fd;

	make_wild_events(60);
	write_events(60, 12);
	for (whole = size; events_before(whole) == 60; whole--)
		;
	write_piece(content, whole);
	fd = open(piece, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(compact_index_scan(&index, &scan, fd, size + (1 << 20), false), 0);
	CHECK(index.nr > 0);
	CHECK_EQ(scan.damaged, 0);
	CHECK_EQ(scan.skipped, 0);
	CHECK(scan.torn && !scan.ended);
	close(fd);
	compact_index_release(&index);
}

static void a_head_that_is_cut_or_damaged_is_an_error(void)
{
	struct err err = { 0 };
	size_t cut;

	for (cut = COMPACT_MAGIC_SIZE; cut < sizeof(struct compact_file_head); cut++) {
		write_piece(content, cut);
		CHECK(!trace_reader_open(piece, &err) && err.code == -EPROTO);
		write_piece(content, size);
		content[cut] ^= 1;
		write_piece(content, size);
		content[cut] ^= 1;
		CHECK(!trace_reader_open(piece, &err) && err.code == -EPROTO);
	}
}

/* Every byte of the file in turn. */
static void damage_takes_one_block_and_is_reported(void)
{
	struct result result;
	size_t at;

	make_wild_events(60);
	write_events(60, 12);
	for (at = sizeof(struct compact_file_head); at < size; at++) {
		content[at] ^= (char)(1 + next_random() % 255);
		write_piece(content, size);
		read_compact(piece, NULL, &result);
		CHECK(result.events == 60 || result.events == 48);
		CHECK(result.events == 60 || result.verdict == TRACE_INCOMPLETE);
		load_file(path);
	}
}

static void blocks_that_were_removed_are_missed(void)
{
	struct compact_block_head head;
	size_t at = sizeof(struct compact_file_head), whole;
	struct result result;

	while (memcpy(&head, content + at, sizeof(head)), head.type != COMPACT_EVENTS)
		at += sizeof(head) + head.size;
	whole = sizeof(head) + head.size;
	memmove(content + at, content + at + whole, size - at - whole);
	write_piece(content, size - whole);
	read_compact(piece, NULL, &result);
	CHECK_EQ(result.ct.missing, 1);
	CHECK_EQ(result.events, 48);
	CHECK_EQ(result.verdict, TRACE_INCOMPLETE);
	load_file(path);
}

static bool passes(const struct trace_filter *f, const struct trace_event *ev)
{
	uint64_t from = f->has_from ? 1000 + f->from_ns : 0;
	uint64_t to = f->has_to ? 1000 + f->to_ns : UINT64_MAX;

	return ev->ts >= from && ev->ts <= to &&
	       (!f->has_coroutine || ev->probe_id == f->coroutine) &&
	       (!f->kinds || f->kinds >> ev->kind & 1) && (!f->site || ev->site == 3);
}

static struct trace_filter any_filter(uint64_t last_ts)
{
	struct trace_filter f = { 0 };
	unsigned which = (unsigned)(next_random() % 31) + 1;

	f.has_from = which & 1;
	f.from_ns = next_random() % last_ts;
	f.has_to = which & 2;
	f.to_ns = f.from_ns + next_random() % (last_ts / 10);
	f.has_coroutine = which & 4;
	f.coroutine = next_random() % 1100;
	f.kinds = which & 8 ? 1u << next_random() % NR_TRACE_KINDS : 0;
	f.site = which & 16 ? "a.c:3" : NULL;
	return f;
}

static void a_filter_returns_what_a_full_scan_finds(void)
{
	struct result result;
	unsigned i, k, few = 0;

	make_calm_events(100000);
	write_events(100000, 1000);
	for (i = 0; i < 60; i++) {
		struct trace_filter f = any_filter(events[99999].ts - 1000);
		uint64_t expected = 0, checksum = 0;

		for (k = 0; k < 100000; k++) {
			if (!passes(&f, &events[k]))
				continue;
			expected++;
			checksum = mix_event(checksum, &events[k]);
		}
		read_compact(path, &f, &result);
		CHECK_EQ(result.events, expected);
		CHECK_EQ(result.checksum, checksum);
		/* What was not read is known to be there. */
		CHECK_EQ(result.verdict, TRACE_COMPLETE);
		CHECK_EQ(result.read, 100000);
		few += result.ct.read < result.ct.blocks / 4;
	}
	CHECK(few > 30);
}

static void a_filter_reads_only_the_blocks_that_it_needs(void)
{
	struct trace_filter coroutine = { .has_coroutine = true, .coroutine = 505 };
	struct trace_filter range = { .has_from = true, .has_to = true };
	struct trace_filter kind = { .kinds = 1u << TRACE_BIRTH };
	struct result result;

	/* One block has the facts at the beginning, one the totals. */
	read_compact(path, &kind, &result);
	CHECK_EQ(result.ct.read, 3);
	CHECK_EQ(result.ct.blocks, 103);
	/* Coroutines are in use for 2,000 events: two blocks. */
	read_compact(path, &coroutine, &result);
	CHECK(result.ct.read == 5 && result.events);
	/* Block 50 alone, without its ends. */
	range.from_ns = events[50001].ts + 1 - 1000;
	range.to_ns = events[50997].ts - 1000;
	read_compact(path, &range, &result);
	CHECK(result.ct.read == 4 && result.events > 900);
}

/* Without the index, times and kinds are known, coroutines are not. */
/* Behind the last block: an index with two columns, and a record that says where it is. */
static void a_whole_file_ends_with_its_index(void)
{
	struct compact_block_head head;
	struct compact_end end;
	struct result whole;

	memcpy(&end, content + size - sizeof(end), sizeof(end));
	CHECK(!memcmp(end.magic, COMPACT_END_MAGIC, COMPACT_MAGIC_SIZE));
	CHECK(end.index < size - sizeof(end) - sizeof(head));
	memcpy(&head, content + end.index, sizeof(head));
	CHECK(compact_block_head_is_valid(&head));
	CHECK_EQ(head.type, COMPACT_INDEX);
	CHECK_EQ(head.nr_columns, 2);
	CHECK_EQ(end.index + sizeof(head) + head.size + sizeof(end), size);
	CHECK_EQ(head.items, end.blocks);
	read_compact(path, NULL, &whole);
	CHECK(whole.ct.has_index);
}

/* Gaps of one block, with events between them. */
static void gaps_come_back_in_their_order(void)
{
	static const struct trace_gap gaps[] = {
		{ .from_ts = 2000, .to_ts = 2100, .transitions = 7, .others = 1 },
		{ .from_ts = 2200, .to_ts = 2300, .transitions = 100 },
		{ .from_ts = 2250, .to_ts = 2400, .others = 12345 },
	};
	struct trace_writer *w = open_compact(path);
	struct trace_counts counts;
	struct trace_reader *r;
	struct err err = { 0 };
	struct trace_item item;
	unsigned i, nr = 0, nr_events = 0;
	struct trace_event ev;

	for (i = 0; i < 3; i++) {
		trace_event_init(&ev);
		ev.ts = 2050 + 100 * i;
		ev.probe_id = 1 + i;
		ev.tid = 7;
		ev.seq = 2;
		trace_put_event(w, 0, &ev);
		trace_put_gap(w, TRACE_LANE_STATIONS, gaps[i].from_ts, gaps[i].to_ts,
			      gaps[i].transitions, gaps[i].others);
	}
	close_compact(w, &counts);
	r = trace_reader_open(path, &err);
	CHECK(r != NULL);
	while (trace_next(r, &item, &err) > 0) {
		nr_events += item.type == TRACE_ITEM_EVENT;
		if (item.type != TRACE_ITEM_GAP)
			continue;
		CHECK(nr < 3);
		CHECK_EQ(item.gap.from_ts, gaps[nr].from_ts);
		CHECK_EQ(item.gap.to_ts, gaps[nr].to_ts);
		CHECK_EQ(item.gap.transitions, gaps[nr].transitions);
		CHECK_EQ(item.gap.others, gaps[nr].others);
		nr++;
	}
	CHECK_EQ(nr, 3);
	CHECK_EQ(nr_events, 3);
	CHECK(!trace_reader_stats(r)->ct.damaged);
	trace_reader_close(r);
}

/* Two threads run 40 coroutines in turn: each is created, runs, waits, is woken and ends. */
static unsigned make_story(void)
{
	static const uint8_t kinds[] = { TRACE_BIRTH,  TRACE_RESUME,  TRACE_SUSPEND,
					 TRACE_WAKE,   TRACE_RESUME,  TRACE_SUSPEND,
					 TRACE_RESUME, TRACE_SUSPEND, TRACE_DESTROY };
	unsigned id, k, nr = 0;

	for (k = 0; k < sizeof(kinds); k++) {
		uint64_t seq = 2;

		for (id = 1; id <= 40; id++) {
			struct trace_event *ev = &events[nr++];

			trace_event_init(ev);
			ev->kind = kinds[k];
			ev->is_active = ev->kind == TRACE_RESUME;
			ev->probe_id = id;
			ev->tid = 100 + id % 2;
			ev->ts = 1000 + 100 * k + id;
			ev->site = ev->kind == TRACE_SUSPEND ? 1 + id % 3 : 0;
			seq = 2 + k / 2;
			ev->seq = trace_is_transition(ev) ? seq : 0;
		}
	}
	return nr;
}

/*
 * stored.ct is a file that every later version has to read.  GOLDEN_WRITE=1 writes it again: only
 * for a new version of the format.
 */
static void a_file_of_an_earlier_version_is_read(void)
{
	static const char name[] = FIXTURES "/stored.ct";
	unsigned nr = make_story(), i = 0;
	struct err err = { 0 };
	struct trace_reader *r;
	struct trace_item item;

	write_events(nr, 100);
	if (getenv("GOLDEN_WRITE")) {
		FILE *f = fopen(name, "w");

		CHECK(f && fwrite(content, 1, size, f) == size && fclose(f) == 0);
	}
	r = trace_reader_open(name, &err);
	CHECK(r != NULL);
	while (trace_next(r, &item, &err) > 0) {
		if (item.type != TRACE_ITEM_EVENT)
			continue;
		CHECK(i < nr);
		CHECK_EQ(item.event.kind, events[i].kind);
		CHECK_EQ(item.event.probe_id, events[i].probe_id);
		CHECK_EQ(item.event.tid, events[i].tid);
		CHECK_EQ(item.event.ts, events[i].ts);
		CHECK_EQ(item.event.seq, events[i].seq);
		CHECK_EQ(item.event.site, events[i].site);
		i++;
	}
	CHECK_EQ(i, nr);
	CHECK_EQ(trace_verdict(trace_reader_stats(r)), TRACE_COMPLETE);
	trace_reader_close(r);
}

static void a_filter_works_on_a_file_without_an_index(void)
{
	struct trace_filter f = { .has_from = true, .has_to = true, .has_coroutine = true };
	struct result whole, cut;

	f.from_ns = events[50001].ts - 1000;
	f.to_ns = events[51001].ts - 1000;
	f.coroutine = events[50500].probe_id;
	read_compact(path, &f, &whole);
	write_piece(content, size - 1);
	read_compact(piece, &f, &cut);
	CHECK(whole.events && whole.events == cut.events && whole.checksum == cut.checksum);
	CHECK(cut.ct.read < 8 && !cut.ct.has_index);
}

/* Context switches that the reader returns, and blocks that it read. */
static uint64_t count_switches(const struct trace_filter *filter, uint64_t *blocks,
			       uint64_t *always)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(path, &err);
	struct trace_item item;
	uint64_t nr = 0;

	*always = 0;
	CHECK(r != NULL);
	if (filter)
		trace_reader_set_filter(r, filter);
	while (trace_next(r, &item, &err) > 0) {
		if (item.type != TRACE_ITEM_SWITCH)
			continue;
		nr += strcmp(item.switched.state, TRACE_SWITCH_RECORDED) != 0;
		*always += !strcmp(item.switched.state, TRACE_SWITCH_RECORDED);
	}
	*blocks = trace_reader_stats(r)->ct.read;
	CHECK_EQ(trace_verdict(trace_reader_stats(r)), TRACE_COMPLETE);
	trace_reader_close(r);
	return nr;
}

static void facts_of_other_times_are_not_read(void)
{
	struct trace_filter range = { .has_from = true, .has_to = true };
	struct trace_switch s = { .pid = 7, .to_ts = 1000, .state = TRACE_SWITCH_RECORDED };
	struct trace_writer *w = open_compact(path);
	struct trace_counts counts;
	uint64_t blocks, always, i;

	trace_put_switch(w, &s);
	s.state = TRACE_SWITCH_BLOCKED;
	for (i = 0; i < 50000; i++) {
		s.from_ts = 2000 + 10 * i;
		s.to_ts = 2000 + 10 * i + 7;
		trace_put_switch(w, &s);
		if (i % 10000 == 0)
			trace_put_site(w, &(struct trace_site){ (uint32_t)i, 1, 7, "a.c", "f" });
		if (i % 1000 == 999)
			trace_flush(w);
	}
	close_compact(w, &counts);
	CHECK_EQ(count_switches(NULL, &blocks, &always), 50000);
	CHECK(blocks > 50);
	/* From the end of switch 20,000 to the begin of switch 20,010. */
	range.from_ns = 2000 + 200000 + 7 - 1000;
	range.to_ns = 2000 + 200100 - 1000;
	CHECK_EQ(count_switches(&range, &blocks, &always), 11);
	CHECK_EQ(always, 1);
	CHECK(blocks < 20); /* facts about the run, and one or two of the range */
}

/* Any thread, processor and length; some that are lines in the file. */
static struct trace_switch any_switch(uint64_t ts)
{
	static const char *const states[] = { TRACE_SWITCH_BLOCKED, TRACE_SWITCH_PREEMPTED,
					      TRACE_SWITCH_READY };
	struct trace_switch s = { .pid = 7 + next_random() % 2, .tid = next_random() % 600 };

	s.to_ts = ts;
	s.from_ts = ts - (next_random() % 8 ? next_random() % 100000 : any_number());
	s.cpu = next_random() % 4 ? next_random() % 4 : any_u32();
	s.state = states[next_random() % 3];
	if (next_random() % 1000 == 0) {
		s.state = TRACE_SWITCH_LOST;
		s.lost = 1 + next_random() % 100;
	}
	return s;
}

static bool is_same_switch(const struct trace_switch *a, const struct trace_switch *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->from_ts == b->from_ts &&
	       a->to_ts == b->to_ts && a->cpu == b->cpu && a->lost == b->lost &&
	       !strcmp(a->state, b->state);
}

/* Read @name; the switches must be the first ones of @expected.  Returns their number. */
static unsigned read_switches(const char *name, const struct trace_switch *expected, bool is_whole)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(name, &err);
	struct trace_item item;
	unsigned nr = 0;

	CHECK(r != NULL);
	while (trace_next(r, &item, &err) > 0) {
		if (item.type != TRACE_ITEM_SWITCH)
			continue;
		if (is_whole)
			CHECK(is_same_switch(&item.switched, &expected[nr]));
		nr++;
	}
	CHECK_EQ(err.code, 0);
	CHECK(!is_whole || trace_verdict(trace_reader_stats(r)) == TRACE_COMPLETE);
	trace_reader_close(r);
	return nr;
}

static unsigned write_switches(struct trace_switch *list, unsigned nr)
{
	struct trace_writer *w = open_compact(path);
	struct trace_counts counts;
	uint64_t ts = 5000;
	unsigned i;

	for (i = 0; i < nr; i++) {
		ts += next_random() % 50 ? next_random() % 100000 : any_number() - any_number();
		list[i] = any_switch(ts);
		trace_put_switch(w, &list[i]);
	}
	close_compact(w, &counts);
	load_file(path);
	return nr;
}

static void switches_of_any_kind_come_back_in_their_order(void)
{
	struct trace_switch *list = calloc(NR_MOST, sizeof(*list));

	CHECK(list != NULL);
	write_switches(list, NR_MOST);
	CHECK_EQ(read_switches(path, list, true), NR_MOST);
	free(list);
}

/* Every byte of the file in turn. */
static void damaged_switches_are_left_out(void)
{
	struct trace_switch list[80];
	unsigned nr;
	size_t at;

	write_switches(list, 80);
	for (at = sizeof(struct compact_file_head); at < size; at++) {
		write_piece(content, at);
		CHECK(read_switches(piece, list, false) <= 80);
		content[at] ^= (char)(1 + next_random() % 255);
		write_piece(content, size);
		nr = read_switches(piece, list, false);
		CHECK(nr <= 80);
		load_file(path);
	}
}

/* The checksums are right, the content is not. */
static void forged_switches_end_their_block(void)
{
	uint8_t plane[4] = { 0, 0, 0, 0 }, far[4] = { 0, 9, 0, 0 }, state[4] = { 0, 0, 3, 0 };
	uint8_t wide[4] = { 0xff, 0, 0, 0 }, threads[] = { 7, 8 };
	struct compact_part parts[COMPACT_COLUMNS_MAX] = { 0 };
	struct compact_block_head head = { .items = 4 };
	struct compact_switch_decoder d = { 0 };
	struct trace_switch out;

	parts[COMPACT_SWITCH_THREADS] = (struct compact_part){ threads, 2 };
	CHECK(compact_switch_decoder_begin(&d, &head, parts));
	CHECK_EQ(compact_switch_decode(&d, &out), 1);
	CHECK(out.pid == 7 && out.tid == 8);
	/* A thread that the list does not have, */
	parts[COMPACT_SWITCH_THREAD_LOW] = (struct compact_part){ far, 4 };
	CHECK(compact_switch_decoder_begin(&d, &head, parts));
	CHECK_EQ(compact_switch_decode(&d, &out), 1);
	CHECK_EQ(compact_switch_decode(&d, &out), -EPROTO);
	/* an unknown state, */
	parts[COMPACT_SWITCH_THREAD_LOW] = (struct compact_part){ plane, 4 };
	parts[COMPACT_SWITCH_STATE] = (struct compact_part){ state, 4 };
	CHECK(compact_switch_decoder_begin(&d, &head, parts));
	CHECK(compact_switch_decode(&d, &out) == 1 && compact_switch_decode(&d, &out) == 1);
	CHECK_EQ(compact_switch_decode(&d, &out), -EPROTO);
	/* a long time that is missing, */
	parts[COMPACT_SWITCH_STATE] = (struct compact_part){ 0 };
	parts[COMPACT_SWITCH_END_0] = (struct compact_part){ wide, 4 };
	parts[COMPACT_SWITCH_END_1] = (struct compact_part){ wide, 4 };
	parts[COMPACT_SWITCH_END_2] = (struct compact_part){ wide, 4 };
	CHECK(compact_switch_decoder_begin(&d, &head, parts));
	CHECK_EQ(compact_switch_decode(&d, &out), -EPROTO);
	/* and a column of another size. */
	parts[COMPACT_SWITCH_END_2].size = 3;
	CHECK(!compact_switch_decoder_begin(&d, &head, parts));
	compact_switch_decoder_release(&d);
}

/* The same of an event: a name without bytes, and no column of names. */
static void a_forged_name_without_bytes_is_empty(void)
{
	uint8_t shape[] = { TRACE_RESUME }, miss[] = { COMPACT_MISS_MORE }, one[] = { 2 };
	uint8_t more[] = { COMPACT_MORE_NAME }, zero[] = { 0 };
	struct compact_part parts[COMPACT_COLUMNS_MAX] = {
		[COMPACT_SHAPE] = { shape, 1 }, [COMPACT_MISS] = { miss, 1 },
		[COMPACT_MORE] = { more, 1 },   [COMPACT_TIDS] = { one, 1 },
		[COMPACT_IDS] = { one, 1 },     [COMPACT_NAME_SIZE] = { zero, 1 },
	};
	struct compact_block_head head = { .items = 1 };
	struct compact_decoder *d = compact_decoder_new();
	struct trace_event ev;
	const char *gap;
	size_t gap_size;

	CHECK(d && compact_decoder_begin(d, &head, parts));
	CHECK_EQ(compact_decode_next(d, &ev, &gap, &gap_size), COMPACT_DECODED_EVENT);
	CHECK(ev.name && !ev.name_size);
	CHECK_EQ(compact_decode_next(d, &ev, &gap, &gap_size), COMPACT_DECODED_END);
	compact_decoder_free(d);
}

/* ---- saves ------------------------------------------------------------------- */

static struct trace_save last_save;
static unsigned nr_saves;

static void begin_save(void *ctx, const struct trace_save *save)
{
	(void)ctx;
	last_save = *save;
}

static void end_save(void *ctx, bool complete)
{
	struct stat st;

	(void)ctx;
	CHECK(complete && stat(path, &st) == 0);
	CHECK_EQ(st.st_size, last_save.trace_size);
	nr_saves++;
}

static void a_save_announces_the_size_that_the_file_will_have(void)
{
	const struct trace_saver saver = { .begin = begin_save, .end = end_save };
	struct trace_writer *w = open_compact(path);
	struct trace_counts counts;
	unsigned i;

	nr_saves = 0;
	w->saver = &saver;
	for (i = 0; i < 70000; i++)
		trace_put_event(w, 0, &events[i]);
	CHECK_EQ(nr_saves, 1); /* a full block */
	CHECK_EQ(last_save.transitions + last_save.others, COMPACT_ITEMS_MAX);
	trace_flush(w);
	CHECK_EQ(nr_saves, 2);
	CHECK_EQ(last_save.transitions + last_save.others, 70000);
	w->saver = NULL;
	close_compact(w, &counts);
}

/* Takes what is there; returns the number of events. */
static unsigned take_some(struct trace_reader *r, bool *has_totals, int *rc)
{
	struct err err = { 0 };
	struct trace_item item;
	unsigned nr = 0;

	while ((*rc = trace_next(r, &item, &err)) > 0) {
		nr += item.type == TRACE_ITEM_EVENT;
		*has_totals |= item.type == TRACE_ITEM_TOTALS;
	}
	return nr;
}

static void a_trace_that_grows_is_followed(void)
{
	struct trace_writer *w = open_compact(path);
	int rc, lock = open(path, O_RDONLY);
	struct trace_counts counts;
	struct trace_reader *r;
	struct err err = { 0 };
	bool has_totals = false;
	unsigned i;

	CHECK_EQ(flock(lock, LOCK_EX), 0);
	r = trace_reader_follow(path, &err);
	CHECK(r && trace_reader_stats(r)->growing);
	CHECK_EQ(take_some(r, &has_totals, &rc), 0);
	CHECK_EQ(rc, -EAGAIN);
	for (i = 0; i < 300; i++) {
		trace_put_event(w, 0, &events[i]);
		if (i % 100 != 99)
			continue;
		trace_flush(w);
		CHECK_EQ(take_some(r, &has_totals, &rc), 100);
		CHECK(rc == -EAGAIN && !has_totals);
		CHECK_EQ(trace_verdict(trace_reader_stats(r)), TRACE_GROWING);
	}
	close_compact(w, &counts);
	close(lock);
	CHECK_EQ(take_some(r, &has_totals, &rc), 0);
	CHECK(rc == 0 && has_totals);
	CHECK_EQ(trace_verdict(trace_reader_stats(r)), TRACE_COMPLETE);
	trace_reader_close(r);
}

static void the_totals_find_room_when_the_file_may_not_grow(void)
{
	struct rlimit limit, old;
	struct trace_counts counts;
	struct err trace = { 0 }, facts = { 0 };
	struct trace_writer *w;
	struct result result;
	unsigned i;

	make_wild_events(20000);
	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){ 100000, old.rlim_max };
	w = open_compact(path);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (i = 0; i < 20000; i++) {
		trace_put_event(w, 0, &events[i]);
		if (i % 500 == 499)
			trace_flush(w);
	}
	trace_flush(w);
	trace_writer_counts(w, &counts);
	CHECK_EQ(counts.written + counts.unwritten + counts.others_written +
			 counts.others_unwritten,
		 20000);
	CHECK(counts.written && counts.unwritten);
	trace_put_totals(w, &(struct sidecar_totals){ .collected = counts.written,
						      .others_collected = counts.others_written });
	trace_writer_close(w, &counts, &trace, &facts);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
	CHECK(trace.code == -EFBIG && !facts.code);
	read_compact(path, NULL, &result);
	CHECK_EQ(result.verdict, TRACE_COMPLETE); /* as many as the totals say */
	CHECK_EQ(result.events, counts.written + counts.others_written);
}

int main(void)
{
	/* In memory if possible: thousands of small files are slow elsewhere. */
	snprintf(dir, sizeof(dir), "%s/test_compact.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/trace.ct", dir);
	snprintf(piece, sizeof(piece), "%s/piece", dir);
	RUN(events_of_any_kind_come_back_in_their_order);
	RUN(a_file_that_is_cut_loses_at_most_its_last_block);
	RUN(a_file_that_becomes_shorter_is_read_to_its_end);
	RUN(a_head_that_is_cut_or_damaged_is_an_error);
	RUN(damage_takes_one_block_and_is_reported);
	RUN(blocks_that_were_removed_are_missed);
	RUN(a_filter_returns_what_a_full_scan_finds);
	RUN(a_filter_reads_only_the_blocks_that_it_needs);
	RUN(a_filter_works_on_a_file_without_an_index);
	RUN(a_whole_file_ends_with_its_index);
	RUN(facts_of_other_times_are_not_read);
	RUN(switches_of_any_kind_come_back_in_their_order);
	RUN(damaged_switches_are_left_out);
	RUN(forged_switches_end_their_block);
	RUN(a_forged_name_without_bytes_is_empty);
	RUN(gaps_come_back_in_their_order);
	RUN(a_file_of_an_earlier_version_is_read);
	RUN(a_save_announces_the_size_that_the_file_will_have);
	RUN(a_trace_that_grows_is_followed);
	RUN(the_totals_find_room_when_the_file_may_not_grow);
	free(content);
	unlink(path);
	unlink(piece);
	rmdir(dir);
	return 0;
}
