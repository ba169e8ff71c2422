/* SPDX-License-Identifier: MIT */
/*
 * test_switch_records.c - the kernel's records of context switches, from rings that the test fills.
 *
 * The program is linked with --wrap=syscall and --wrap=ioctl: an event is a file in memory, in
 * which the test writes the records of processor 0 as the kernel would.
 */
#include "process/switch_records.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define FILES_MAX 512

static int files[FILES_MAX];
static struct {
	pid_t tid;
	int cpu;
	struct perf_event_attr attr;
} opened[FILES_MAX];
static int nr_files, failure, fails_from; /* errno of the events from that one on */
static int nr_outputs;                    /* events whose records go to the ring of another */
static struct err err;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

long __wrap_syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	va_list args;

	CHECK_EQ(number, SYS_perf_event_open);
	if (failure && nr_files >= fails_from) {
		errno = failure;
		return -1;
	}
	CHECK(nr_files < FILES_MAX);
	va_start(args, number);
	attr = va_arg(args, const struct perf_event_attr *);
	opened[nr_files].attr = *attr;
	opened[nr_files].tid = va_arg(args, int);
	opened[nr_files].cpu = va_arg(args, int);
	va_end(args);
	files[nr_files] = memfd_create("ring", MFD_CLOEXEC);
	CHECK(files[nr_files] >= 0);
	CHECK_EQ(ftruncate(files[nr_files], 600 * 4096), 0);
	return files[nr_files++];
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	CHECK_EQ(request, PERF_EVENT_IOC_SET_OUTPUT);
	nr_outputs++;
	return 0;
}

/* ---- the kernel's side -------------------------------------------------------------- */

static struct perf_event_mmap_page *head;
static size_t ring_size;

static void ring_map(void)
{
	/* Behind the head page; the size is one of two, by the right to record wake-ups. */
	head = mmap(NULL, 600 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
	CHECK(head != MAP_FAILED);
	head->data_offset = 4096;
}

static void put(const void *data, size_t size)
{
	const char *bytes = data;
	char *ring = (char *)head + 4096;

	while (size--)
		ring[head->data_head++ % ring_size] = *bytes++;
}

static void put_record(uint32_t type, uint16_t misc, const void *data, size_t size)
{
	struct perf_event_header h = { type, misc, (uint16_t)(sizeof(h) + size) };

	put(&h, sizeof(h));
	put(data, size);
}

struct sample {
	uint32_t pid, tid;
	uint64_t time;
};

static void put_switch(uint16_t misc, uint64_t time)
{
	put_record(PERF_RECORD_SWITCH, misc, &(struct sample){ 10, 11, time },
		   sizeof(struct sample));
}

/* ---- the reader's side ---------------------------------------------------------------- */

static struct switch_records s;
static struct switch_record got[4096];
static size_t nr_got;

static void note(void *ctx, const struct switch_record *r)
{
	CHECK(ctx == &s);
	CHECK(nr_got < 4096);
	got[nr_got++] = *r;
}

static void read_all(void)
{
	nr_got = 0;
	switch_records_read(&s, note, &s);
}

static void bed_open(void)
{
	nr_files = nr_outputs = 0;
	CHECK_EQ(switch_records_open_child(&s, &err), 0);
	CHECK(s.nr_rings >= 1);
	ring_size = (s.waking.number ? 512 : 128) * 4096;
	s.waking = (struct wake_tracepoint){ .number = 77, .tid_at = 8 };
	ring_map();
}

static void bed_close(void)
{
	munmap(head, 600 * 4096);
	switch_records_close(&s);
	CHECK_EQ(s.nr_rings, 0);
	CHECK_EQ(fcntl(files[0], F_GETFD), -1);
}

static void check_record(size_t at, enum switch_kind kind, uint32_t pid, uint32_t tid, uint64_t ts)
{
	CHECK(at < nr_got);
	CHECK_EQ(got[at].kind, kind);
	CHECK_EQ(got[at].cpu, 0);
	CHECK_EQ(got[at].pid, pid);
	CHECK_EQ(got[at].tid, tid);
	CHECK_EQ(got[at].ts, ts);
}

/* ---- tests ------------------------------------------------------------------------------ */

static void a_switch_says_whether_the_thread_could_have_gone_on(void)
{
	bed_open();
	put_switch(0, 100);
	put_switch(PERF_RECORD_MISC_SWITCH_OUT, 200);
	put_switch(PERF_RECORD_MISC_SWITCH_OUT | (1 << 14), 300);
	read_all();
	CHECK_EQ(nr_got, 3);
	check_record(0, SWITCH_IN, 10, 11, 100);
	check_record(1, SWITCH_BLOCKED, 10, 11, 200);
	check_record(2, SWITCH_PREEMPTED, 10, 11, 300);
	CHECK_EQ(head->data_tail, head->data_head);
	read_all();
	CHECK_EQ(nr_got, 0);
	bed_close();
}

static void an_end_and_a_loss_are_records(void)
{
	struct {
		uint64_t id, lost;
		struct sample sample;
	} lost = { 1, 44, { 0, 0, 900 } };
	struct {
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
	} gone = { 20, 1, 21, 2, 800 };

	bed_open();
	put_switch(0, 700);
	put_record(PERF_RECORD_EXIT, 0, &gone, sizeof(gone));
	put_record(PERF_RECORD_LOST, 0, &lost, sizeof(lost));
	lost.sample.time = 600; /* written by another processor's clock */
	put_record(PERF_RECORD_LOST, 0, &lost, sizeof(lost));
	read_all();
	CHECK_EQ(nr_got, 4);
	check_record(1, SWITCH_EXIT, 20, 21, 800);
	check_record(2, SWITCH_LOST, 0, 0, 700);
	CHECK_EQ(got[2].lost, 44);
	CHECK_EQ(got[2].to_ts, 900);
	check_record(3, SWITCH_LOST, 0, 0, 700);
	CHECK_EQ(got[3].to_ts, 700);
	/* Records that are too short, or of other kinds, are left out. */
	put_record(PERF_RECORD_EXIT, 0, &gone, sizeof(gone) - 8);
	put_record(PERF_RECORD_LOST, 0, &lost, sizeof(lost) - 8);
	put_record(PERF_RECORD_SWITCH, 0, &gone, sizeof(struct sample) - 8);
	put_record(PERF_RECORD_FORK, 0, &gone, sizeof(gone));
	put_switch(0, 1000);
	read_all();
	CHECK_EQ(nr_got, 1);
	check_record(0, SWITCH_IN, 10, 11, 1000);
	bed_close();
}

static void a_wake_up_names_the_woken_thread(void)
{
	struct {
		struct sample waker;
		uint32_t size, data[3];
	} wake = { { 10, 11, 500 }, 12, { 1, 2, 33 } };

	bed_open();
	put_record(PERF_RECORD_SAMPLE, 0, &wake, sizeof(wake));
	put_record(PERF_RECORD_SAMPLE, 0, &wake, sizeof(wake) - 4); /* without the thread */
	read_all();
	CHECK_EQ(nr_got, 1);
	check_record(0, SWITCH_WOKEN, 0, 33, 500);
	s.waking.number = 0; /* not asked for */
	put_record(PERF_RECORD_SAMPLE, 0, &wake, sizeof(wake));
	read_all();
	CHECK_EQ(nr_got, 0);
	bed_close();
}

static void records_go_on_at_the_start_of_the_ring(void)
{
	uint64_t i, time = 1;

	bed_open();
	/* 24 bytes each: the end of the ring is inside of one. */
	for (i = 0; i < 3 * ring_size / 24; i += nr_got) {
		size_t k;

		for (k = 0; k < 1001; k++)
			put_switch(0, time + k);
		read_all();
		CHECK_EQ(nr_got, 1001);
		for (k = 0; k < nr_got; k++)
			check_record(k, SWITCH_IN, 10, 11, time + k);
		time += nr_got;
	}
	bed_close();
}

static void what_makes_no_sense_ends_the_read(void)
{
	struct perf_event_header h = { PERF_RECORD_SWITCH, 0, sizeof(h) - 1 };

	bed_open();
	put_switch(0, 5);
	put(&h, sizeof(h));
	put_switch(0, 6);
	read_all();
	CHECK_EQ(nr_got, 1);
	CHECK_EQ(head->data_tail, head->data_head); /* the kernel goes on */
	h.size = sizeof(h) + 1;                     /* more than was written */
	put(&h, sizeof(h));
	read_all();
	CHECK_EQ(nr_got, 0);
	put_record(PERF_RECORD_FORK, 0, NULL, 0); /* a header only */
	put_switch(0, 7);
	read_all();
	CHECK_EQ(nr_got, 1);
	check_record(0, SWITCH_IN, 10, 11, 7);
	bed_close();
}

static void a_started_program_is_recorded_from_its_start(void)
{
	bed_open();
	CHECK_EQ(opened[0].tid, 0);
	CHECK_EQ(opened[0].cpu, 0);
	CHECK(opened[0].attr.disabled && opened[0].attr.enable_on_exec);
	CHECK(opened[0].attr.inherit && opened[0].attr.context_switch && opened[0].attr.task);
	CHECK(opened[0].attr.use_clockid && opened[0].attr.sample_id_all);
	CHECK_EQ(opened[0].attr.clockid, CLOCK_MONOTONIC);
	CHECK_EQ(opened[0].attr.sample_type, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	bed_close();
}

static void a_running_process_is_recorded_at_once(void)
{
	int i;

	nr_files = nr_outputs = 0;
	CHECK_EQ(switch_records_open_process(&s, getpid(), &err), 0);
	for (i = 0; i < nr_files; i++) {
		if (opened[i].attr.type == PERF_TYPE_SOFTWARE) {
			CHECK_EQ(opened[i].tid, getpid());
			CHECK(!opened[i].attr.disabled && !opened[i].attr.enable_on_exec);
		}
	}
	/* The only thread has the rings; what remains are wake-ups. */
	CHECK_EQ(s.nr_fds, (size_t)nr_outputs);
	CHECK_EQ(nr_files, (int)(s.nr_rings + s.nr_fds));
	switch_records_close(&s);
	/* A process that is not there. */
	nr_files = 0;
	CHECK_EQ(switch_records_open_process(&s, 4194305, &err), -ENOENT);
	CHECK_EQ(s.nr_rings, 0);
	CHECK_EQ(fcntl(files[0], F_GETFD), -1);
}

static void a_failure_says_what_to_do(void)
{
	static const struct {
		int why;
		const char *hint;
	} cases[] = { { EACCES, "perf_event_paranoid" },
		      { EPERM, "perf_event_paranoid" },
		      { ENOSYS, "built without perf" },
		      { EMFILE, "ulimit -n" },
		      { EINVAL, "" } };
	size_t i;

	for (i = 0; i < 5; i++) {
		err = (struct err){ 0 };
		nr_files = fails_from = 0;
		failure = cases[i].why;
		CHECK_EQ(switch_records_open_child(&s, &err), -cases[i].why);
		CHECK_EQ(strncmp(err.text, "cannot record context switches: ", 32), 0);
		CHECK(strstr(err.hint, cases[i].hint) && !*cases[i].hint == !*err.hint);
		CHECK_EQ(s.nr_rings, 0);
	}
	/* No processor is online: not the same as an error of one. */
	failure = ENODEV;
	CHECK_EQ(switch_records_open_child(&s, &err), -ENODEV);
	failure = ENXIO;
	CHECK_EQ(switch_records_open_child(&s, &err), -ENODEV);
	failure = 0;
}

static void a_processor_that_is_offline_has_no_ring(void)
{
	failure = ENODEV;
	fails_from = 1;
	nr_files = 0;
	err = (struct err){ 0 };
	CHECK_EQ(switch_records_open_child(&s, &err), 0);
	CHECK_EQ(s.nr_rings, 1);
	/* Wake-ups would be missing. */
	CHECK_EQ(s.waking.number, 0);
	CHECK(s.no_wakes.code != 0);
	failure = 0;
	switch_records_close(&s);
}

int main(void)
{
	RUN(a_switch_says_whether_the_thread_could_have_gone_on);
	RUN(an_end_and_a_loss_are_records);
	RUN(a_wake_up_names_the_woken_thread);
	RUN(records_go_on_at_the_start_of_the_ring);
	RUN(what_makes_no_sense_ends_the_read);
	RUN(a_started_program_is_recorded_from_its_start);
	RUN(a_running_process_is_recorded_at_once);
	RUN(a_failure_says_what_to_do);
	RUN(a_processor_that_is_offline_has_no_ring);
	return 0;
}
