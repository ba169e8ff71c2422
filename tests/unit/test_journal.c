/* SPDX-License-Identifier: MIT */
/*
 * test_journal.c - after a kill the journal says which records are in the trace's files.
 *
 * The collector's side makes saves, complete or not; the reader's side looks at the journal and at
 * files of chosen sizes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "collect/journal.h"

static char dir[] = "/tmp/corotracer-test-XXXXXX", region[64], trace[64], sidecar[80];

/* ---- the collector ------------------------------------------------------------ */

static struct drain_lane cursors[4];
static uint32_t dirty[4];
static struct drain drain = { .cursors = cursors, .nr_cursors = 4, .dirty = dirty };
static struct journal j;
static unsigned nr_all_saved;
static uint32_t saved_lane;

/* What the drain is told; its own part is tested in test_drain.c. */
void __wrap_drain_all_saved(struct drain *d);
void __wrap_drain_saved(struct drain *d, uint32_t lane);

void __wrap_drain_all_saved(struct drain *d)
{
	CHECK(d == &drain);
	nr_all_saved++;
}

void __wrap_drain_saved(struct drain *d, uint32_t lane)
{
	CHECK(d == &drain);
	saved_lane = lane;
}

static void start_journal(enum trace_format format)
{
	struct err err = { 0 };

	memset(cursors, 0, sizeof(cursors));
	drain.nr_dirty = 0;
	nr_all_saved = 0;
	saved_lane = UINT32_MAX;
	CHECK_EQ(journal_open(&j, region, trace, format, &drain, &err), 0);
	CHECK(drain.saves);
}

/* Announce a save: all lanes, or one. */
static void begin(uint32_t lane, uint64_t size, uint64_t transitions, uint64_t others)
{
	struct trace_save save = { .lane = lane,
				   .trace_size = size,
				   .sidecar_size = size / 2,
				   .transitions = transitions,
				   .others = others };

	j.saver.begin(j.saver.ctx, &save);
}

/* ---- the reader ----------------------------------------------------------------- */

static void make_file(const char *path, long size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && ftruncate(fd, size) == 0);
	close(fd);
}

static struct journal_copy read_journal(uint32_t nr_lanes)
{
	struct journal_copy c;

	journal_read(&c, region, (uint32_t)getpid(), nr_lanes, NULL);
	return c;
}

/* Positions of lane 0 and 2 in the trace, and of lane 0 in the sidecar, as one number. */
static uint64_t positions(const struct journal_copy *c)
{
	return journal_position(c, 0, true) * 10000 + journal_position(c, 2, true) * 100 +
	       journal_position(c, 0, false);
}

/* ---- tests ------------------------------------------------------------------------ */

static void complete_saves_count(void)
{
	struct journal_copy c;

	start_journal(TRACE_FORMAT_JSONL);
	c = read_journal(3);
	CHECK(c.found && c.has_trace && !c.failed);
	CHECK_EQ(c.format, TRACE_FORMAT_JSONL);
	CHECK_STR(c.trace, trace);
	CHECK_EQ(positions(&c), 0);
	CHECK_EQ(c.save.transitions + c.save.others, 0);
	CHECK_EQ(c.cut_lane, UINT32_MAX);
	journal_copy_release(&c);
	cursors[0].read = 5;
	cursors[2].read = 7;
	dirty[0] = 0;
	dirty[1] = 2;
	drain.nr_dirty = 2;
	begin(TRACE_SAVE_ALL, 100, 11, 12);
	j.saver.end(j.saver.ctx, true);
	CHECK_EQ(nr_all_saved, 1);
	CHECK_EQ(saved_lane, UINT32_MAX);
	c = read_journal(3);
	CHECK_EQ(positions(&c), 50705);
	CHECK_EQ(c.save.transitions, 11);
	CHECK_EQ(c.save.others, 12);
	CHECK_EQ(c.trace_number, 1);
	CHECK_EQ(journal_position(&c, 1, true), 0);
	CHECK_EQ(journal_position(&c, 3, true), 0); /* not read */
	journal_copy_release(&c);
	/* The next one is of one lane. */
	cursors[0].read = 6;
	cursors[2].read = 9;
	begin(2, 200, 13, 12);
	j.saver.end(j.saver.ctx, true);
	CHECK_EQ(nr_all_saved, 1);
	CHECK_EQ(saved_lane, 2);
	c = read_journal(3);
	CHECK_EQ(positions(&c), 50905);
	CHECK_EQ(c.save.transitions, 13);
	journal_copy_release(&c);
	journal_close(&j);
	c = read_journal(3);
	CHECK(!c.found);
	journal_copy_release(&c);
}

/* The sizes of the files decide whether the write that the kill interrupted is complete. */
static void a_save_that_was_not_completed_depends_on_the_files(void)
{
	static const struct {
		enum trace_format format;
		long trace, sidecar;
		uint64_t positions, transitions, others;
	} cases[] = {
		{ TRACE_FORMAT_JSONL, 199, 99, 50705, 11, 12 },
		{ TRACE_FORMAT_JSONL, 200, 99, 60805, 21, 12 },
		{ TRACE_FORMAT_JSONL, 199, 100, 50706, 11, 22 },
		{ TRACE_FORMAT_JSONL, 200, 100, 60806, 21, 22 },
		{ TRACE_FORMAT_CT, 199, 1000, 50705, 11, 12 },
		{ TRACE_FORMAT_CT, 200, 0, 60806, 21, 22 },
		{ TRACE_FORMAT_CT, 201, 0, 60806, 21, 22 },
	};
	struct journal_copy c;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start_journal(cases[i].format);
		cursors[0].read = 5;
		cursors[2].read = 7;
		dirty[0] = 0;
		dirty[1] = 2;
		drain.nr_dirty = 2;
		begin(TRACE_SAVE_ALL, 100, 11, 12);
		j.saver.end(j.saver.ctx, true);
		cursors[0].read = 6;
		cursors[2].read = 8;
		begin(TRACE_SAVE_ALL, 200, 21, 22);
		make_file(trace, cases[i].trace);
		make_file(sidecar, cases[i].sidecar);
		c = read_journal(3);
		CHECK(c.found && !c.failed);
		CHECK_EQ(positions(&c), cases[i].positions);
		CHECK_EQ(c.save.transitions, cases[i].transitions);
		CHECK_EQ(c.save.others, cases[i].others);
		CHECK_EQ(c.cut_lane, UINT32_MAX);
		journal_copy_release(&c);
		journal_close(&j);
	}
}

static void a_ctf_trace_has_a_stream_for_each_lane(void)
{
	char stream[100], folder[80];
	struct journal_copy c;
	long size;

	snprintf(folder, sizeof(folder), "%s/t.ctf", dir);
	CHECK_EQ(mkdir(folder, 0700), 0);
	snprintf(stream, sizeof(stream), "%s/lane_2", folder);
	for (size = 199; size <= 200; size++) {
		start_journal(TRACE_FORMAT_CTF);
		cursors[2].read = 8;
		begin(2, 200, 21, 22);
		make_file(stream, size);
		journal_read(&c, region, (uint32_t)getpid(), 3, folder);
		CHECK_STR(c.trace, folder);
		CHECK_EQ(journal_position(&c, 2, true), size == 200 ? 8 : 0);
		CHECK_EQ(journal_position(&c, 2, false), size == 200 ? 8 : 0);
		CHECK_EQ(c.cut_lane, size == 200 ? UINT32_MAX : 2);
		CHECK_EQ(c.save.transitions, size == 200 ? 21 : 0);
		journal_copy_release(&c);
		journal_close(&j);
	}
	unlink(stream);
	rmdir(folder);
}

static void without_the_trace_the_last_complete_save_counts(void)
{
	struct journal_copy c;

	start_journal(TRACE_FORMAT_CT);
	cursors[2].read = 8;
	begin(2, 0, 21, 22);
	unlink(trace);
	c = read_journal(3);
	CHECK(c.found && !c.has_trace);
	CHECK_EQ(journal_position(&c, 2, true), 0);
	journal_copy_release(&c);
	journal_close(&j);
	make_file(trace, 0);
}

static void after_a_failed_write_nothing_more_is_noted(void)
{
	struct journal_copy c;

	start_journal(TRACE_FORMAT_CT);
	cursors[2].read = 8;
	begin(2, 1000, 21, 22);
	j.saver.end(j.saver.ctx, false);
	CHECK(!drain.saves);
	CHECK_EQ(saved_lane, UINT32_MAX);
	cursors[2].read = 9;
	begin(2, 0, 31, 32);
	j.saver.end(j.saver.ctx, true);
	CHECK_EQ(saved_lane, UINT32_MAX);
	c = read_journal(3);
	CHECK(c.failed);
	CHECK_EQ(journal_position(&c, 2, true), 0);
	CHECK_EQ(c.save.transitions, 0);
	journal_copy_release(&c);
	journal_close(&j);
}

static void a_lane_that_is_given_back_starts_at_zero(void)
{
	struct journal_copy c;

	start_journal(TRACE_FORMAT_CT);
	cursors[2].read = 8;
	begin(2, 0, 21, 22);
	j.saver.end(j.saver.ctx, true);
	drain.left_lost = 3;
	drain.left_lost_marks = 4;
	journal_reset_lane(&j, 2);
	c = read_journal(3);
	CHECK_EQ(journal_position(&c, 2, true), 0);
	CHECK_EQ(c.lost, 3);
	CHECK_EQ(c.lost_others, 4);
	journal_copy_release(&c);
	drain.left_lost = 5;
	journal_reset_lane(&j, 5000); /* a lane without a save: only the losses change */
	c = read_journal(3);
	CHECK_EQ(c.lost, 5);
	journal_copy_release(&c);
	journal_close(&j);
	journal_reset_lane(&j, 2); /* without a journal */
	drain.left_lost = drain.left_lost_marks = 0;
}

/* A journal of another collector, of another version, or of no collector is not used. */
static void a_journal_has_to_fit(void)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} changes[] = {
		{ offsetof(struct journal_head, magic), 0 },
		{ offsetof(struct journal_head, version), 99 },
	};
	struct journal_copy c;
	size_t i;

	start_journal(TRACE_FORMAT_CT);
	journal_read(&c, region, (uint32_t)getpid() + 1, 3, NULL);
	CHECK(!c.found);
	journal_copy_release(&c);
	journal_read(&c, region, (uint32_t)getpid(), UINT32_MAX, NULL);
	CHECK(!c.found);
	journal_copy_release(&c);
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t *at = (uint8_t *)j.map + changes[i].at, before = *at;

		*at = changes[i].byte;
		c = read_journal(3);
		CHECK(!c.found);
		journal_copy_release(&c);
		*at = before;
		c = read_journal(3);
		CHECK(c.found);
		journal_copy_release(&c);
	}
	journal_close(&j);
}

static void a_journal_that_was_left_is_replaced(void)
{
	struct err err = { 0 };
	char left[80];

	snprintf(left, sizeof(left), "%s.saved", region);
	make_file(left, 10);
	start_journal(TRACE_FORMAT_CT);
	journal_close(&j);
	CHECK(access(left, F_OK) < 0);
	CHECK_EQ(journal_open(&j, "/nonexistent/region", trace, TRACE_FORMAT_CT, &drain, &err),
		 -ENOENT);
	CHECK_STR(err.text, "cannot create '/nonexistent/region.saved': No such file or directory");
	CHECK(j.head == NULL);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(region, sizeof(region), "%s/region", dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	snprintf(sidecar, sizeof(sidecar), "%s.meta", trace);
	make_file(trace, 0);
	RUN(complete_saves_count);
	RUN(a_save_that_was_not_completed_depends_on_the_files);
	RUN(a_ctf_trace_has_a_stream_for_each_lane);
	RUN(without_the_trace_the_last_complete_save_counts);
	RUN(after_a_failed_write_nothing_more_is_noted);
	RUN(a_lane_that_is_given_back_starts_at_zero);
	RUN(a_journal_has_to_fit);
	RUN(a_journal_that_was_left_is_replaced);
	unlink(trace);
	unlink(sidecar);
	rmdir(dir);
	return 0;
}
