/* SPDX-License-Identifier: MIT */
/* frame_recorder.c - write the frames of the program to the trace. */
#include "collect/frame_recorder.h"

#include <corotracer/probe.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "frames/file/frame_columns.h"
#include "frames/spec/frames_abi.h"

/* A reading of the cycle counter in a frame is converted to this shift, as those of lanes are. */
#if defined(__aarch64__)
#define STAMP_SHIFT CTP_TICKS_SHIFT
/* Events within one period of the counter get different times: up to this far ahead. */
#define STAMP_SLACK NS_PER_US
#else
#define STAMP_SHIFT 0
#define STAMP_SLACK 0
#endif

/* Larger than that of attach: frames are converted to text here, and events have to be read, too.
 */
#define RECORDER_RING (UINT64_C(32) << 20)

/* More would be as many frames between two polls. */
#define PENDING_FRAMES ((size_t)1 << 24)

struct frame_buffer {
	struct frame_recorder *recorder;
	struct attach attach;
	struct recording_info info; /* names of the counters */
	struct row_plan *plans;     /* one per type */
	bool is_started, is_over;
};

struct frame_pending {
	uint64_t ts;    /* 0 until ticks are converted */
	uint64_t ticks; /* cycle counter; 0: none */
	uint64_t tid, ticket;
	uint64_t lost; /* 0: a frame */
	size_t image;  /* offset in images; of a loss, that of the next frame */
	uint32_t buffer;
	bool is_late, is_due;
};

/* ---- frames as they are read ---------------------------------------------- */

static struct frame_pending *pending_add(struct frame_recorder *r)
{
	size_t room = r->room ? 2 * r->room : 1024;
	struct frame_pending *more;

	if (r->nr_pending == r->room) {
		more = room <= PENDING_FRAMES ? realloc(r->pending, room * sizeof(*more)) : NULL;
		if (!more)
			return NULL;
		r->pending = more;
		r->room = room;
	}
	return &r->pending[r->nr_pending++];
}

static void pending_take_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	struct frame_buffer *b = arg;
	struct frame_recorder *r = b->recorder;
	const struct ring *ring = &b->attach.ring;
	struct frame_pending *p = pending_add(r);
	size_t at = r->images.size;

	if (!p || !bytes_put(&r->images, image, b->attach.live.desc.frame_size)) {
		r->nr_pending -= p != NULL;
		r->totals.lost++;
		return;
	}
	*p = (struct frame_pending){
		/* Older generated code without gettid(2). */
		.tid = ring->stamp_tid == UINT32_MAX ? 0 : ring->stamp_tid,
		.ticket = ticket,
		.image = at,
		.buffer = (uint32_t)(b - r->buffers),
		.is_late = !ring->stamp_time,
	};
	if (p->is_late)
		p->ts = clock_now_ns();
	else if (b->attach.config.stamp_kind == PPT_STAMP_TICKS)
		p->ticks = ring->stamp_time << STAMP_SHIFT;
	else
		p->ts = ring->stamp_time;
}

static void pending_take_loss(void *arg, uint64_t nr)
{
	struct frame_buffer *b = arg;
	struct frame_pending *p = pending_add(b->recorder);

	if (p)
		*p = (struct frame_pending){
			.ts = clock_now_ns(),
			.lost = nr,
			.image = b->recorder->images.size,
			.buffer = (uint32_t)(b - b->recorder->buffers),
		};
}

static int pending_begin(void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	return 0;
}

static int pending_flush(void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	return 0;
}

static void recorder_say(void *arg, int level, const char *text)
{
	const struct frame_buffer *b = arg;

	if (!level && b->recorder->request->say)
		b->recorder->request->say(text);
}

/* ---- open ---------------------------------------------------------------- */

static int recorder_make_plans(struct frame_buffer *b, struct err *err)
{
	const struct counters *counters = &b->recorder->request->counters;
	const struct desc *d = &b->attach.live.desc;
	unsigned i;

	for (i = 0; i < counters->nr; i++)
		b->info.counters[i] = counters->names[i];
	b->info.nr_counters = counters->nr;
	b->plans = calloc(d->nr_frames, sizeof(*b->plans));
	for (i = 0; b->plans && i < d->nr_frames; i++) {
		if (row_plan_init(&b->plans[i], d, i, &b->info) < 0)
			return err_set(err, -ENOMEM, "no memory for the frames of '%s'", d->name);
		if (b->plans[i].json_max > b->recorder->line_room)
			b->recorder->line_room = b->plans[i].json_max;
	}
	return b->plans ? 0 : err_set(err, -ENOMEM, "no memory for the frames of '%s'", d->name);
}

static int recorder_add_buffer(struct frame_recorder *r, const char *name, struct err *err)
{
	struct frame_buffer *b = &r->buffers[r->nr];
	struct attach_config config = {
		.pid = r->pid,
		.buffer = name,
		.ring_bytes = RECORDER_RING,
		.counters = r->request->counters,
		.stamp_kind = r->slack_ns == UINT64_MAX ? PPT_STAMP_NS : PPT_STAMP_TICKS,
		.is_hosted = true,
		.sink = { b, pending_begin, pending_take_frame, pending_take_loss, NULL,
			  pending_flush, recorder_say },
	};
	int rc;

	memset(b, 0, sizeof(*b));
	b->recorder = r;
	rc = attach_open(&b->attach, &config, err);
	if (rc < 0)
		return rc;
	r->nr++;
	rc = recorder_make_plans(b, err);
	if (rc < 0)
		return rc;
	b->is_started = true;
	return attach_start(&b->attach, err);
}

static int recorder_add_all(struct frame_recorder *r, const struct buffer_symbols *list,
			    struct err *err)
{
	char name[512];
	size_t i;
	int rc = 0;

	for (i = 0; i < list->nr && !rc; i++) {
		snprintf(name, sizeof(name), "%s@%s", list->at[i].name, list->at[i].file);
		rc = recorder_add_buffer(r, name, err);
	}
	return rc;
}

/* True if the buffer was named before: it has one ring. */
static bool recorder_has(const struct frame_recorder *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->nr; i++) {
		if (!strcmp(r->buffers[i].attach.config.buffer, name))
			return true;
	}
	return false;
}

static int recorder_add_listed(struct frame_recorder *r, struct err *err)
{
	char *names = strdup(r->request->buffers), *rest = names, *name;
	int rc = names ? 0 : err_set(err, -ENOMEM, "no memory for the names of buffers");

	while (!rc && (name = strsep(&rest, ","))) {
		if (*name && !recorder_has(r, name))
			rc = recorder_add_buffer(r, name, err);
	}
	free(names);
	return rc;
}

static size_t recorder_count_names(const char *names)
{
	size_t nr = 1;

	for (; *names; names++)
		nr += *names == ',';
	return nr;
}

static int recorder_refuse(const struct target *t, struct err *err)
{
	char name[32];

	err_set(err, -ENOENT, "cannot record frames: '%s' has no frame buffer",
		target_name(t->pid, name));
	err_hint(err, "a program has one if it is linked with code of 'corotracer generate'; a "
		      "shell or wrapper that starts the program is not followed");
	return err->code;
}

static int recorder_open_buffers(struct frame_recorder *r, struct err *err)
{
	struct buffer_symbols list = { 0 };
	struct target target = { .pidfd = -1 };
	size_t nr;
	int rc = target_open(&target, r->pid, err);

	if (rc < 0)
		return rc;
	rc = places_find(&target, &list, err);
	if (!rc && !list.nr)
		rc = recorder_refuse(&target, err);
	nr = r->request->buffers ? recorder_count_names(r->request->buffers) : list.nr;
	if (!rc) {
		r->buffers = calloc(nr + 1, sizeof(*r->buffers));
		rc = !r->buffers           ? err_set(err, -ENOMEM, "no memory for buffers")
		     : r->request->buffers ? recorder_add_listed(r, err)
					   : recorder_add_all(r, &list, err);
	}
	places_release(&list);
	target_close(&target);
	return rc;
}

int frame_recorder_open(struct frame_recorder *r, const struct frame_request *request, pid_t pid,
			const struct tickclock *clock, struct err *err)
{
	int rc;

	memset(r, 0, sizeof(*r));
	r->request = request;
	r->pid = pid;
	r->is_open = true;
	r->slack_ns = clock->usable ? STAMP_SLACK : UINT64_MAX;
	rc = recorder_open_buffers(r, err);
	/* Lanes carry the same clock's nanoseconds then. */
	if (r->slack_ns == UINT64_MAX)
		r->slack_ns = 0;
	r->totals.buffers = r->nr;
	if (!rc) {
		r->line = malloc(r->line_room + 64);
		rc = r->line ? 0 : err_set(err, -ENOMEM, "no memory for a frame");
	}
	return rc;
}

void frame_recorder_begin(struct frame_recorder *r, struct frame_owners *owners,
			  struct tickclock *clock, struct trace_writer *writer)
{
	if (!r->is_open)
		return;
	frame_owners_open(owners);
	r->owners = owners;
	r->clock = clock;
	r->writer = writer;
}

/* ---- to the trace -------------------------------------------------------- */

static unsigned pending_type(const struct desc *d, const uint8_t *image)
{
	uint32_t type = 1;

	if (d->nr_frames > 1)
		memcpy(&type, image + 4, sizeof(type));
	return type - 1;
}

/* Cycle counters in the frame are converted like stamps, with the rate at that time. */
static void plan_set_clock(struct row_plan *plan, const struct tickclock *clock, uint64_t ticks)
{
	uint64_t length;
	struct tick_mark mark;

	if (!clock->usable)
		return;
	mark = tickclock_stretch(clock, ticks, &length);
	plan->clock = (struct recording_clock){
		.known = true,
		.ticks = mark.ticks >> STAMP_SHIFT,
		.ns = mark.ns,
		.ns_per_tick = (double)(mark.mult << STAMP_SHIFT) / 4294967296.0,
	};
}

static void pending_write_frame(struct frame_recorder *r, const struct frame_pending *p)
{
	struct frame_buffer *b = &r->buffers[p->buffer];
	const struct desc *d = &b->attach.live.desc;
	const uint8_t *image = r->images.data + p->image;
	unsigned type = pending_type(d, image);
	struct trace_frame frame = {
		.pid = (uint64_t)r->pid,
		.tid = p->tid,
		.ts = p->ts,
		.probe_id = frame_owners_find(r->owners, p->tid, p->ts, r->slack_ns),
		.ticket = p->ticket,
		.is_late = p->is_late,
		.buffer = d->name,
	};

	if (type >= d->nr_frames) {
		r->totals.lost++;
		return;
	}
	if (d->time == DESC_COUNTER_CLOCK)
		plan_set_clock(&b->plans[type], r->clock,
			       p->ticks ? p->ticks : tickclock_last(r->clock)->ticks);
	*row_fields(&b->plans[type], image, r->line) = '\0';
	frame.type = d->frames[type].name;
	frame.fields = r->line;
	trace_put_frame(r->writer, &frame);
	r->totals.written++;
	r->totals.in_coroutine += frame.probe_id != 0;
	r->totals.late += p->is_late;
}

static void pending_write_loss(struct frame_recorder *r, const struct frame_pending *p)
{
	trace_put_frame(r->writer, &(struct trace_frame){
					   .pid = (uint64_t)r->pid,
					   .ts = p->ts,
					   .lost = p->lost,
					   .buffer = r->buffers[p->buffer].attach.live.desc.name,
				   });
}

/* Those that are due, in order of time, before the others, in order of reading. */
static int pending_compare(const void *a, const void *b)
{
	const struct frame_pending *x = a, *y = b;

	if (x->is_due != y->is_due)
		return x->is_due ? -1 : 1;
	if (!x->is_due)
		return x->image < y->image ? -1 : x->image > y->image;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->ticket < y->ticket ? -1 : x->ticket > y->ticket;
}

/*
 * A stamp that is newer than the newest mark of the clock waits for the next one; a frame that is
 * newer than @ordered_ns for older ones of other buffers, which may not be read yet.
 */
static bool pending_is_due(const struct frame_recorder *r, struct frame_pending *p,
			   uint64_t seen_ns, uint64_t ordered_ns)
{
	if (p->ticks && p->ticks > tickclock_last(r->clock)->ticks)
		return false;
	if (p->ticks)
		p->ts = tickclock_ns(r->clock, p->ticks);
	return p->ts <= ordered_ns && (p->is_late || p->lost || p->ts <= seen_ns);
}

/* Keep the frames from @from on, with their images. */
static void pending_keep(struct frame_recorder *r, size_t from)
{
	size_t i, nr = 0, size = 0;
	struct frame_pending *p = r->pending;

	for (i = from; i < r->nr_pending; i++) {
		p[nr] = p[i];
		if (!p[i].lost) {
			size_t each = r->buffers[p[i].buffer].attach.live.desc.frame_size;

			/* In the order of reading, as the images are. */
			memmove(r->images.data + size, r->images.data + p[i].image, each);
			p[nr].image = size;
			size += each;
		}
		nr++;
	}
	r->nr_pending = nr;
	r->images.size = size;
	r->images.error = 0;
}

/* Frames are read in groups: those that are due are written in order of time. */
static void pending_write(struct frame_recorder *r, uint64_t seen_ns, uint64_t ordered_ns)
{
	struct frame_pending *p = r->pending;
	size_t due = 0, i;

	for (i = 0; i < r->nr_pending; i++) {
		p[i].is_due = pending_is_due(r, &p[i], seen_ns, ordered_ns);
		due += p[i].is_due;
	}
	if (!due)
		return;
	qsort(p, r->nr_pending, sizeof(*p), pending_compare);
	for (i = 0; i < due; i++) {
		if (p[i].lost)
			pending_write_loss(r, &p[i]);
		else
			pending_write_frame(r, &p[i]);
	}
	pending_keep(r, due);
}

/* ---- polls --------------------------------------------------------------- */

/*
 * Returns false if the ring has frames that are complete and were not read: they wait for one
 * before them.
 */
static bool buffer_poll(struct frame_recorder *r, struct frame_buffer *b, uint64_t now_ns)
{
	const struct attach *a = &b->attach;
	bool was_open = a->ring_open;
	struct err err = { 0 };
	int rc;

	if (b->is_over)
		return true;
	rc = attach_step_hosted(&b->attach, now_ns, &err);
	if (!rc)
		return a->ring_open ? was_open && a->ring.next >= a->head : true;
	b->is_over = true;
	if (rc < 0) {
		r->totals.failed++;
		recorder_say(b, 0, err.text);
	}
	return true;
}

/*
 * No later question is about a time before the result.  A frame that was not complete at the last
 * poll is no exception: its thread was inside the save, without events of coroutines.
 */
static uint64_t recorder_settled(const struct frame_recorder *r)
{
	uint64_t settled = r->settled_ns, last = tickclock_last(r->clock)->ticks;
	size_t i;

	for (i = 0; i < r->nr_pending; i++) {
		const struct frame_pending *p = &r->pending[i];
		uint64_t ts = !p->ticks          ? p->ts
			      : p->ticks <= last ? tickclock_ns(r->clock, p->ticks)
						 : settled;

		settled = ts < settled ? ts : settled;
	}
	return settled;
}

void frame_recorder_look(struct frame_recorder *r, uint64_t now_ns, uint64_t seen_ns)
{
	uint64_t delay = NS_PER_SEC, start_ns;
	bool is_empty = true;
	size_t i;

	if (!r->is_open || now_ns < r->next_ns)
		return;
	/* Without lanes nothing else marks the clock. */
	if (seen_ns == UINT64_MAX)
		tickclock_mark(r->clock);
	pending_write(r, seen_ns, r->ordered_ns);
	frame_owners_forget(r->owners, recorder_settled(r));
	start_ns = clock_now_ns();
	for (i = 0; i < r->nr; i++) {
		is_empty &= buffer_poll(r, &r->buffers[i], now_ns);
		if (!r->buffers[i].is_over && r->buffers[i].attach.delay_ns < delay)
			delay = r->buffers[i].attach.delay_ns;
	}
	if (is_empty)
		r->settled_ns = start_ns;
	/* A thread that sleeps within a save must not stop the others' frames: a poll, no longer.
	 */
	r->ordered_ns = is_empty ? start_ns : r->looked_ns;
	r->looked_ns = start_ns;
	r->next_ns = now_ns + delay;
}

uint64_t frame_recorder_wait(const struct frame_recorder *r, uint64_t now_ns, uint64_t ns)
{
	if (!r->is_open || r->next_ns >= now_ns + ns)
		return ns;
	return r->next_ns > now_ns ? r->next_ns - now_ns : 1;
}

/* ---- the end ------------------------------------------------------------- */

void frame_recorder_stop(struct frame_recorder *r)
{
	size_t i;

	for (i = 0; r->is_open && i < r->nr; i++) {
		struct frame_buffer *b = &r->buffers[i];
		const struct attach_stats *st = &b->attach.stats;

		if (!b->is_started)
			continue;
		attach_stop(&b->attach);
		b->is_over = true;
		b->is_started = false;
		r->totals.issued += st->issued;
		r->totals.lost += st->lost;
		r->totals.dropped += st->dropped;
		r->totals.silent += !st->issued;
	}
}

void frame_recorder_finish(struct frame_recorder *r)
{
	if (!r->is_open || !r->writer)
		return;
	tickclock_mark(r->clock);
	pending_write(r, UINT64_MAX, UINT64_MAX);
	/* A stamp from the future: written by something else than generated code. */
	r->totals.lost += r->nr_pending;
}

void frame_recorder_close(struct frame_recorder *r)
{
	if (!r->is_open)
		return;
	frame_recorder_stop(r);
	while (r->nr) {
		struct frame_buffer *b = &r->buffers[--r->nr];
		size_t i;

		for (i = 0; b->plans && i < b->attach.live.desc.nr_frames; i++)
			row_plan_release(&b->plans[i]);
		free(b->plans);
		attach_release(&b->attach);
	}
	free(r->buffers);
	free(r->pending);
	free(r->line);
	bytes_release(&r->images);
	if (r->owners)
		frame_owners_close(r->owners);
	memset(r, 0, sizeof(*r));
}
