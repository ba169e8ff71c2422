/* SPDX-License-Identifier: MIT */
/*
 * bench_compact.c - a trace in memory to a compact file on tmpfs and back, against CTF, CTF
 * compressed by zstd, and memcpy() of as many 32-byte records.
 *
 *	bench-compact TRACE [--seconds=S]
 *
 * All take turns.  A round writes every event of TRACE; opening and removing files is not timed,
 * the compression of a block is.  CTF is compressed file by file, at the same level, after it was
 * written: the time is that of both.  Times are those of the processor.
 */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

#define RECORD_SIZE 32u
#define LEVEL       1
#define LANES       256u

struct rig {
	char dir[64];
	struct trace_event *events;
	uint32_t *lanes; /* of the events: threads, in the order of their first event */
	size_t nr, room, transitions;
	uint64_t tids[LANES];
	unsigned nr_lanes;
	char *from, *to;
	uint64_t ct_bytes, ctf_bytes, zstd_bytes;
	struct bench_samples ct_write, ct_read, ctf_write, ctf_read, zstd_write, zstd_read, copy;
};

/* Time of this thread on a processor: others may be busy with something else. */
static uint64_t cpu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the events --------------------------------------------------------------- */

static uint32_t lane_of(struct rig *r, uint64_t tid)
{
	unsigned i;

	for (i = 0; i < r->nr_lanes; i++) {
		if (r->tids[i] == tid)
			return i;
	}
	if (r->nr_lanes == LANES)
		return LANES - 1;
	r->tids[r->nr_lanes] = tid;
	return r->nr_lanes++;
}

static void add_event(struct rig *r, const struct trace_event *ev)
{
	if (r->nr == r->room) {
		r->room = r->room ? r->room * 2 : 65536;
		r->events = reallocarray(r->events, r->room, sizeof(*r->events));
		r->lanes = reallocarray(r->lanes, r->room, sizeof(*r->lanes));
		if (!r->events || !r->lanes)
			bench_die("no memory");
	}
	r->lanes[r->nr] = lane_of(r, ev->tid);
	r->events[r->nr] = *ev;
	r->events[r->nr].name = NULL; /* the reader's */
	r->events[r->nr].name_size = 0;
	r->transitions += trace_is_transition(ev);
	r->nr++;
}

/* Returns the number of events; keeps them if there is a rig for them. */
static size_t read_events(const char *path, struct rig *keep)
{
	struct err err = { 0 };
	struct trace_reader *reader = trace_reader_open(path, &err);
	struct trace_item item;
	size_t nr = 0;

	if (!reader)
		bench_die(err.text);
	while (trace_next(reader, &item, &err) > 0) {
		if (item.type != TRACE_ITEM_EVENT)
			continue;
		if (keep)
			add_event(keep, &item.event);
		nr++;
	}
	trace_reader_close(reader);
	return nr;
}

/* ---- write and read ------------------------------------------------------------- */

static void sample_ns(const struct rig *r, struct bench_samples *samples, uint64_t start)
{
	bench_sample(samples, (double)(cpu_now_ns() - start) / (double)r->nr);
}

static struct trace_writer *open_output(struct trace_output *output)
{
	struct err err = { 0 };
	struct trace_writer *w = trace_writer_open(output, &err);

	if (!w)
		bench_die(err.text);
	return w;
}

static void put_all(struct rig *r, struct trace_writer *w, struct bench_samples *samples)
{
	struct trace_counts counts;
	struct err err = { 0 };
	uint64_t start;
	size_t i;

	for (i = 0; i < r->nr_lanes; i++)
		trace_put_lane(w, &(struct trace_lane){ (uint32_t)i, 1, r->tids[i] });
	start = cpu_now_ns();
	for (i = 0; i < r->nr; i++)
		trace_put_event(w, r->lanes[i], &r->events[i]);
	trace_flush(w);
	sample_ns(r, samples, start);
	trace_writer_close(w, &counts, &err, &err);
	if (err.code || counts.written != r->transitions)
		bench_die("not every event got into the trace");
}

static void measure_read(struct rig *r, const char *path, struct bench_samples *samples)
{
	uint64_t start = cpu_now_ns();

	if (read_events(path, NULL) != r->nr)
		bench_die("not every event came back");
	sample_ns(r, samples, start);
}

static void measure_compact(struct rig *r)
{
	struct trace_output output = { .format = TRACE_FORMAT_CT };
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/trace.ct", r->dir);
	output.path = path;
	output.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	put_all(r, open_output(&output), &r->ct_write);
	if (stat(path, &st) < 0)
		bench_die("the trace is gone");
	r->ct_bytes = (uint64_t)st.st_size;
	measure_read(r, path, &r->ct_read);
	unlink(path);
}

/* Compresses and decompresses the files of a directory; adds the times. */
static void press(struct rig *r, const char *path, uint64_t *pack_ns, uint64_t *unpack_ns)
{
	DIR *d = opendir(path);
	struct dirent *e;

	r->ctf_bytes = r->zstd_bytes = *pack_ns = *unpack_ns = 0;
	while (d && (e = readdir(d))) {
		int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
		struct stat st;
		size_t size, room, packed;
		char *from, *to;
		uint64_t start;

		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
			close(fd);
			continue;
		}
		size = (size_t)st.st_size;
		room = ZSTD_compressBound(size);
		from = malloc(size + 1);
		to = malloc(room);
		if (!from || !to || read(fd, from, size) != (ssize_t)size)
			bench_die("cannot read a stream");
		start = cpu_now_ns();
		packed = ZSTD_compress(to, room, from, size, LEVEL);
		*pack_ns += cpu_now_ns() - start;
		start = cpu_now_ns();
		if (ZSTD_decompress(from, size, to, packed) != size)
			bench_die("zstd failed");
		*unpack_ns += cpu_now_ns() - start;
		r->ctf_bytes += size;
		r->zstd_bytes += packed;
		free(from);
		free(to);
		close(fd);
		unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

static void measure_ctf(struct rig *r)
{
	struct trace_output output = { .format = TRACE_FORMAT_CTF };
	uint64_t pack_ns, unpack_ns;
	char path[96];

	snprintf(path, sizeof(path), "%s/trace.ctf", r->dir);
	output.path = path;
	if (mkdir(path, 0700) < 0)
		bench_die("cannot make a directory");
	output.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_all(r, open_output(&output), &r->ctf_write);
	measure_read(r, path, &r->ctf_read);
	press(r, path, &pack_ns, &unpack_ns);
	bench_sample(&r->zstd_write,
		     r->ctf_write.values[r->ctf_write.nr - 1] + (double)pack_ns / (double)r->nr);
	bench_sample(&r->zstd_read,
		     r->ctf_read.values[r->ctf_read.nr - 1] + (double)unpack_ns / (double)r->nr);
	close(output.fd);
	rmdir(path);
}

static void measure_copy(struct rig *r)
{
	uint64_t start = cpu_now_ns();
	char *to = r->to;

	memcpy(to, r->from, r->nr * RECORD_SIZE);
	BENCH_LAUNDER(to);
	sample_ns(r, &r->copy, start);
}

/* ---- results --------------------------------------------------------------------- */

static void emit_rate(struct bench_samples *s, const char *key)
{
	bench_emit(bench_best(s), "compact.%s_ns", key);
	bench_emit(1e9 / bench_best(s), "compact.%s_per_s", key);
}

static void emit_all(struct rig *r)
{
	double nr = (double)r->nr;

	bench_emit(nr, "compact.events");
	bench_emit((double)r->ct_bytes / nr, "compact.ct_bytes");
	bench_emit((double)r->ct_bytes / (double)r->transitions, "compact.ct_bytes_per_transition");
	bench_emit((double)r->ctf_bytes / nr, "compact.ctf_bytes");
	bench_emit((double)r->zstd_bytes / nr, "compact.ctf_zstd_bytes");
	emit_rate(&r->ct_write, "ct_write");
	emit_rate(&r->ctf_write, "ctf_write");
	emit_rate(&r->zstd_write, "ctf_zstd_write");
	emit_rate(&r->ct_read, "ct_read");
	emit_rate(&r->ctf_read, "ctf_read");
	emit_rate(&r->zstd_read, "ctf_zstd_read");
	emit_rate(&r->copy, "memcpy");
}

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 5);
	struct rig r = { .dir = "/dev/shm/bench-compact.XXXXXX" };
	uint64_t end;

	if (argc < 2)
		bench_die("which trace?");
	bench_pin();
	read_events(argv[1], &r);
	r.from = calloc(r.nr + 1, RECORD_SIZE);
	r.to = calloc(r.nr + 1, RECORD_SIZE);
	if (!r.nr || !r.from || !r.to || !mkdtemp(r.dir))
		bench_die("no events, no memory, or no directory in /dev/shm");
	end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	do {
		measure_compact(&r);
		measure_ctf(&r);
		measure_copy(&r);
	} while (bench_now_ns() < end);
	emit_all(&r);
	rmdir(r.dir);
	free(r.events);
	free(r.lanes);
	free(r.from);
	free(r.to);
	return 0;
}
