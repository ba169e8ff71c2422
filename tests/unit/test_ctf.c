/* SPDX-License-Identifier: MIT */
/*
 * test_ctf.c - CTF traces: exact counts whatever the disk does, order whatever the order of
 * arrival, and a reader that returns what is intact of a truncated, corrupt or forged trace.
 */
#include "trace/ctf_forms.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "trace_items.h"

static char dir[] = "/tmp/test_ctf.XXXXXX";
static char trace[64];

/* ---- helpers -------------------------------------------------------------- */

static void empty_trace(void)
{
	DIR *d = opendir(trace);
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

struct out {
	struct trace_writer *w;
	int dir;
};

static struct out open_out(void)
{
	struct trace_output output = {
		.path = trace,
		.format = TRACE_FORMAT_CTF,
		.run = { .tool = "test", .start_ts = 1000, .start_realtime = 5000 },
	};
	struct err err = { 0 };
	struct out o;

	mkdir(trace, 0700);
	empty_trace();
	o.dir = output.fd = open(trace, O_RDONLY | O_DIRECTORY);
	CHECK(o.dir >= 0);
	o.w = trace_writer_open(&output, &err);
	CHECK(o.w != NULL);
	return o;
}

static struct trace_counts close_out(struct out *o, int error)
{
	struct err err = { 0 }, facts = { 0 };
	struct trace_counts counts;

	trace_writer_close(o->w, &counts, &err, &facts);
	close(o->dir);
	CHECK_EQ(err.code, error);
	CHECK_EQ(facts.code, 0);
	if (error) {
		char numbers[128];

		snprintf(numbers, sizeof(numbers),
			 "; %" PRIu64 " events are in it, %" PRIu64 " are not",
			 counts.written + counts.others_written,
			 counts.unwritten + counts.others_unwritten);
		CHECK(strstr(err.text, trace) != NULL);
		CHECK(strstr(err.text, numbers) != NULL);
	}
	return counts;
}

/* Event @n of lane @lane, 25 bytes long. */
static struct trace_event plain(unsigned lane, uint64_t n, uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.probe_id = lane;
	ev.tid = 1000 + lane;
	ev.seq = n + 1;
	ev.addr = n * 3;
	ev.is_active = n % 2;
	ev.kind = n % 2;
	ev.ts = ts;
	return ev;
}

static void put_plain(struct out *o, unsigned lane, uint64_t n, uint64_t ts)
{
	struct trace_event ev = plain(lane, n, ts);

	trace_put_event(o->w, lane, &ev);
}

static void tell_lanes(struct out *o, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		trace_put_lane(o->w, &(struct trace_lane){ i, 1, 1000 + i });
}

struct found {
	uint64_t events, others, gaps, facts;
	uint64_t by_lane[8];
	bool has_totals, in_order;
	struct sidecar_totals totals;
	struct ctf_stats stats;
};

static void find_event(struct found *f, const struct trace_event *ev, uint64_t *last)
{
	f->in_order &= ev->ts >= *last;
	*last = ev->ts;
	if (!trace_is_transition(ev)) {
		f->others++;
		return;
	}
	f->events++;
	if (ev->tid >= 1000 && ev->tid < 1008)
		f->by_lane[ev->tid - 1000]++;
}

/* Reads everything in the trace; opening it must succeed. */
static struct found read_trace(void)
{
	struct found f = { .in_order = true };
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(trace, &err);
	struct trace_item item;
	uint64_t last = 0;
	int rc;

	CHECK(r != NULL);
	while ((rc = trace_next(r, &item, &err)) > 0) {
		if (item.type == TRACE_ITEM_EVENT)
			find_event(&f, &item.event, &last);
		else if (item.type == TRACE_ITEM_GAP)
			f.gaps++;
		else
			f.facts++;
		if (item.type == TRACE_ITEM_TOTALS) {
			f.has_totals = true;
			f.totals = item.totals;
		}
	}
	CHECK_EQ(rc, 0);
	f.stats = trace_reader_stats(r)->ctf;
	trace_reader_close(r);
	return f;
}

static bool is_clean(const struct found *f)
{
	return !f->stats.damaged && !f->stats.torn && !f->stats.missing && !f->stats.unknown;
}

static char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", trace, name);
	return path;
}

static uint64_t size_of(const char *name)
{
	struct stat st;

	CHECK_EQ(stat(path_of(name), &st), 0);
	return (uint64_t)st.st_size;
}

static uint8_t *slurp(const char *name, size_t *size)
{
	int fd = open(path_of(name), O_RDONLY);
	uint8_t *bytes;

	*size = size_of(name);
	bytes = malloc(*size + 1);
	CHECK(fd >= 0 && bytes && read(fd, bytes, *size) == (ssize_t)*size);
	close(fd);
	return bytes;
}

/* Not truncated first: some file systems wait for the disk when such a file is closed. */
static void spit(const char *name, const void *bytes, size_t size)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

/* ---- order ---------------------------------------------------------------- */

static void a_silence_of_any_length_is_told(void)
{
	static const uint64_t pauses[] = { 0,
					   1,
					   UINT32_MAX - 1,
					   UINT32_MAX,
					   UINT32_MAX + UINT64_C(1),
					   UINT64_C(1) << 40,
					   UINT64_C(1) << 55,
					   5 };
	struct out o = open_out();
	struct err err = { 0 };
	struct trace_reader *r;
	struct trace_item item;
	uint64_t ts = 7, expected = 7;
	size_t i;

	tell_lanes(&o, 1);
	for (i = 0; i < 8; i++)
		put_plain(&o, 0, i, ts += pauses[i]);
	CHECK_EQ(close_out(&o, 0).clamped, 0);
	r = trace_reader_open(trace, &err);
	CHECK(r != NULL);
	for (i = 0; i < 8; i++) {
		CHECK_EQ(trace_next(r, &item, &err), 1);
		CHECK_EQ(item.event.ts, expected += pauses[i]);
	}
	trace_reader_close(r);
}

static void time_that_goes_back_in_a_lane_is_moved_and_counted(void)
{
	struct out o = open_out();
	struct found f;

	tell_lanes(&o, 2);
	put_plain(&o, 0, 0, 5000);
	put_plain(&o, 0, 1, 4999);
	put_plain(&o, 1, 0, 100); /* another lane has its own time */
	put_plain(&o, 0, 2, 5001);
	trace_flush(o.w);
	put_plain(&o, 0, 3, 10); /* in another packet, too */
	CHECK_EQ(close_out(&o, 0).clamped, 2);
	f = read_trace();
	CHECK(f.events == 5 && f.in_order && is_clean(&f));
}

static void a_lane_that_another_thread_takes_over_says_so(void)
{
	struct out o = open_out();
	struct trace_event ev = plain(0, 0, 10);
	struct found f;

	trace_put_lane(o.w, &(struct trace_lane){ 0, 1, 1000 });
	trace_put_event(o.w, 0, &ev);
	trace_put_lane(o.w, &(struct trace_lane){ 0, 1, 1005 });
	ev.tid = 1005;
	ev.ts = 11;
	trace_put_event(o.w, 0, &ev);
	ev.tid = 1006; /* no record says so, but it is not lost */
	ev.ts = 12;
	trace_put_event(o.w, 0, &ev);
	close_out(&o, 0);
	f = read_trace();
	CHECK(f.by_lane[0] == 1 && f.by_lane[5] == 1 && f.by_lane[6] == 1);
	CHECK_EQ(f.stats.packets, 2); /* one of events, one of totals */
}

/* A packet for each of many threads with few events would cost a system call each. */
static void a_long_packet_ends_where_another_thread_goes_on(void)
{
	struct out o = open_out();
	struct trace_event ev;
	struct found f;
	unsigned i;

	for (i = 0; i < 1200; i++) {
		ev = plain(0, i, 10 + i);
		ev.tid = 1000 + i / 400;
		if (i % 400 == 0)
			trace_put_lane(o.w, &(struct trace_lane){ 0, 1, ev.tid });
		trace_put_event(o.w, 0, &ev);
	}
	trace_put_lane(o.w, &(struct trace_lane){ 0, 2, 1002 }); /* another process */
	ev.ts++;
	trace_put_event(o.w, 0, &ev);
	close_out(&o, 0);
	f = read_trace();
	CHECK(f.by_lane[0] == 400 && f.by_lane[1] == 400 && f.by_lane[2] == 401);
	CHECK_EQ(f.stats.packets, 5); /* four of events, one of totals */
}

static void put_station(struct out *o, unsigned station, uint64_t n, uint64_t ts)
{
	struct trace_event ev = plain(station, n, ts);

	ev.station = station;
	trace_put_event(o->w, TRACE_LANE_STATIONS, &ev);
}

/* Station by station, as a scan finds them; each in order of time. */
static void stations_come_in_order_of_time(void)
{
	struct out o = open_out();
	struct found f;
	uint64_t scan, n = 0;
	unsigned i, k;

	for (scan = 0; scan < 100; scan++) {
		for (i = 0; i < 8; i++) {
			/* The last events are later than the begin of the scan. */
			for (k = 0; k < 8; k++)
				put_station(&o, i, n++, 10000 + scan * 1000 + k * 150 + i);
		}
		trace_put_horizon(o.w, 10000 + (scan + 1) * 1000);
		if (scan % 10 == 0)
			trace_flush(o.w);
	}
	CHECK_EQ(close_out(&o, 0).clamped, 0);
	f = read_trace();
	CHECK(f.events == 6400 && f.in_order && is_clean(&f));
	CHECK(access(path_of(CTF_LATE), F_OK) != 0);
}

static void stations_that_come_too_late_have_a_stream_of_their_own(void)
{
	struct out o = open_out();
	struct found f;

	put_station(&o, 1, 0, 5000);
	trace_put_horizon(o.w, 6000);
	put_station(&o, 2, 1, 3000); /* violates the horizon */
	put_station(&o, 2, 2, 3001);
	trace_put_horizon(o.w, 7000);
	CHECK_EQ(close_out(&o, 0).clamped, 0);
	f = read_trace();
	CHECK(f.events == 3 && f.in_order && is_clean(&f));
	CHECK_EQ(access(path_of(CTF_LATE), F_OK), 0);
}

static void stations_without_a_horizon_wait_for_the_flush_only(void)
{
	struct out o = open_out();
	struct trace_counts counts;

	put_station(&o, 1, 0, 5000);
	trace_flush(o.w);
	trace_writer_counts(o.w, &counts);
	CHECK_EQ(counts.written, 1);
	trace_put_horizon(o.w, 5000);
	put_station(&o, 1, 1, 6000);
	trace_flush(o.w); /* another horizon will follow */
	trace_writer_counts(o.w, &counts);
	CHECK_EQ(counts.written, 1);
	trace_flush(o.w); /* or it will not */
	trace_writer_counts(o.w, &counts);
	CHECK_EQ(counts.written, 2);
	close_out(&o, 0);
}

/* A program can write any time into its station; the largest value also means "no horizon". */
static void a_station_event_at_the_end_of_time_is_in_the_trace(void)
{
	struct out o = open_out();
	struct trace_counts counts;

	put_station(&o, 1, 0, UINT64_MAX);
	put_station(&o, 1, 1, 5000);
	trace_put_horizon(o.w, UINT64_MAX);
	trace_flush(o.w);
	trace_writer_counts(o.w, &counts);
	CHECK_EQ(counts.written, 2);
	close_out(&o, 0);
	CHECK_EQ(read_trace().events, 2);
}

/* ---- size ----------------------------------------------------------------- */

static void limit(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit l;

	CHECK_EQ(getrlimit(resource, &l), 0);
	l.rlim_cur = value;
	CHECK_EQ(setrlimit(resource, &l), 0);
}

static void more_lanes_than_descriptors_do_not_matter(void)
{
	enum { NR = 700, ROUNDS = 5 };
	struct out o = open_out();
	struct rlimit before;
	struct found f;
	unsigned i, k;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit(RLIMIT_NOFILE, 40);
	tell_lanes(&o, NR);
	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < NR; i++)
			put_plain(&o, i, k, 100 + k * NR + i);
		trace_flush(o.w);
	}
	CHECK_EQ(close_out(&o, 0).written, NR * ROUNDS);
	f = read_trace(); /* under the same limit */
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK(f.events == NR * ROUNDS && f.in_order && is_clean(&f));
	/* One for each lane with a file, one for all others; and the totals. */
	CHECK_EQ(f.stats.packets, (CTF_LANE_FILES + 1) * ROUNDS + 1);
	CHECK_EQ(f.stats.streams, CTF_LANE_FILES + 1 + 1);
}

static void long_names_and_long_commands_fit(void)
{
	static char name[3 * TRACE_NAME_MAX], word[300000];
	const char *const words[] = { word, "x" };
	struct out o = open_out();
	struct trace_event ev;
	struct trace_reader *r;
	struct trace_item item;
	struct err err = { 0 };
	int i;

	memset(name, 'n', sizeof(name));
	memset(word, 'w', sizeof(word) - 1);
	trace_put_run(o.w, &(struct sidecar_run){ .command = words, .nr_command = 2 });
	trace_event_init(&ev);
	ev.kind = TRACE_BIRTH;
	ev.name = name;
	for (i = 0; i < 200; i++) {
		ev.ts = 100 + (uint64_t)i;
		ev.name_size = i % 2 ? sizeof(name) : (uint32_t)i;
		trace_put_event(o.w, 0, &ev);
	}
	close_out(&o, 0);
	r = trace_reader_open(trace, &err);
	CHECK(r && trace_next(r, &item, &err) == 1 && item.type == TRACE_ITEM_RUN);
	CHECK(strlen(item.run.command[0]) == sizeof(word) - 1 && item.run.nr_command == 2);
	for (i = 0; i < 200; i++) {
		CHECK_EQ(trace_next(r, &item, &err), 1);
		CHECK_EQ(item.event.name_size, i % 2 ? TRACE_NAME_MAX : i);
		CHECK_EQ(!!(item.event.flags & TRACE_NAME_CUT), i % 2);
	}
	CHECK_EQ(trace_next(r, &item, &err), 0);
	trace_reader_close(r);
}

/* ---- full disks ------------------------------------------------------------ */

/* Write until well after the disk is full; then the totals. */
static struct trace_counts fill_up(struct out *o, uint64_t nr, int error)
{
	struct sidecar_totals totals = { .complete = true, .end_ts = UINT64_C(1) << 50 };
	uint64_t i;

	trace_put_run(o->w, &(struct sidecar_run){ .tool = "test" });
	tell_lanes(o, 4);
	for (i = 0; i < nr; i++) {
		struct trace_event ev = plain((unsigned)i % 4, i, 2000 + i);

		if (i % 10 == 9) {
			ev.kind = TRACE_WAKE;
			ev.is_active = false;
		}
		trace_put_event(o->w, (uint32_t)i % 4, &ev);
		if (i % 5000 == 0)
			trace_flush(o->w);
	}
	trace_flush(o->w);
	trace_writer_counts(o->w, &(struct trace_counts){ 0 });
	totals.written = nr;
	trace_put_totals(o->w, &totals);
	return close_out(o, error);
}

static void check_full(const struct trace_counts *counts, uint64_t nr)
{
	struct found f = read_trace();

	CHECK_EQ(counts->written + counts->unwritten, nr / 10 * 9);
	CHECK_EQ(counts->others_written + counts->others_unwritten, nr / 10);
	CHECK(counts->written > 0 && counts->unwritten > 0);
	CHECK_EQ(f.events, counts->written);
	CHECK_EQ(f.others, counts->others_written);
	CHECK(f.in_order && is_clean(&f));
	CHECK(f.has_totals && f.totals.written == nr && f.facts == 2);
}

static void a_limit_on_file_sizes_keeps_whole_packets_and_exact_counts(void)
{
	static const rlim_t sizes[] = { 1200, 5000, 100000, 777777 };
	size_t i;

	for (i = 0; i < 4; i++) {
		struct out o = open_out();
		struct trace_counts counts;

		limit(RLIMIT_FSIZE, sizes[i]);
		counts = fill_up(&o, 200000, -EFBIG);
		limit(RLIMIT_FSIZE, RLIM_INFINITY);
		if (i < 2) { /* not even the first packets */
			CHECK_EQ(counts.written + counts.unwritten, 180000);
			CHECK(read_trace().has_totals);
			continue;
		}
		check_full(&counts, 200000);
	}
}

/* The file of the lane cannot be created: its events are counted as not written. */
static void a_stream_that_cannot_be_created_is_an_error(void)
{
	struct out o = open_out();
	struct trace_counts counts;
	struct found f;
	uint64_t i;

	CHECK_EQ(mkdirat(o.dir, CTF_LANE_PREFIX "1", 0700), 0);
	trace_put_run(o.w, &(struct sidecar_run){ .tool = "test" });
	tell_lanes(&o, 2);
	for (i = 0; i < 10; i++)
		put_plain(&o, i < 3, i, 2000 + i);
	counts = close_out(&o, -EISDIR);
	CHECK_EQ(counts.written, 7);
	CHECK_EQ(counts.unwritten, 3);
	CHECK_EQ(rmdir(path_of(CTF_LANE_PREFIX "1")), 0);
	f = read_trace();
	CHECK_EQ(f.events, 7);
	CHECK_EQ(f.by_lane[0], 7);
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* A private mount namespace: as root, or as root of a user namespace. */
static bool mount_small_disk(void)
{
	char uid_map[32], gid_map[32];

	snprintf(uid_map, sizeof(uid_map), "0 %u 1", (unsigned)getuid());
	snprintf(gid_map, sizeof(gid_map), "0 %u 1", (unsigned)getgid());
	if (unshare(CLONE_NEWNS) < 0 && (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
					 !write_text("/proc/self/setgroups", "deny") ||
					 !write_text("/proc/self/uid_map", uid_map) ||
					 !write_text("/proc/self/gid_map", gid_map)))
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", trace, "tmpfs", 0, "size=300k") == 0;
}

static void child_on_a_small_disk(void)
{
	struct trace_counts counts;
	struct out o;

	if (!mount_small_disk())
		_exit(77);
	o = open_out();
	counts = fill_up(&o, 100000, -ENOSPC);
	check_full(&counts, 100000);
	_exit(0);
}

static void a_full_disk_keeps_whole_packets_and_exact_counts(void)
{
	int status;
	pid_t pid;

	mkdir(trace, 0700);
	empty_trace();
	fflush(stdout);
	pid = fork();
	if (!pid)
		child_on_a_small_disk();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("skipped: no mounts of our own here\n");
		return;
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- damage --------------------------------------------------------------- */

#define SMALL_LANES   3
#define SMALL_PACKETS 3
#define SMALL_EVENTS  4 /* per lane and packet */
#define PLAIN_RECORD  (CTF_EVENT_HEADER + CTF_SIZE_OF(plain))
#define SMALL_PACKET  (sizeof(struct ctf_packet) + SMALL_EVENTS * PLAIN_RECORD)

/* Lane 0 has records of one size; the others have one of every kind. */
static void write_small(void)
{
	struct out o = open_out();
	uint64_t n = 0;
	unsigned p, i, lane;

	trace_put_run(o.w, &(struct sidecar_run){ .tool = "test" });
	tell_lanes(&o, SMALL_LANES);
	for (p = 0; p < SMALL_PACKETS; p++) {
		for (i = 0; i < SMALL_EVENTS; i++) {
			put_plain(&o, 0, n, 2000 + n);
			for (lane = 1; lane < SMALL_LANES; lane++) {
				struct trace_event ev = any_event(2000 + n);

				ev.kind = (uint8_t)((n + lane) % NR_TRACE_KINDS);
				ev.is_active = ev.kind == TRACE_RESUME;
				ev.tid = 1000 + lane;
				trace_put_event(o.w, lane, &ev);
			}
			n++;
		}
		trace_put_gap(o.w, 2, 2000, 2000 + n, 1, 1);
		trace_put_site(o.w, &(struct trace_site){ p + 1, p + 1, 1, "f.c", "f" });
		trace_flush(o.w);
	}
	trace_put_coroutine(o.w, &(struct sidecar_coroutine){ .probe_id = 1, .name = "c" });
	trace_put_totals(o.w, &(struct sidecar_totals){ .end_ts = 99999 });
	close_out(&o, 0);
}

static uint64_t plain_before(size_t cut)
{
	size_t packet = cut / SMALL_PACKET, rest = cut % SMALL_PACKET;
	size_t head = sizeof(struct ctf_packet);

	return packet * SMALL_EVENTS + (rest > head ? (rest - head) / PLAIN_RECORD : 0);
}

static void of_a_cut_file_everything_before_the_cut_is_given(void)
{
	static const char *const names[] = { "lane_0", "lane_1", "lane_2", CTF_FACTS, CTF_TOTALS };
	struct found all;
	size_t k, cut;

	write_small();
	all = read_trace();
	CHECK(is_clean(&all) && all.gaps == SMALL_PACKETS && all.facts == 3 + SMALL_PACKETS);
	for (k = 0; k < 5; k++) {
		uint64_t before = 0;
		size_t size;
		uint8_t *bytes = slurp(names[k], &size);

		for (cut = 0; cut < size; cut++) {
			struct found f;
			uint64_t items;

			spit(names[k], bytes, cut);
			f = read_trace();
			items = f.events + f.others + f.gaps + f.facts;
			CHECK(items >= before && f.in_order);
			CHECK(f.stats.torn <= 1 && !f.stats.damaged && !f.stats.missing);
			if (k == 0) {
				CHECK_EQ(f.by_lane[0], plain_before(cut));
				CHECK_EQ(f.stats.torn, cut % SMALL_PACKET != 0);
				CHECK_EQ(f.others, all.others);
			}
			before = items;
		}
		spit(names[k], bytes, size);
		free(bytes);
		all = read_trace();
		CHECK(is_clean(&all));
	}
}

static void a_damaged_byte_costs_a_packet_at_most(void)
{
	static const char *const names[] = { "lane_0", "lane_1", "lane_2", CTF_FACTS, CTF_TOTALS };
	struct found all;
	size_t k, at;

	write_small();
	all = read_trace();
	for (k = 0; k < 5; k++) {
		size_t size;
		uint8_t *bytes = slurp(names[k], &size);

		for (at = 0; at < size; at++) {
			uint8_t good = bytes[at];
			struct found f;

			bytes[at] ^= (uint8_t)(1 + next_random() % 255);
			spit(names[k], bytes, size);
			f = read_trace();
			/* A suspend may have become a resume, or a wake an end, but not more. */
			CHECK(f.events + f.others + SMALL_EVENTS >= all.events + all.others);
			CHECK(f.events + f.others + f.gaps <= all.events + all.others + all.gaps);
			if (k)
				CHECK_EQ(f.by_lane[0], all.by_lane[0]);
			bytes[at] = good;
		}
		spit(names[k], bytes, size);
		free(bytes);
	}
}

static void packets_are_found_again_behind_rubbish(void)
{
	size_t size;
	uint8_t *bytes, *with;
	struct found f;

	write_small();
	bytes = slurp("lane_0", &size);
	with = malloc(size + 100000);
	CHECK(with != NULL);
	memcpy(with, bytes, SMALL_PACKET);
	memset(with + SMALL_PACKET, 0x5a, 100000);
	memcpy(with + SMALL_PACKET + 100000, bytes + SMALL_PACKET, size - SMALL_PACKET);
	spit("lane_0", with, size + 100000);
	f = read_trace();
	CHECK_EQ(f.by_lane[0], SMALL_EVENTS * SMALL_PACKETS);
	CHECK(f.stats.damaged == 1 && !f.stats.torn && !f.stats.missing);
	/* A missing packet is detected. */
	memmove(with + SMALL_PACKET, bytes + 2 * SMALL_PACKET, SMALL_PACKET);
	spit("lane_0", with, 2 * SMALL_PACKET);
	f = read_trace();
	CHECK_EQ(f.by_lane[0], SMALL_EVENTS * 2);
	CHECK(f.stats.missing == 1 && !f.stats.damaged);
	free(bytes);
	free(with);
}

/* A record of @size bytes in place of the plain ones of the first packet. */
static void spit_record(uint8_t id, const void *payload, uint16_t size)
{
	size_t total;
	uint8_t *bytes = slurp("lane_0", &total), *p = bytes + sizeof(struct ctf_packet);
	struct ctf_packet head;

	memcpy(&head, bytes, sizeof(head));
	p[PLAIN_RECORD + 4] = id;
	memcpy(p + PLAIN_RECORD + CTF_EVENT_HEADER, payload, size);
	spit("lane_0", bytes, total);
	free(bytes);
}

static void what_a_later_version_tells_is_skipped(void)
{
	uint16_t rest = CTF_SIZE_OF(plain) - 2;
	struct found f;

	write_small();
	spit_record(CTF_FIRST_SIZED + 5, &rest, 2); /* has a size */
	f = read_trace();
	CHECK_EQ(f.by_lane[0], SMALL_EVENTS * SMALL_PACKETS - 1);
	CHECK(f.stats.unknown == 1 && !f.stats.damaged);
	write_small();
	spit_record(CTF_RELEASE + 1, &rest, 2); /* has none: the packet's rest is lost */
	f = read_trace();
	CHECK_EQ(f.by_lane[0], SMALL_EVENTS * SMALL_PACKETS - (SMALL_EVENTS - 1));
	CHECK_EQ(f.stats.damaged, 1);
}

/* ---- others' -------------------------------------------------------------- */

static void refused(const char *metadata, size_t size, const char *text, const char *hint)
{
	struct err err = { 0 };

	spit(CTF_METADATA, metadata, size);
	CHECK(!trace_reader_open(trace, &err));
	if (!strstr(err.text, text) || !strstr(err.hint, hint)) {
		fprintf(stderr, "%s\n%s\n", err.text, err.hint);
		exit(1);
	}
}

static void traces_of_other_tools_are_refused_with_a_hint(void)
{
	static const char lttng[] =
		"/* CTF 1.8 */\n\ntypealias integer { size = 8; } := uint8_t;\n";
	static const char newer[] = "/* CTF 1.8 */\n/* corotracer-ctf 2 */\ntrace { };\n";
	static const char cut[] = "/* CTF 1.8 */\n/* corotracer-ctf 1 */\n\ntrace {\n\tuuid = \"01";
	static const char packets[] = "\x57\x1d\xd1\x75 and so on";

	write_small();
	refused(lttng, sizeof(lttng) - 1, "of another tool", "babeltrace2");
	refused(packets, sizeof(packets) - 1, "of another tool", "babeltrace2");
	refused(newer, sizeof(newer) - 1, "later format", "corotracer");
	refused(cut, sizeof(cut) - 1, "damaged", "");
	refused("", 0, "damaged", "");
	refused("hello", 5, "damaged", "");
}

static void what_is_no_file_is_left_alone(void)
{
	struct found f;

	write_small();
	CHECK_EQ(mkfifo(path_of("lane_7"), 0600), 0); /* open() would block for ever */
	CHECK_EQ(symlink("/dev/zero", path_of("lane_8")), 0);
	CHECK_EQ(mkdir(path_of("lane_9"), 0700), 0);
	spit("notes.txt", "mine", 4);
	f = read_trace();
	CHECK_EQ(f.by_lane[0], SMALL_EVENTS * SMALL_PACKETS);
	CHECK(is_clean(&f));
	rmdir(path_of("lane_9"));
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(trace, sizeof(trace), "%s/t.ctf", dir);
	RUN(a_silence_of_any_length_is_told);
	RUN(time_that_goes_back_in_a_lane_is_moved_and_counted);
	RUN(a_lane_that_another_thread_takes_over_says_so);
	RUN(a_long_packet_ends_where_another_thread_goes_on);
	RUN(stations_come_in_order_of_time);
	RUN(stations_that_come_too_late_have_a_stream_of_their_own);
	RUN(stations_without_a_horizon_wait_for_the_flush_only);
	RUN(a_station_event_at_the_end_of_time_is_in_the_trace);
	RUN(more_lanes_than_descriptors_do_not_matter);
	RUN(long_names_and_long_commands_fit);
	RUN(a_limit_on_file_sizes_keeps_whole_packets_and_exact_counts);
	RUN(a_stream_that_cannot_be_created_is_an_error);
	RUN(a_full_disk_keeps_whole_packets_and_exact_counts);
	RUN(of_a_cut_file_everything_before_the_cut_is_given);
	RUN(a_damaged_byte_costs_a_packet_at_most);
	RUN(packets_are_found_again_behind_rubbish);
	RUN(what_a_later_version_tells_is_skipped);
	RUN(traces_of_other_tools_are_refused_with_a_hint);
	RUN(what_is_no_file_is_left_alone);
	empty_trace();
	rmdir(trace);
	rmdir(dir);
	return 0;
}
