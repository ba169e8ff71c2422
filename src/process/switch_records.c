/* SPDX-License-Identifier: MIT */
/* switch_records.c - the kernel's records of when threads leave and get a processor. */
#include "process/switch_records.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/monotonic.h"

#define RING_PAGES                                                                     \
	128u /* of data: with the head page, what an ordinary user may lock by default \
	      */
#define RING_LEAST 8u
/* With wake-ups, which are those of the whole machine: only a privileged user may record them. */
#define RING_PAGES_WAKES 512u
#define THREADS_MAX      16384u /* events of a running process: threads times processors */
#define LISTS_MOST       16     /* looks at the list of threads, which may grow meanwhile */

#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif

struct switch_ring {
	int fd;
	uint32_t cpu;
	struct perf_event_mmap_page *head;
	size_t map_size;
	uint64_t mask;    /* size of the data - 1 */
	uint64_t last_ts; /* of the last record */
};

/* ---- events --------------------------------------------------------------------- */

static int event_open(pid_t tid, unsigned cpu, bool on_exec)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME, /* the ring has the processor */
		.disabled = on_exec,
		.enable_on_exec = on_exec,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.context_switch = 1,
		.task = 1, /* creation and end of threads */
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX, /* the reader looks by itself */
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void explain_event(int why, struct err *err)
{
	errno = why;
	err_errno(err, "cannot record context switches");
	if (why == EACCES || why == EPERM)
		err_hint(err, "kernel.perf_event_paranoid must be 2 or less (sysctl), or use "
			      "CAP_PERFMON");
	else if (why == ENOSYS)
		err_hint(err, "the kernel was built without perf events, or a filter forbids them");
	else if (why == EMFILE)
		err_hint(err, "raise the limit of open files (ulimit -n)");
}

static int ring_map(struct switch_ring *r, size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = MAP_FAILED;

	/* The pages of all rings of a user are limited. */
	for (; pages >= RING_LEAST && map == MAP_FAILED; pages /= 2) {
		r->map_size = (pages + 1) * page;
		r->mask = pages * page - 1;
		map = mmap(NULL, r->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	}
	if (map == MAP_FAILED)
		return -errno;
	r->head = map;
	return 0;
}

static int ring_open(struct switch_ring *r, pid_t tid, unsigned cpu, bool on_exec, size_t pages)
{
	int rc;

	r->fd = event_open(tid, cpu, on_exec);
	if (r->fd < 0)
		return -errno;
	r->cpu = cpu;
	r->last_ts = clock_now_ns();
	rc = ring_map(r, pages);
	if (rc < 0) {
		close(r->fd);
		r->fd = -1;
	}
	return rc;
}

static int fds_add(struct switch_records *s, int fd)
{
	if (s->nr_fds == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		int *fds = realloc(s->fds, room * sizeof(*fds));

		if (!fds)
			return -ENOMEM;
		s->fds = fds;
		s->room = room;
	}
	s->fds[s->nr_fds++] = fd;
	return 0;
}

/* Wake-ups cannot be recorded, or not on all processors: none of them is used. */
static void wakes_give_up(struct switch_records *s, int why)
{
	s->waking.number = 0;
	wake_tracepoint_explain(why, &s->no_wakes);
}

/* Record wake-ups that are made on the processor of a ring. */
static void wakes_add(struct switch_records *s, const struct switch_ring *r)
{
	int fd, why = 0;

	if (!s->waking.number)
		return;
	fd = wake_tracepoint_open(&s->waking, r->cpu);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) < 0)
		why = errno;
	else if (fds_add(s, fd) < 0)
		why = ENOMEM;
	if (why)
		wakes_give_up(s, why);
	if (why && fd >= 0)
		close(fd);
}

/* A ring for each processor; one that is not online has none. */
static bool rings_open(struct switch_records *s, pid_t tid, bool on_exec, struct err *err)
{
	long nr = sysconf(_SC_NPROCESSORS_CONF), cpu;
	int rc, why = 0;

	*s = (struct switch_records){ 0 };
	wake_tracepoint_find(&s->waking, &s->no_wakes);
	s->rings = calloc(nr > 0 ? (size_t)nr : 1, sizeof(*s->rings));
	if (!s->rings)
		return err_set(err, -ENOMEM, "no memory for context switches"), false;
	for (cpu = 0; cpu < nr; cpu++) {
		rc = ring_open(&s->rings[s->nr_rings], tid, (unsigned)cpu, on_exec,
			       s->waking.number ? RING_PAGES_WAKES : RING_PAGES);
		if (rc == 0)
			wakes_add(s, &s->rings[s->nr_rings++]);
		else if (rc != -ENODEV && rc != -ENXIO)
			why = -rc;
		if (why)
			break;
	}
	if (!why && s->nr_rings)
		return true;
	switch_records_close(s);
	explain_event(why ? why : ENODEV, err);
	return false;
}

int switch_records_open_child(struct switch_records *s, struct err *err)
{
	return rings_open(s, 0, true, err) ? 0 : err->code;
}

/* ---- a running process ------------------------------------------------------------ */

/* The events of one more thread.  One that has ended needs none. */
static int thread_add(struct switch_records *s, pid_t tid)
{
	unsigned i;
	int fd, rc;

	for (i = 0; i < s->nr_rings; i++) {
		if (s->nr_fds >= THREADS_MAX)
			return -EMFILE;
		fd = event_open(tid, s->rings[i].cpu, false);
		if (fd < 0 && errno == ESRCH)
			return 0;
		if (fd < 0)
			return -errno;
		rc = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->rings[i].fd) < 0 ? -errno
									      : fds_add(s, fd);
		if (rc < 0) {
			close(fd);
			return rc;
		}
	}
	return 0;
}

static bool tids_contain(const pid_t *tids, size_t nr, pid_t tid)
{
	while (nr-- > 0) {
		if (tids[nr] == tid)
			return true;
	}
	return false;
}

/* Add the threads that are not in @tids.  Returns their number, or a negative errno. */
static int threads_add(struct switch_records *s, pid_t pid, pid_t *tids, size_t *nr)
{
	char path[64];
	struct dirent *e;
	DIR *dir;
	int rc = 0, added = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (rc == 0 && (e = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid <= 0 || tids_contain(tids, *nr, tid))
			continue;
		if (*nr == THREADS_MAX) {
			rc = -EMFILE;
			break;
		}
		tids[(*nr)++] = tid;
		rc = thread_add(s, tid);
		added++;
	}
	closedir(dir);
	return rc < 0 ? rc : added;
}

/*
 * A thread that is created by one that is not recorded yet is not either: the list is read again
 * until it has no new thread.  A recorded thread passes its events on to those that it creates; one
 * that is in the list, too, has them twice, which switch_records_read() sees by the equal times.
 */
int switch_records_open_process(struct switch_records *s, pid_t pid, struct err *err)
{
	pid_t *tids = calloc(THREADS_MAX, sizeof(*tids));
	size_t nr = 1;
	int rc, looks = 0;

	if (!tids)
		return err_set(err, -ENOMEM, "no memory for context switches");
	tids[0] = pid;
	if (!rings_open(s, pid, false, err)) {
		free(tids);
		return err->code;
	}
	do {
		rc = threads_add(s, pid, tids, &nr);
	} while (rc > 0 && ++looks < LISTS_MOST);
	free(tids);
	if (rc >= 0)
		return 0;
	switch_records_close(s);
	explain_event(-rc, err);
	return rc;
}

/* ---- read ----------------------------------------------------------------------- */

/* What follows the header of a record with the sample_type above. */
struct switch_sample {
	uint32_t pid, tid;
	uint64_t time;
};

struct lost_record {
	uint64_t id, lost;
	struct switch_sample sample;
};

struct exit_record {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

/* A record of the tracepoint: the data follows. */
struct wake_sample {
	struct switch_sample sample; /* of the thread that wakes the other */
	uint32_t raw_size;
};

static void ring_copy(const struct switch_ring *r, uint64_t at, void *out, size_t size)
{
	const char *data = (const char *)r->head + r->head->data_offset;
	size_t begin = (size_t)(at & r->mask), part = (size_t)(r->mask + 1) - begin;

	part = part < size ? part : size;
	memcpy(out, data + begin, part);
	memcpy((char *)out + part, data, size - part);
}

static void ring_take_lost(struct switch_ring *r, uint64_t at, struct switch_record *out)
{
	struct lost_record lost;

	ring_copy(r, at, &lost, sizeof(lost));
	out->kind = SWITCH_LOST;
	out->lost = lost.lost;
	out->ts = r->last_ts;
	out->to_ts = lost.sample.time > r->last_ts ? lost.sample.time : r->last_ts;
}

static void ring_take_exit(struct switch_ring *r, uint64_t at, struct switch_record *out)
{
	struct exit_record gone;

	ring_copy(r, at, &gone, sizeof(gone));
	out->kind = SWITCH_EXIT;
	out->pid = gone.pid;
	out->tid = gone.tid;
	out->ts = gone.time;
}

static void ring_take_switch(struct switch_ring *r, uint64_t at, const struct perf_event_header *h,
			     struct switch_record *out)
{
	struct switch_sample sample;

	ring_copy(r, at, &sample, sizeof(sample));
	out->kind = !(h->misc & PERF_RECORD_MISC_SWITCH_OUT)        ? SWITCH_IN
		    : h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? SWITCH_PREEMPTED
								    : SWITCH_BLOCKED;
	out->pid = sample.pid;
	out->tid = sample.tid;
	out->ts = r->last_ts = sample.time;
}

static bool ring_take_wake(struct switch_ring *r, uint64_t at, size_t size, uint32_t tid_at,
			   struct switch_record *out)
{
	struct wake_sample wake;

	if (size < sizeof(wake) || size - offsetof(struct wake_sample, raw_size) <
					   sizeof(uint32_t) + tid_at + sizeof(out->tid))
		return false;
	ring_copy(r, at, &wake, sizeof(wake));
	ring_copy(r, at + offsetof(struct wake_sample, raw_size) + sizeof(uint32_t) + tid_at,
		  &out->tid, sizeof(out->tid));
	out->kind = SWITCH_WOKEN;
	out->ts = r->last_ts = wake.sample.time;
	return true;
}

static bool ring_take_record(struct switch_records *s, struct switch_ring *r, uint64_t at,
			     const struct perf_event_header *h, struct switch_record *out)
{
	size_t size = h->size - sizeof(*h);

	*out = (struct switch_record){ .cpu = r->cpu };
	at += sizeof(*h);
	if (h->type == PERF_RECORD_LOST && size >= sizeof(struct lost_record))
		ring_take_lost(r, at, out);
	else if (h->type == PERF_RECORD_EXIT && size >= sizeof(struct exit_record))
		ring_take_exit(r, at, out);
	else if (h->type == PERF_RECORD_SWITCH && size >= sizeof(struct switch_sample))
		ring_take_switch(r, at, h, out);
	else if (h->type == PERF_RECORD_SAMPLE && s->waking.number)
		return ring_take_wake(r, at, size, s->waking.tid_at, out);
	else
		return false;
	return true;
}

static void ring_read(struct switch_records *s, struct switch_ring *r,
		      void (*take)(void *, const struct switch_record *), void *ctx)
{
	/* (tool-B) pairs with the kernel, which writes the records first. */
	uint64_t head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = r->head->data_tail;
	struct perf_event_header h;
	struct switch_record record;

	while (at < head) {
		ring_copy(r, at, &h, sizeof(h));
		if (h.size < sizeof(h) || at + h.size > head)
			break; /* not a kernel that we know */
		if (ring_take_record(s, r, at, &h, &record))
			take(ctx, &record);
		at += h.size;
	}
	/* (tool-B) pairs with the kernel, which overwrites what is before it. */
	__atomic_store_n(&r->head->data_tail, at < head ? head : at, __ATOMIC_RELEASE);
}

void switch_records_read(struct switch_records *s,
			 void (*take)(void *ctx, const struct switch_record *r), void *ctx)
{
	unsigned i;

	for (i = 0; i < s->nr_rings; i++)
		ring_read(s, &s->rings[i], take, ctx);
}

void switch_records_close(struct switch_records *s)
{
	unsigned i;

	while (s->nr_fds)
		close(s->fds[--s->nr_fds]);
	for (i = 0; i < s->nr_rings; i++) {
		munmap(s->rings[i].head, s->rings[i].map_size);
		close(s->rings[i].fd);
	}
	free(s->fds);
	free(s->rings);
	*s = (struct switch_records){ 0 };
}
