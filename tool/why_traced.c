/* SPDX-License-Identifier: MIT */
/* why_traced.c - what the collector of a program knows about its coroutines, for `why`. */
#include "why_traced.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corotracer/ctp.h>

#include "process/pid_alias.h"
#include "trace/event.h"

#define CHUNKS_READ 2  /* of each thread: enough for its last events */
#define EVENTS_KEPT 64 /* of each thread: the last waker is searched in them */

/* ---- the region ------------------------------------------------------------------- */

/* A mapping whose file begins as a region does; a descriptor, or -1. */
static int traced_open_region(const struct process_image *image, const struct image_range *range)
{
	char path[PATH_MAX];
	uint64_t magic = 0;
	int fd;

	if (!range->is_shared || range->offset || !range->path || range->path[0] != '/' ||
	    (size_t)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)image->pid, range->path) >=
		    sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	if (pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) && magic == CTP_MAGIC)
		return fd;
	close(fd);
	return -1;
}

static bool traced_read_region(struct why_traced *t, const struct process_image *image)
{
	struct recover_options options = {
		.last = EVENTS_KEPT,
		.newest = CHUNKS_READ,
		.tool = "corotracer why",
	};
	struct err ignored = { 0 };
	size_t i;

	for (i = 0; i < image->nr_ranges && !t->is_open; i++) {
		const struct image_range *range = &image->ranges[i];
		int fd = traced_open_region(image, range);

		if (fd < 0)
			continue;
		snprintf(t->path, sizeof(t->path), "%s", range->path);
		ignored = (struct err){ 0 };
		t->is_open = recover_read(&t->region, fd, t->path, &options, &ignored) == 0;
		close(fd);
	}
	return t->is_open;
}

/* ---- its coroutines ----------------------------------------------------------------- */

/* The address of byte @offset of the region in the process; 0: it is not mapped. */
static uint64_t traced_address(const struct why_traced *t, const struct process_image *image,
			       uint64_t offset)
{
	size_t i;

	for (i = 0; i < image->nr_ranges; i++) {
		const struct image_range *r = &image->ranges[i];

		if (r->is_shared && r->path && !strcmp(r->path, t->path) && offset >= r->offset &&
		    offset - r->offset < r->end - r->start)
			return r->start + (offset - r->offset);
	}
	return 0;
}

static struct traced_site traced_site_of(const struct recover *r, uint32_t id)
{
	const struct trace_site *site = recover_site(r, id);

	return site ? (struct traced_site){ site->function, site->file, site->line }
		    : (struct traced_site){ 0 };
}

static uint64_t traced_since(const struct recover *r, uint64_t ts)
{
	uint64_t now = recover_moment(r);

	return ts && ts < now ? now - ts : 0;
}

static void traced_add(struct why_traced *t, const struct process_image *image,
		       const struct recover_coroutine *c)
{
	const struct recover *r = &t->region;
	const struct sidecar_coroutine *co = &c->co;
	bool is_suspended = co->state == TRACE_STATE_SUSPENDED;
	struct traced_coroutine *to = &t->list.at[t->list.nr++];

	*to = (struct traced_coroutine){
		.id = co->probe_id,
		.parent = co->parent,
		.name = c->name[0] ? c->name : NULL,
		.state = trace_state_name(co->state),
		.reason = is_suspended && co->reason ? trace_reason_name(co->reason) : NULL,
		.has_resource = is_suspended && co->has_resource,
		.resource = co->resource,
		.created = traced_site_of(r, co->birth_site),
		.suspended = traced_site_of(r, co->site),
		.age_ns = traced_since(r, co->birth_ts),
		.state_ns = traced_since(r, co->since_ts),
		.suspensions = (co->written + is_suspended) / 2,
		.addr = is_suspended ? co->addr : 0,
	};
	if (co->station == TRACE_NO_STATION && r->image.lanes.ext) {
		const struct ctp_life *life = lanes_life(&r->image.lanes, c->unit);
		uint64_t first = r->image.lanes.ext->lives.offset;

		to->is_adopted = life->birth & CTP_BIRTH_ADOPTED;
		to->entry = traced_address(t, image, first + (uint64_t)c->unit * sizeof(*life));
	}
}

/* By id: the newest wake among the last events of the threads. */
static int traced_note_wakes(struct why_traced *t)
{
	struct u64map by_id = { 0 }, times = { 0 };
	size_t i, k;
	int rc = 0;

	for (i = 0; !rc && i < t->list.nr; i++)
		rc = u64map_put(&by_id, t->list.at[i].id, i + 1);
	for (i = 0; !rc && i < t->region.nr_threads; i++) {
		const struct recover_thread *thread = &t->region.threads[i];

		for (k = 0; !rc && k < thread->nr_last; k++) {
			const struct trace_event *ev = &thread->last[k].ev;
			uint64_t number, *ts;

			if (ev->kind != TRACE_WAKE || !u64map_get(&by_id, ev->probe_id, &number))
				continue;
			ts = u64map_at(&times, ev->probe_id);
			if (!ts)
				break;
			if (*ts > ev->ts)
				continue;
			*ts = ev->ts;
			t->list.at[number - 1].has_waker = true;
			t->list.at[number - 1].waker = ev->peer;
		}
	}
	u64map_release(&by_id);
	u64map_release(&times);
	return rc;
}

void why_traced_join(struct why_traced *t, struct inspection *in)
{
	struct pid_aliases pids = { 0 };
	size_t i;

	*t = (struct why_traced){ 0 };
	if (in->image->kind != IMAGE_RUNNING || !traced_read_region(t, in->image))
		return;
	pid_alias_add(&pids, (uint32_t)in->image->pid);
	t->list.at = calloc(t->region.nr_coroutines + 1, sizeof(*t->list.at));
	t->list.region = t->path;
	t->list.collector = t->region.image.live ? t->region.image.collector_pid : 0;
	for (i = 0; t->list.at && i < t->region.nr_coroutines; i++) {
		const struct recover_coroutine *c = &t->region.coroutines[i];

		if (c->co.state != TRACE_STATE_ENDED &&
		    pid_alias_outer(&pids, (uint32_t)c->co.pid) == (uint32_t)in->image->pid)
			traced_add(t, in->image, c);
	}
	if (t->list.at && traced_note_wakes(t) == 0 && traced_join(&t->list, in) == 0)
		in->traced = &t->list;
}

void why_traced_release(struct why_traced *t)
{
	traced_list_release(&t->list);
	if (t->is_open)
		recover_close(&t->region);
	t->is_open = false;
}
