/* SPDX-License-Identifier: MIT */
/*
 * test_follow.c - a trace is read while it is written, and in the end all of it was read, in
 * the order of the finished trace.
 *
 * The writer is the real one, with the lock that a collector holds; in one test it is another
 * process that writes as fast as it can, so that the files change under the reader.
 */
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "trace/jsonl_input.h"
#include "trace_items.h"

#define LONG_NS UINT64_C(3600000000000)

static char dir[] = "/tmp/test_follow.XXXXXX";
static char path[64], meta[80];

/* ---- writing ---------------------------------------------------------------------- */

static int open_locked(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
	return fd;
}

static struct trace_writer *open_writer(void)
{
	struct sidecar_run run = { .tool = "t", .arch = "x", .start_ts = 1 };
	struct trace_output out = { .path = path,
				    .format = TRACE_FORMAT_JSONL,
				    .fd = open_locked(),
				    .has_sidecar = true,
				    .run = run };
	struct err err = { 0 };
	struct trace_writer *w = trace_writer_open(&out, &err);

	CHECK(w);
	trace_put_run(w, &run);
	trace_put_lane(w, &(struct trace_lane){ 0, 77, 1000 });
	return w;
}

static void close_writer(struct trace_writer *w)
{
	struct sidecar_coroutine co = { .station = TRACE_NO_STATION,
					.probe_id = 5,
					.name = "left" };
	struct sidecar_totals totals = { .complete = true, .exit_status = 0, .end_ts = 99 };
	struct trace_counts counts;
	struct err trace = { 0 }, facts = { 0 };

	trace_put_coroutine(w, &co);
	trace_put_totals(w, &totals);
	trace_writer_close(w, &counts, &trace, &facts);
	CHECK_EQ(trace.code, 0);
	CHECK_EQ(facts.code, 0);
}

/* Item @i of a run: a new site now and then, before the events that name it. */
static void put_some(struct trace_writer *w, uint64_t i, uint64_t *ts)
{
	struct trace_event ev;

	*ts += 1 + next_random() % 1000; /* events of the same time may be in either order */
	ev = any_event(*ts);
	ev.site = (uint32_t)(i / 500);
	if (i % 500 == 0 && i)
		trace_put_site(w, &(struct trace_site){ (uint32_t)(i / 500), 1, 7, "a.c", "f" });
	if (i % 700 == 0)
		trace_put_gap(w, 0, *ts, *ts, 3, 1);
	trace_put_event(w, 0, &ev);
}

/* ---- reading ---------------------------------------------------------------------- */

/* What was read: enough of each item to compare two readings. */
struct reading {
	uint64_t *marks; /* of events and gaps, in order */
	size_t nr, room;
	uint64_t types[NR_TRACE_ITEM_TYPES];
	uint32_t sites; /* reported so far */
	bool totals;
	uint64_t while_growing; /* items that arrived while the trace was being written */
	size_t kill_at;         /* kill the victim after this many reads; 0: do not */
	pid_t victim;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	return (a ^ b) * UINT64_C(0x9e3779b97f4a7c15) + (a >> 29);
}

static uint64_t mark_of(const struct trace_item *item)
{
	const struct trace_event *ev = &item->event;
	uint64_t m = item->type;
	uint32_t i;

	if (item->type == TRACE_ITEM_GAP)
		return mix(mix(m, item->gap.to_ts), item->gap.transitions);
	m = mix(mix(mix(m, ev->ts), ev->probe_id), (uint64_t)ev->kind << 32 | ev->site);
	m = mix(mix(mix(m, ev->addr), ev->tid), ev->resource ^ ev->peer << 1 ^ ev->written << 2);
	for (i = 0; i < ev->name_size; i++)
		m = mix(m, (unsigned char)ev->name[i]);
	return m;
}

static void note(struct reading *r, const struct trace_item *item)
{
	CHECK(!r->totals);
	r->types[item->type]++;
	if (item->type == TRACE_ITEM_SITE)
		r->sites = item->site.id;
	r->totals = item->type == TRACE_ITEM_TOTALS;
	if (item->type != TRACE_ITEM_EVENT && item->type != TRACE_ITEM_GAP)
		return;
	/* What it refers to is known. */
	CHECK(item->type == TRACE_ITEM_GAP || item->event.site <= r->sites);
	CHECK_EQ(r->types[TRACE_ITEM_COROUTINE], 0);
	if (r->nr == r->room) {
		r->room = r->room ? r->room * 2 : 1024;
		r->marks = reallocarray(r->marks, r->room, sizeof(*r->marks));
		CHECK(r->marks);
	}
	r->marks[r->nr++] = mark_of(item);
}

/* Read all that is available; returns the last result of trace_next(). */
static int read_on(struct trace_reader *reader, struct reading *r)
{
	struct trace_item item;
	struct err err = { 0 };
	int rc;

	while ((rc = trace_next(reader, &item, &err)) > 0) {
		note(r, &item);
		r->while_growing += trace_reader_stats(reader)->growing;
		if (r->victim && r->kill_at && r->nr >= r->kill_at)
			kill(r->victim, SIGKILL);
	}
	CHECK(rc == 0 || rc == -EAGAIN);
	CHECK_EQ(err.code, 0);
	return rc;
}

static struct trace_reader *follow(uint64_t patience_ns)
{
	struct err err = { 0 };
	struct trace_reader *reader = trace_reader_follow(path, &err);

	CHECK(reader);
	CHECK(trace_reader_stats(reader)->growing);
	jsonl_input_patience(reader, patience_ns);
	return reader;
}

static void check_same_as_finished(const struct reading *r)
{
	struct err err = { 0 };
	struct trace_reader *reader = trace_reader_open(path, &err);
	struct reading whole = { 0 };
	size_t i;

	CHECK(reader);
	CHECK_EQ(read_on(reader, &whole), 0);
	trace_reader_close(reader);
	for (i = 0; i < NR_TRACE_ITEM_TYPES; i++)
		CHECK_EQ(r->types[i], whole.types[i]);
	CHECK_EQ(r->nr, whole.nr);
	for (i = 0; i < r->nr; i++)
		CHECK(r->marks[i] == whole.marks[i]);
	free(whole.marks);
}

/* ---- tests ------------------------------------------------------------------------ */

static void gives_what_the_finished_trace_has_in_its_order(void)
{
	struct trace_writer *w = open_writer();
	struct trace_reader *reader;
	struct reading r = { 0 };
	uint64_t ts = UINT64_C(1000000000), i, waits = 0, seen = 0;

	trace_flush(w);
	reader = follow(LONG_NS);
	for (i = 0; i < 60000; i++) {
		size_t before = r.nr;

		put_some(w, i, &ts);
		if (next_random() % 400 == 0)
			trace_flush(w);
		if (next_random() % 100)
			continue;
		CHECK_EQ(read_on(reader, &r), -EAGAIN);
		waits++;
		seen += r.nr > before;
	}
	/* It was read while it grew, not at the end. */
	CHECK(waits > 100 && seen > 50);
	close_writer(w);
	CHECK_EQ(read_on(reader, &r), 0);
	CHECK(r.totals);
	CHECK(!trace_reader_stats(reader)->growing);
	CHECK(trace_stats_are_clean(trace_reader_stats(reader)));
	trace_reader_close(reader);
	check_same_as_finished(&r);
	free(r.marks);
}

/* Another process writes; @killed: until the test kills it. */
static void follow_a_process(bool killed)
{
	struct trace_reader *reader;
	struct reading r = { 0 };
	int ready[2], seen[2], status, rc;
	pid_t pid;
	char c;

	CHECK(pipe(ready) == 0 && pipe(seen) == 0);
	pid = fork();
	if (pid == 0) {
		struct trace_writer *w = open_writer();
		uint64_t ts = UINT64_C(1000000000), i;

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no child */
		trace_flush(w);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (i = 0; killed || i < 100000; i++) {
			put_some(w, i, &ts);
			if (i % 97 == 0)
				trace_flush(w);
			/* The reader has read this much, however slow the machine is. */
			if (i == 970 && read(seen[0], &c, 1) != 1)
				_exit(1);
		}
		close_writer(w);
		_exit(0);
	}
	CHECK(read(ready[0], &c, 1) == 1);
	r.kill_at = killed ? 50000 : 0;
	r.victim = pid;
	reader = follow(LONG_NS);
	while ((rc = read_on(reader, &r)) == -EAGAIN && !r.nr)
		;
	CHECK(write(seen[1], "s", 1) == 1);
	while (rc == -EAGAIN)
		rc = read_on(reader, &r);
	CHECK(r.while_growing > 0);
	CHECK_EQ(rc, 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(r.totals, !killed);
	/* A write cut short by a kill leaves half a line, at most one in each file. */
	CHECK(trace_reader_stats(reader)->lines.garbage <= killed);
	CHECK(trace_reader_stats(reader)->sidecar.garbage <= killed);
	trace_reader_close(reader);
	check_same_as_finished(&r);
	free(r.marks);
	close(ready[0]);
	close(ready[1]);
	close(seen[0]);
	close(seen[1]);
}

static void keeps_up_with_a_process_that_writes_meanwhile(void)
{
	follow_a_process(false);
}

static void a_writer_that_was_killed_is_the_end(void)
{
	follow_a_process(true);
}

static const char whole_line[] =
	"{\"probe_id\":1,\"tid\":2,\"addr\":\"0x0000000000000000\",\"seq\":2,\"is_active\":true,"
	"\"ts\":123456789}\n";

static void put_raw(int fd, const char *text, size_t size)
{
	CHECK_EQ(write(fd, text, size), size);
}

static void half_a_line_is_none_yet(void)
{
	int fd = open_locked();
	struct trace_reader *reader;
	struct reading r = { 0 };
	off_t end;

	unlink(meta);
	reader = follow(LONG_NS);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	put_raw(fd, whole_line, 40);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	CHECK_EQ(r.nr, 0);
	put_raw(fd, whole_line + 40, sizeof(whole_line) - 1 - 40);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	CHECK_EQ(r.nr, 1);
	/* On a full disk half a line is removed again. */
	end = lseek(fd, 0, SEEK_CUR);
	put_raw(fd, whole_line, 40);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	CHECK(ftruncate(fd, end) == 0);
	close(fd);
	CHECK_EQ(read_on(reader, &r), 0);
	CHECK_EQ(r.nr, 1);
	CHECK_EQ(trace_reader_stats(reader)->lines.garbage, 0);
	trace_reader_close(reader);
	free(r.marks);
}

static void half_a_line_at_the_end_is_told(void)
{
	int fd = open_locked();
	struct trace_reader *reader = follow(LONG_NS);
	struct reading r = { 0 };

	put_raw(fd, whole_line, 40);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	close(fd);
	CHECK_EQ(read_on(reader, &r), 0);
	CHECK_EQ(trace_reader_stats(reader)->lines.garbage, 1);
	trace_reader_close(reader);
	free(r.marks);
}

static void a_line_that_is_too_long_passes_in_pieces(void)
{
	int fd = open_locked();
	struct trace_reader *reader = follow(LONG_NS);
	struct reading r = { 0 };
	char *piece = malloc(700000);
	int i;

	memset(piece, 'x', 700000);
	for (i = 0; i < 4; i++) {
		put_raw(fd, piece, 700000);
		CHECK_EQ(read_on(reader, &r), -EAGAIN);
	}
	put_raw(fd, "\n", 1);
	put_raw(fd, whole_line, sizeof(whole_line) - 1);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	CHECK_EQ(r.nr, 1);
	CHECK_EQ(trace_reader_stats(reader)->lines.garbage, 1);
	close(fd);
	CHECK_EQ(read_on(reader, &r), 0);
	trace_reader_close(reader);
	free(piece);
	free(r.marks);
}

/* Events of the sidecar whose lines are missing wait for them, but not for ever. */
static void what_was_told_waits_for_its_lines(void)
{
	struct trace_writer *w = open_writer();
	struct trace_event ev;
	struct trace_reader *reader;
	struct reading r = { 0 };

	trace_event_init(&ev);
	ev.kind = TRACE_WAKE;
	ev.probe_id = ev.tid = 1;
	ev.ts = 500;
	trace_put_event(w, 0, &ev);
	trace_flush(w);
	reader = follow(LONG_NS);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	CHECK_EQ(r.nr, 0);
	CHECK_EQ(r.types[TRACE_ITEM_RUN], 1);
	ev.kind = TRACE_SUSPEND;
	ev.seq = 2;
	ev.ts = 400;
	trace_put_event(w, 0, &ev);
	trace_flush(w);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	CHECK_EQ(r.nr, 1);
	jsonl_input_patience(reader, 0);
	CHECK_EQ(read_on(reader, &r), -EAGAIN);
	CHECK_EQ(r.nr, 2);
	close_writer(w);
	CHECK_EQ(read_on(reader, &r), 0);
	trace_reader_close(reader);
	free(r.marks);
}

static void a_finished_trace_is_read_as_always(void)
{
	struct trace_writer *w = open_writer();
	struct err err = { 0 };
	struct trace_reader *reader;
	struct reading r = { 0 };
	uint64_t ts = UINT64_C(1000000000), i;

	for (i = 0; i < 2000; i++)
		put_some(w, i, &ts);
	close_writer(w);
	reader = trace_reader_follow(path, &err);
	CHECK(reader && !trace_reader_stats(reader)->growing);
	CHECK_EQ(read_on(reader, &r), 0);
	trace_reader_close(reader);
	check_same_as_finished(&r);
	free(r.marks);
}

static void ctf_is_refused_while_it_is_written(void)
{
	char ctf[64];
	struct err err = { 0 };
	int fd;

	snprintf(ctf, sizeof(ctf), "%s/t.ctf", dir);
	CHECK(mkdir(ctf, 0777) == 0);
	fd = open(ctf, O_RDONLY | O_DIRECTORY);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	CHECK(!trace_reader_follow(ctf, &err));
	CHECK_EQ(err.code, -EBUSY);
	CHECK(err.hint[0]);
	close(fd);
	rmdir(ctf);
}

int main(void)
{
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.jsonl", dir);
	snprintf(meta, sizeof(meta), "%s.meta", path);
	RUN(gives_what_the_finished_trace_has_in_its_order);
	RUN(keeps_up_with_a_process_that_writes_meanwhile);
	RUN(a_writer_that_was_killed_is_the_end);
	RUN(half_a_line_is_none_yet);
	RUN(half_a_line_at_the_end_is_told);
	RUN(a_line_that_is_too_long_passes_in_pieces);
	RUN(what_was_told_waits_for_its_lines);
	RUN(a_finished_trace_is_read_as_always);
	RUN(ctf_is_refused_while_it_is_written);
	unlink(path);
	unlink(meta);
	rmdir(dir);
	return 0;
}
