/* SPDX-License-Identifier: MIT */
/* journal.c - which records of every lane are in the trace's files. */
#include "collect/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/region.h"
#include "process/map_guard.h"
#include "trace/ctf.h"
#include "trace/sidecar.h"
#include "base/io.h"

#define JOURNAL_MAGIC   UINT64_C(0x3145564153505443) /* "CTPSAVE1" in memory */
#define JOURNAL_VERSION 1u

/* File offset of the lanes. */
#define LANES_AT UINT64_C(8192)
/* File space is reserved for this many lanes at a time. */
#define LANES_STEP 2048u

_Static_assert(sizeof(struct journal_head) <= LANES_AT, "the head must fit before the lanes");

char *journal_path(const char *region)
{
	char *path = NULL;

	return asprintf(&path, "%s.saved", region) < 0 ? NULL : path;
}

/* ---- saves ---------------------------------------------------------------------- */

/* Without space the journal is marked failed, and the collector continues. */
static bool is_ready(struct journal *j, uint32_t lane)
{
	uint32_t nr = (lane / LANES_STEP + 1) * LANES_STEP;

	if (lane < j->nr_ready)
		return true;
	if (lane >= LANES_MAX ||
	    posix_fallocate(j->fd, 0, (off_t)(LANES_AT + nr * sizeof(*j->lanes))))
		return false;
	j->nr_ready = nr;
	return true;
}

static void journal_give_up(struct journal *j)
{
	j->head->failed = 1;
	j->drain->saves = false;
}

/* After each of these stores the position is valid: see journal_position(). */
static void begin_lane(struct journal *j, uint32_t i, uint64_t number)
{
	volatile struct journal_lane *lane = &j->lanes[i];

	if (!is_ready(j, i)) {
		journal_give_up(j);
		return;
	}
	lane->before = lane->after;
	lane->number = number;
	lane->after = j->drain->cursors[i].read;
}

static void journal_begin(void *ctx, const struct trace_save *save)
{
	struct journal *j = ctx;
	struct drain *d = j->drain;
	uint64_t number = j->head->done + 1;
	volatile struct journal_save *slot = &j->head->save[number % 2];
	uint32_t i;

	if (!d->saves)
		return;
	if (save->lane != TRACE_SAVE_ALL)
		begin_lane(j, save->lane, number);
	for (i = 0; save->lane == TRACE_SAVE_ALL && i < d->nr_dirty; i++)
		begin_lane(j, d->dirty[i], number);
	slot->number = 0;
	slot->trace_size = save->trace_size;
	slot->sidecar_size = save->sidecar_size;
	slot->transitions = save->transitions;
	slot->others = save->others;
	slot->lane = save->lane;
	slot->number = number;
}

static void journal_end(void *ctx, bool complete)
{
	struct journal *j = ctx;
	struct drain *d = j->drain;
	uint64_t number = j->head->done + 1;
	volatile struct journal_save *slot = &j->head->save[number % 2];

	if (!d->saves)
		return;
	if (!complete) {
		journal_give_up(j);
		return;
	}
	j->head->done = number;
	if (slot->lane == TRACE_SAVE_ALL)
		drain_all_saved(d);
	else
		drain_saved(d, slot->lane);
}

void journal_reset_lane(struct journal *j, uint32_t i)
{
	volatile struct journal_lane *lane;

	if (!j->head)
		return;
	lane = &j->lanes[i];
	j->head->lost = j->drain->left_lost;
	j->head->lost_others = j->drain->left_lost_marks;
	if (i >= j->nr_ready)
		return;
	lane->before = 0;
	lane->after = 0;
	lane->number = 0;
}

/* ---- open and close -------------------------------------------------------------- */

static int journal_map(struct journal *j, struct err *err)
{
	uint64_t size = LANES_AT + LANES_MAX * sizeof(*j->lanes);
	int rc;
	void *p;

	/* Left by a killed collector; the region belongs to this process, so this name does too. */
	unlink(j->path);
	j->fd = open(j->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (j->fd < 0)
		return err_errno(err, "cannot create '%s'", j->path);
	rc = posix_fallocate(j->fd, 0, (off_t)LANES_AT);
	if (rc || ftruncate(j->fd, (off_t)size) < 0) {
		errno = rc ? rc : errno;
		return err_errno(err, "cannot reserve room for '%s'", j->path);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, j->fd, 0);
	if (p == MAP_FAILED)
		return err_errno(err, "cannot map '%s'", j->path);
	map_guard_add(p, size, PROT_READ | PROT_WRITE);
	j->map = p;
	j->head = p;
	j->lanes = (volatile struct journal_lane *)(void *)((char *)p + LANES_AT);
	return 0;
}

/* Store an absolute path: the reader's working directory may differ. */
static void put_path(volatile struct journal_head *head, const char *trace)
{
	char *whole = realpath(trace, NULL);
	const char *from = whole ? whole : trace;
	size_t i;

	for (i = 0; from[i] && i < JOURNAL_PATH_SIZE - 1; i++)
		head->path[i] = from[i];
	free(whole);
}

int journal_open(struct journal *j, const char *region, const char *trace, enum trace_format format,
		 struct drain *drain, struct err *err)
{
	memset(j, 0, sizeof(*j));
	j->fd = -1;
	j->path = journal_path(region);
	if (!j->path || journal_map(j, err) < 0) {
		journal_close(j);
		return err->code ? err->code : err_set(err, -ENOMEM, "no memory for a path");
	}
	j->drain = drain;
	j->saver = (struct trace_saver){ .begin = journal_begin, .end = journal_end, .ctx = j };
	put_path(j->head, trace);
	j->head->version = JOURNAL_VERSION;
	j->head->collector_pid = (uint32_t)getpid();
	j->head->format = format;
	j->head->magic = JOURNAL_MAGIC;
	drain->saves = true;
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->map) {
		map_guard_remove(j->map);
		munmap(j->map, LANES_AT + LANES_MAX * sizeof(*j->lanes));
	}
	if (j->fd > 0) {
		close(j->fd);
		unlink(j->path);
	}
	free(j->path);
	memset(j, 0, sizeof(*j));
}

/* ---- after the collector was killed ----------------------------------------------- */

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Whether the save is complete in the trace and in the sidecar. */
static void look_at_files(const struct journal_copy *c, const struct journal_save *save,
			  bool *trace, bool *sidecar)
{
	char *path = NULL;

	*trace = *sidecar = false;
	if (c->format == TRACE_FORMAT_CTF) {
		if (asprintf(&path, "%s/" CTF_LANE_PREFIX "%" PRIu32, c->trace, save->lane) < 0)
			return;
		*trace = *sidecar = size_of(path) >= save->trace_size;
	} else if (c->format == TRACE_FORMAT_CT) {
		*trace = *sidecar = size_of(c->trace) >= save->trace_size;
	} else {
		path = sidecar_path(c->trace);
		*trace = size_of(c->trace) >= save->trace_size;
		*sidecar = path && size_of(path) >= save->sidecar_size;
	}
	free(path);
}

/* Determine the last complete save, or the one after it as far as the files contain it. */
static void journal_settle(struct journal_copy *c, const struct journal_head *head)
{
	const struct journal_save *last = &head->save[head->done % 2];
	const struct journal_save *next = &head->save[(head->done + 1) % 2];
	bool trace = false, sidecar = false;

	if (head->done && last->number == head->done)
		c->save = *last;
	c->trace_number = c->sidecar_number = head->done;
	if (next->number != head->done + 1 || !c->has_trace)
		return;
	look_at_files(c, next, &trace, &sidecar);
	if (c->format == TRACE_FORMAT_CTF && !trace)
		c->cut_lane = next->lane;
	c->trace_number += trace;
	c->sidecar_number += sidecar;
	if (trace)
		c->save.transitions = next->transitions;
	if (sidecar)
		c->save.others = next->others;
}

static bool journal_read_whole(int fd, void *to, size_t size, off_t at)
{
	return io_pread(fd, to, size, at) == (ssize_t)size;
}

static void read_file(struct journal_copy *c, int fd, uint32_t collector_pid, uint32_t nr_lanes,
		      const char *trace)
{
	struct journal_head head;

	if (!journal_read_whole(fd, &head, sizeof(head), 0) || head.magic != JOURNAL_MAGIC ||
	    head.version != JOURNAL_VERSION || head.collector_pid != collector_pid ||
	    nr_lanes > LANES_MAX)
		return;
	head.path[sizeof(head.path) - 1] = '\0';
	c->trace = strdup(trace ? trace : head.path);
	c->lanes = calloc(nr_lanes + 1u, sizeof(*c->lanes));
	if (!c->trace || !c->lanes ||
	    !journal_read_whole(fd, c->lanes, nr_lanes * sizeof(*c->lanes), (off_t)LANES_AT))
		return;
	c->nr_lanes = nr_lanes;
	c->failed = head.failed != 0;
	c->lost = head.lost;
	c->lost_others = head.lost_others;
	c->format = (enum trace_format)head.format;
	c->has_trace = access(c->trace, R_OK) == 0;
	c->found = true;
	journal_settle(c, &head);
}

void journal_read(struct journal_copy *c, const char *region, uint32_t collector_pid,
		  uint32_t nr_lanes, const char *trace)
{
	char *path = journal_path(region);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	struct stat st;

	memset(c, 0, sizeof(*c));
	c->cut_lane = UINT32_MAX;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		read_file(c, fd, collector_pid, nr_lanes, trace);
	if (fd >= 0)
		close(fd);
	free(path);
}

void journal_copy_release(struct journal_copy *c)
{
	free(c->trace);
	free(c->lanes);
	memset(c, 0, sizeof(*c));
}

uint64_t journal_position(const struct journal_copy *c, uint32_t i, bool transitions)
{
	uint64_t done = transitions ? c->trace_number : c->sidecar_number;

	if (i >= c->nr_lanes)
		return 0;
	return c->lanes[i].number <= done ? c->lanes[i].after : c->lanes[i].before;
}
