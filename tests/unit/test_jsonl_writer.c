/* SPDX-License-Identifier: MIT */
/*
 * test_jsonl_writer.c - exact bytes of each line, and exact counts for any failure of the output.
 *
 * Event n of a test has n as its seq, so that a line that is missing or twice in the
 * file shows.
 */
#include "trace/jsonl_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "count_memory.h"
#include "count_open.h"
#include "failing_memory.h"

static char dir[] = "/tmp/test_jsonl_writer.XXXXXX";
static char path[64];

/* ---- helpers ------------------------------------------------------------- */

static uint64_t next_random(void)
{
	static uint64_t state = UINT64_C(0x2545f4914f6cdd1d);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static struct trace_event event_number(uint64_t n)
{
	return (struct trace_event){
		.probe_id = UINT64_C(0x7f0012340000) + n / 8 % 100 * 256,
		.tid = 1000 + n % 3,
		.addr = n % 2 ? n * 4096 : 0,
		.seq = n,
		.ts = UINT64_C(123456789000000) + n * 777,
		.is_active = n % 2 == 0,
		.station = n % 5 ? TRACE_NO_STATION : (uint32_t)(n % 100),
	};
}

static int line_of(const struct trace_event *ev, char *line, size_t size)
{
	char told[256] = "";
	size_t at = 0;

	if (ev->station != TRACE_NO_STATION)
		at += (size_t)sprintf(told, ",\"station\":%" PRIu32, ev->station);
	if (ev->site)
		at += (size_t)sprintf(told + at, ",\"site\":%" PRIu32, ev->site);
	if (ev->reason >= NR_TRACE_REASONS)
		at += (size_t)sprintf(told + at, ",\"reason\":%u", ev->reason);
	else if (ev->reason)
		at += (size_t)sprintf(told + at, ",\"reason\":\"%s\"",
				      trace_reason_name(ev->reason));
	if (ev->flags & TRACE_HAS_RESOURCE)
		sprintf(told + at, ",\"resource\":%" PRIu64, ev->resource);
	return snprintf(line, size,
			"{\"probe_id\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"addr\":\"0x%016" PRIx64
			"\",\"seq\":%" PRIu64 ",\"is_active\":%s,\"ts\":%" PRIu64 "%s}\n",
			ev->probe_id, ev->tid, ev->addr, ev->seq, ev->is_active ? "true" : "false",
			ev->ts, told);
}

static void open_writer(struct jsonl_writer *w, const char *name, int flags)
{
	struct err err = { 0 };
	int fd = open(name, O_WRONLY | O_CLOEXEC | flags, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(jsonl_writer_open(w, fd, name, &err), 0);
}

static void put_numbers(struct jsonl_writer *w, uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		struct trace_event ev = event_number(from);

		jsonl_put(w, &ev);
	}
}

static char *slurp(const char *name, size_t *size)
{
	FILE *file = fopen(name, "r");
	struct stat st;
	char *text;

	CHECK(file && fstat(fileno(file), &st) == 0);
	*size = (size_t)st.st_size;
	text = malloc(*size + 1);
	CHECK(text && fread(text, 1, *size, file) == *size);
	text[*size] = '\0';
	fclose(file);
	return text;
}

/* The file holds @before and then the lines of events 0 to @nr, nothing else. */
static void check_file(const char *name, const char *before, uint64_t nr)
{
	size_t size, at = strlen(before);
	char *text = slurp(name, &size), line[512];
	uint64_t n;

	CHECK(size >= at && !memcmp(text, before, at));
	for (n = 0; n < nr; n++) {
		struct trace_event ev = event_number(n);
		size_t len = (size_t)line_of(&ev, line, sizeof(line));

		CHECK(size - at >= len && !memcmp(text + at, line, len));
		at += len;
	}
	CHECK_EQ(at, size);
	free(text);
}

/* ---- form ---------------------------------------------------------------- */

static void check_line(const struct trace_event *ev)
{
	char expected[512], *text;
	struct jsonl_writer w;
	struct err err;
	size_t size;

	open_writer(&w, path, O_CREAT | O_TRUNC);
	jsonl_put(&w, ev);
	CHECK_EQ(jsonl_close(&w, &err), 0);
	line_of(ev, expected, sizeof(expected));
	text = slurp(path, &size);
	CHECK_STR(text, expected);
	free(text);
}

static void writes_the_line_that_other_tools_expect(void)
{
	struct trace_event ev = {
		.probe_id = 123,
		.tid = 456,
		.seq = 2,
		.ts = 123456789,
		.is_active = true,
		.kind = TRACE_RESUME,
		.station = TRACE_NO_STATION,
	};
	struct jsonl_writer w;
	struct err err;
	size_t size;
	char *text;

	open_writer(&w, path, O_CREAT | O_TRUNC);
	jsonl_put(&w, &ev);
	ev.station = 7;
	jsonl_put(&w, &ev);
	ev.station = TRACE_NO_STATION;
	ev.site = 3;
	ev.reason = TRACE_REASON_IO_READ;
	ev.flags = TRACE_HAS_RESOURCE;
	ev.resource = 12;
	jsonl_put(&w, &ev);
	CHECK_EQ(jsonl_close(&w, &err), 0);
	text = slurp(path, &size);
	CHECK_STR(text, "{\"probe_id\":123,\"tid\":456,\"addr\":\"0x0000000000000000\",\"seq\":2,"
			"\"is_active\":true,\"ts\":123456789}\n"
			"{\"probe_id\":123,\"tid\":456,\"addr\":\"0x0000000000000000\",\"seq\":2,"
			"\"is_active\":true,\"ts\":123456789,\"station\":7}\n"
			"{\"probe_id\":123,\"tid\":456,\"addr\":\"0x0000000000000000\",\"seq\":2,"
			"\"is_active\":true,\"ts\":123456789,\"site\":3,\"reason\":\"io-read\","
			"\"resource\":12}\n");
	free(text);
}

static void writes_the_smallest_and_the_largest_event(void)
{
	struct trace_event small = { .station = 0 };
	struct trace_event large = {
		.probe_id = UINT64_MAX,
		.tid = UINT64_MAX,
		.addr = UINT64_MAX,
		.seq = UINT64_MAX,
		.ts = UINT64_MAX,
		.station = TRACE_NO_STATION - 1,
		.site = UINT32_MAX,
		.reason = TRACE_REASON_CHANNEL_SEND,
		.flags = TRACE_HAS_RESOURCE,
		.resource = UINT64_MAX,
	};

	check_line(&small);
	check_line(&large);
}

/* One field of an event at a time near a power of ten, the others unchanged. */
static void disturb(struct trace_event *ev)
{
	uint64_t value = next_random() >> next_random() % 64, ten = 1;
	unsigned i;

	if (next_random() % 4 == 0) {
		for (i = (unsigned)(next_random() % 20); i > 0; i--)
			ten *= 10;
		value = ten - 1 + next_random() % 3;
	}
	switch (next_random() % 16) {
	case 6:
		ev->site = next_random() % 2 ? (uint32_t)value : 0;
		break;
	case 7:
		ev->reason = (uint8_t)(next_random() % 2 ? next_random() % 20 : 0);
		break;
	case 8:
		ev->resource = value;
		ev->flags ^= TRACE_HAS_RESOURCE;
		break;
	case 0:
		ev->probe_id = value;
		break;
	case 1:
		ev->tid = value;
		break;
	case 2:
		ev->seq = value;
		break;
	case 3:
		ev->ts = value;
		break;
	case 4:
		ev->station = next_random() % 2 ? (uint32_t)value : TRACE_NO_STATION;
		break;
	case 5:
		ev->addr = value;
		break;
	default:
		/* The common case: a little later, the other state. */
		ev->ts += next_random() % 100000000;
		ev->is_active = !ev->is_active;
		break;
	}
}

/* Cached pieces of earlier lines must never appear in a wrong line. */
static void writes_random_events_as_printf_does(void)
{
	struct trace_event ev = event_number(1);
	char *ours, *theirs = NULL, line[512];
	size_t ours_size, theirs_size;
	struct jsonl_writer w;
	struct err err;
	FILE *expected = open_memstream(&theirs, &theirs_size);
	int i;

	CHECK(expected != NULL);
	open_writer(&w, path, O_CREAT | O_TRUNC);
	for (i = 0; i < 300000; i++) {
		disturb(&ev);
		jsonl_put(&w, &ev);
		fwrite(line, 1, (size_t)line_of(&ev, line, sizeof(line)), expected);
	}
	CHECK_EQ(jsonl_close(&w, &err), 0);
	CHECK_EQ(w.written, 300000);
	fclose(expected);
	ours = slurp(path, &ours_size);
	CHECK_EQ(ours_size, theirs_size);
	CHECK(!memcmp(ours, theirs, ours_size));
	CHECK_EQ(w.bytes, ours_size);
	free(ours);
	free(theirs);
}

/*
 * Found by the fuzzer: 5 is not shortly after 2^64 - 1, though their unsigned difference is small.
 */
static void never_takes_a_wrapped_time_for_a_near_one(void)
{
	static const uint64_t times[] = { UINT64_MAX,    5, UINT64_MAX,        99999999, 100000000,
					  INT64_MAX,     0, UINT64_C(1) << 63, 7,        100000001,
					  UINT64_MAX - 1 };
	struct trace_event ev = event_number(1);
	char *text, line[512], expected[4096] = "";
	struct jsonl_writer w;
	struct err err;
	size_t i, size;

	open_writer(&w, path, O_CREAT | O_TRUNC);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		ev.ts = times[i];
		jsonl_put(&w, &ev);
		line_of(&ev, line, sizeof(line));
		strcat(expected, line);
	}
	CHECK_EQ(jsonl_close(&w, &err), 0);
	text = slurp(path, &size);
	CHECK_STR(text, expected);
	free(text);
}

static void shows_events_to_others_after_a_flush(void)
{
	struct jsonl_writer w;
	struct err err;

	open_writer(&w, path, O_CREAT | O_TRUNC);
	put_numbers(&w, 0, 10);
	check_file(path, "", 0);
	CHECK_EQ(w.written, 0);
	CHECK_EQ(w.buffered, 10);
	CHECK_EQ(jsonl_flush(&w), 0);
	check_file(path, "", 10);
	CHECK_EQ(w.written, 10);
	put_numbers(&w, 10, 20000);
	CHECK_EQ(jsonl_close(&w, &err), 0);
	CHECK_EQ(w.written, 20000);
	CHECK_EQ(w.unwritten, 0);
	check_file(path, "", 20000);
	CHECK_EQ(jsonl_close(&w, &err), 0);
}

/* ---- failure ------------------------------------------------------------- */

static void limit_file_size(rlim_t limit)
{
	struct rlimit r = { limit, RLIM_INFINITY };

	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &r), 0);
}

/* @nr events into a file that must not grow beyond @limit, after @before. */
static void check_limit(rlim_t limit, const char *before, int flags, uint64_t nr)
{
	struct jsonl_writer w;
	struct err err = { 0 };
	struct stat st;
	FILE *file;
	int rc;

	file = fopen(path, "w");
	CHECK(file && fputs(before, file) >= 0 && fclose(file) == 0);
	open_writer(&w, path, flags);
	if (!(flags & O_APPEND))
		CHECK(lseek(w.fd, 0, SEEK_END) >= 0);
	limit_file_size(limit);
	put_numbers(&w, 0, nr);
	rc = jsonl_close(&w, &err);
	limit_file_size(RLIM_INFINITY);

	CHECK_EQ(rc, -EFBIG);
	CHECK_EQ(err.code, -EFBIG);
	CHECK(strstr(err.text, path) != NULL);
	CHECK(err.hint[0] != '\0');
	CHECK_EQ(w.written + w.unwritten, nr);
	CHECK(!w.cut);
	check_file(path, before, w.written);
	CHECK(stat(path, &st) == 0 && (rlim_t)st.st_size <= limit);
	CHECK_EQ(w.bytes + strlen(before), st.st_size);
	/* No line that would have fitted is missing. */
	CHECK(limit - (rlim_t)st.st_size < 256);
}

static void keeps_a_full_file_valid_wherever_it_is_cut(void)
{
	rlim_t limit;

	for (limit = 0; limit < 400; limit++)
		check_limit(limit, "", 0, 100);
	for (limit = 262000; limit < 262400; limit += 7)
		check_limit(limit, "", 0, 9000);
	/* Beyond the first buffer, and the second. */
	for (limit = 524000; limit < 524600; limit += 31)
		check_limit(limit, "", 0, 9000);
}

static void takes_back_only_what_it_wrote_itself(void)
{
	static const char before[] = "what was there\nbefore, without a newline";
	rlim_t limit;

	for (limit = sizeof(before) - 1; limit < sizeof(before) + 300; limit++) {
		check_limit(limit, before, 0, 100);
		check_limit(limit, before, O_APPEND, 100);
	}
}

static void counts_everything_after_a_failure_as_unwritten(void)
{
	struct jsonl_writer w;
	struct err err = { 0 };
	uint64_t written;

	open_writer(&w, path, O_CREAT | O_TRUNC);
	limit_file_size(1000);
	put_numbers(&w, 0, 50);
	CHECK_EQ(jsonl_flush(&w), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	written = w.written;
	CHECK(written > 0 && written < 50);
	CHECK_EQ(w.written + w.unwritten, 50);
	/* There is room again, but a trace with a hole is worse than a short one. */
	put_numbers(&w, 50, 20050);
	CHECK_EQ(jsonl_flush(&w), -EFBIG);
	CHECK_EQ(jsonl_close(&w, &err), -EFBIG);
	CHECK_EQ(w.written, written);
	CHECK_EQ(w.unwritten, 20050 - written);
	check_file(path, "", written);
}

static void counts_exactly_on_a_full_device(void)
{
	struct jsonl_writer w;
	struct err err = { 0 };

	if (access("/dev/full", W_OK) != 0)
		return;
	open_writer(&w, "/dev/full", 0);
	put_numbers(&w, 0, 12345);
	CHECK_EQ(jsonl_close(&w, &err), -ENOSPC);
	CHECK_EQ(w.written, 0);
	CHECK_EQ(w.unwritten, 12345);
	CHECK(strstr(err.text, "12345 are not") != NULL);
	CHECK(err.hint[0] != '\0');
}

static bool write_text(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* A private mount namespace: as root, or as root of a user namespace. */
static bool unshare_mounts(void)
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
	       mount("tmpfs", dir, "tmpfs", 0, "size=512k") == 0;
}

/* In a child: a file system that becomes full half-way. */
static int fill_a_tmpfs(void)
{
	struct jsonl_writer w;
	struct err err = { 0 };

	if (!unshare_mounts())
		return 77;
	open_writer(&w, path, O_CREAT | O_TRUNC);
	put_numbers(&w, 0, 20000);
	CHECK_EQ(jsonl_close(&w, &err), -ENOSPC);
	CHECK_EQ(w.written + w.unwritten, 20000);
	CHECK(w.written > 4000 && w.unwritten > 4000);
	check_file(path, "", w.written);
	return 0;
}

static void keeps_the_trace_valid_when_the_disk_is_full(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(fill_a_tmpfs());
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		printf("     (not here: no right to mount a tmpfs)\n");
	else
		CHECK_EQ(WEXITSTATUS(status), 0);
}

/* ---- pipes --------------------------------------------------------------- */

struct pipe_reader {
	int fd;
	size_t stop_after; /* then close */
	useconds_t pause_us;
	size_t got;
	uint64_t lines;
	FILE *copy;
};

static void *read_pipe(void *arg)
{
	struct pipe_reader *r = arg;
	char buf[1000];
	ssize_t n;

	while (r->got < r->stop_after && (n = read(r->fd, buf, sizeof(buf))) != 0) {
		if (n < 0)
			continue; /* the timer's signal interrupted this thread */
		if (r->copy)
			fwrite(buf, 1, (size_t)n, r->copy);
		r->got += (size_t)n;
		if (r->pause_us)
			usleep(r->pause_us);
	}
	close(r->fd);
	return NULL;
}

static void counts_exactly_when_the_reader_goes_away(void)
{
	struct pipe_reader reader = { .stop_after = 300000 };
	struct jsonl_writer w;
	struct err err = { 0 };
	pthread_t thread;
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	reader.fd = fds[0];
	CHECK_EQ(jsonl_writer_open(&w, fds[1], "a pipe", &err), 0);
	CHECK_EQ(pthread_create(&thread, NULL, read_pipe, &reader), 0);
	put_numbers(&w, 0, 50000);
	CHECK_EQ(jsonl_close(&w, &err), -EPIPE);
	pthread_join(thread, NULL);
	CHECK_EQ(w.written + w.unwritten, 50000);
	/* All that the reader took was counted; the rest is at most what fits into a pipe. */
	CHECK(w.bytes >= reader.got && w.bytes <= reader.got + 1024 * 1024);
	CHECK(w.written >= 300000 / 160 && w.written < 50000);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Half-full pipes give short writes, the timer interrupts them, O_NONBLOCK rejects them. */
static void loses_nothing_to_signals_and_slow_readers(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
	struct sigaction sa = { .sa_handler = on_alarm }, old;
	struct pipe_reader reader = { .stop_after = SIZE_MAX, .pause_us = 20 };
	struct jsonl_writer w;
	struct err err = { 0 };
	pthread_t thread;
	int fds[2];

	CHECK_EQ(pipe2(fds, O_NONBLOCK), 0);
	CHECK_EQ(fcntl(fds[0], F_SETFL, 0), 0);
	reader.fd = fds[0];
	reader.copy = fopen(path, "w");
	sigaction(SIGALRM, &sa, &old);
	CHECK_EQ(jsonl_writer_open(&w, fds[1], "a pipe", &err), 0);
	CHECK_EQ(pthread_create(&thread, NULL, read_pipe, &reader), 0);
	setitimer(ITIMER_REAL, &often, NULL);
	put_numbers(&w, 0, 10000);
	CHECK_EQ(jsonl_close(&w, &err), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_join(thread, NULL);
	sigaction(SIGALRM, &old, NULL);
	fclose(reader.copy);
	CHECK_EQ(w.written, 10000);
	check_file(path, "", 10000);
}

static void leaves_a_closed_pipe_as_it_is(void)
{
	struct jsonl_writer w;
	struct err err = { 0 };
	char buf[4096];
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(jsonl_writer_open(&w, fds[1], "a pipe", &err), 0);
	put_numbers(&w, 0, 10);
	CHECK_EQ(jsonl_flush(&w), 0);
	CHECK(read(fds[0], buf, sizeof(buf)) > 0);
	close(fds[0]);
	put_numbers(&w, 10, 20);
	CHECK_EQ(jsonl_close(&w, &err), -EPIPE);
	CHECK_EQ(w.written, 10);
	CHECK_EQ(w.unwritten, 10);
	CHECK(!w.cut); /* nothing of the second ten was written */
}

/* A pipe with less room than the buffer, and a reader that closes it in the middle. */
static void says_when_the_output_ends_inside_a_line(void)
{
	struct pipe_reader reader = { .stop_after = 5000 };
	struct jsonl_writer w;
	struct err err = { 0 };
	pthread_t thread;
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	CHECK(fcntl(fds[1], F_SETPIPE_SZ, 4096) > 0);
	reader.fd = fds[0];
	CHECK_EQ(jsonl_writer_open(&w, fds[1], "a pipe", &err), 0);
	put_numbers(&w, 0, 2000);
	CHECK_EQ(pthread_create(&thread, NULL, read_pipe, &reader), 0);
	CHECK_EQ(jsonl_close(&w, &err), -EPIPE);
	pthread_join(thread, NULL);
	CHECK_EQ(w.written + w.unwritten, 2000);
	/* A pipe is filled in pages, and no line of these ends at a page. */
	CHECK(w.cut);
}

/* The descriptor is closed in any case, and no memory is kept. */
static void open_without_memory(void)
{
	unsigned before = count_open(), number;
	struct jsonl_writer w;
	struct err err = { 0 };

	for (number = 0; number < 3; number++) {
		int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

		memory_begin(number);
		CHECK_EQ(jsonl_writer_open(&w, fd, "the trace", &err), -ENOMEM);
		CHECK(memory_end());
		CHECK_STR(err.text, "no memory to write 'the trace'");
		CHECK_EQ(count_open(), before);
	}
}

static void a_writer_without_memory_keeps_nothing(void)
{
	check_keeps_no_memory(open_without_memory);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/trace.jsonl", dir);
	RUN(writes_the_line_that_other_tools_expect);
	RUN(writes_the_smallest_and_the_largest_event);
	RUN(writes_random_events_as_printf_does);
	RUN(never_takes_a_wrapped_time_for_a_near_one);
	RUN(shows_events_to_others_after_a_flush);
	RUN(keeps_a_full_file_valid_wherever_it_is_cut);
	RUN(takes_back_only_what_it_wrote_itself);
	RUN(counts_everything_after_a_failure_as_unwritten);
	RUN(counts_exactly_on_a_full_device);
	RUN(keeps_the_trace_valid_when_the_disk_is_full);
	RUN(counts_exactly_when_the_reader_goes_away);
	RUN(loses_nothing_to_signals_and_slow_readers);
	RUN(leaves_a_closed_pipe_as_it_is);
	RUN(says_when_the_output_ends_inside_a_line);
	RUN(a_writer_without_memory_keeps_nothing);
	unlink(path);
	rmdir(dir);
	return 0;
}
