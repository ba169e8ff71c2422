/* SPDX-License-Identifier: MIT */
/*
 * ctf_writer.c - write a trace as a CTF directory.
 *
 * Performance
 *   An event becomes 25 bytes: four stores to consecutive addresses in the packet of its
 *   lane, which one table lookup finds.  Every rare case (no packet begun, packet full, a
 *   long pause, time going back) fails one of two comparisons and takes a slow path.
 */
#include "trace/ctf_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "trace/ctf.h"
#include "trace/ctf_facts.h"
#include "trace/ctf_forms.h"
#include "trace/ctf_held.h"
#include "trace/ctf_metadata.h"
#include "trace/ctf_stream.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* The longest record of an event: a birth with its name, and what a store writes too much. */
#define RECORD_MAX (CTF_EVENT_HEADER + CTF_SIZE_OF(birth) + 2 + TRACE_NAME_MAX + 8)
/* Limit for a caller that announces no horizon: the records are then released. */
#define HELD_MAX ((size_t)1 << 20)

struct ctf_writer {
	struct trace_writer writer; /* first member: cast to and from */
	struct ctf_stream **lanes;  /* by number; the placeholder below until a stream exists */
	uint32_t nr_lanes;
	/*
	 * Events of stations and of lanes without a file, in order of time; and the events that
	 * came too late for that order, which are in order among themselves.
	 */
	struct ctf_stream *stations, *late;
	struct ctf_held held; /* events that are not in the stream yet */
	bool has_horizon;     /* since the last flush */
	struct ctf_stream *facts;
	struct ctf_stream no_stream; /* never has a packet: its events take the slow path */
	struct ctf_files files;
	uint64_t clamped;
	uint64_t start_ts;
	int totals_fd;
	int facts_error; /* of the totals */
	char *path;
};

static struct ctf_writer *writer_of(struct trace_writer *w)
{
	return (struct ctf_writer *)w;
}

/* ---- bytes --------------------------------------------------------------- */

static inline uint8_t *ctf_writer_put_bytes(uint8_t *p, const void *from, size_t size)
{
	return (uint8_t *)memcpy(p, from, size) + size;
}

static inline uint8_t *put_u64(uint8_t *p, uint64_t value)
{
	return ctf_writer_put_bytes(p, &value, sizeof(value));
}

static inline uint8_t *put_u32(uint8_t *p, uint32_t value)
{
	return ctf_writer_put_bytes(p, &value, sizeof(value));
}

static inline uint8_t *put_u16(uint8_t *p, uint16_t value)
{
	return ctf_writer_put_bytes(p, &value, sizeof(value));
}

static inline uint8_t *put_u8(uint8_t *p, uint8_t value)
{
	*p = value;
	return p + 1;
}

/* Writes the header of an event.  Stores three bytes too many, which the payload overwrites. */
static inline uint8_t *ctf_writer_put_header(uint8_t *p, uint64_t ts, unsigned id)
{
	put_u64(p, (uint32_t)ts | (uint64_t)id << 32);
	return p + CTF_EVENT_HEADER;
}

/* ---- events -------------------------------------------------------------- */

/*
 * True if a plain record holds every member of the event.  Reads the fields one by one: they
 * were stored one by one just before, and a wider load would stall until all of these stores
 * are in the cache.
 */
static inline bool ctf_writer_is_plain(const struct ctf_stream *s, const struct trace_event *ev)
{
	return !(ev->site | ev->reason | ev->flags | (ev->seq >> 32) | ev->resource |
		 (ev->tid ^ s->tid)) &&
	       ev->kind <= TRACE_RESUME && ev->station == TRACE_NO_STATION;
}

/* The thread and the station of the event equal those of the stream. */
static bool fits_stream(const struct ctf_stream *s, const struct trace_event *ev)
{
	return ev->tid == s->tid && ev->station == TRACE_NO_STATION;
}

static uint8_t *put_transition(const struct ctf_stream *s, uint8_t *p, uint64_t ts,
			       const struct trace_event *ev)
{
	bool told = ev->site || ev->reason || ev->flags || ev->resource;

	if (ev->seq <= UINT32_MAX && fits_stream(s, ev) && told)
		return ctf_put_at(ctf_writer_put_header(p, ts, CTF_AT + ev->is_active), ev);
	if (ev->seq <= UINT32_MAX && fits_stream(s, ev))
		return ctf_put_plain(ctf_writer_put_header(p, ts, CTF_PLAIN + ev->is_active), ev);
	if (ev->seq <= UINT32_MAX && !told && ev->tid <= UINT32_MAX)
		return ctf_put_in(ctf_writer_put_header(p, ts, CTF_IN + ev->is_active), ev);
	return ctf_put_full(ctf_writer_put_header(p, ts, CTF_FULL + ev->is_active), ev);
}

static uint8_t *put_wake(const struct ctf_stream *s, uint8_t *p, uint64_t ts,
			 const struct trace_event *ev)
{
	if (fits_stream(s, ev) && !ev->addr && !ev->flags && !ev->resource)
		return ctf_put_wake(ctf_writer_put_header(p, ts, CTF_WAKE), ev);
	return ctf_put_wake_full(ctf_writer_put_header(p, ts, CTF_WAKE_FULL), ev);
}

static uint8_t *put_birth(uint8_t *p, uint64_t ts, const struct trace_event *ev)
{
	struct trace_event cut = *ev;

	if (!ev->name)
		cut.name_size = 0;
	if (cut.name_size > TRACE_NAME_MAX) {
		cut.name_size = TRACE_NAME_MAX;
		cut.flags |= TRACE_NAME_CUT;
	}
	p = ctf_writer_put_header(p, ts, cut.name_size ? CTF_BIRTH_NAMED : CTF_BIRTH);
	p = ctf_put_birth(p, &cut);
	if (!cut.name_size)
		return p;
	p = put_u16(p, (uint16_t)cut.name_size);
	return ctf_writer_put_bytes(p, ev->name, cut.name_size);
}

#define CTF_WRITER_ROW(event_id, name, kind, form, more) \
	[kind] = { .id = (event_id), .size = CTF_SIZE_OF(form), .put = ctf_put_##form },

static const struct {
	uint8_t id;
	uint16_t size;
	uint8_t *(*put)(uint8_t *p, const struct trace_event *ev);
} kind_events[NR_TRACE_KINDS] = { CTF_KIND_EVENTS(CTF_WRITER_ROW) };

static uint8_t *put_kind(uint8_t *p, uint64_t ts, const struct trace_event *ev)
{
	p = ctf_writer_put_header(p, ts, kind_events[ev->kind].id);
	if (kind_events[ev->kind].id >= CTF_FIRST_SIZED)
		p = put_u16(p, kind_events[ev->kind].size);
	return kind_events[ev->kind].put(p, ev);
}

static uint8_t *ctf_writer_put_record(const struct ctf_stream *s, uint8_t *p, uint64_t ts,
				      const struct trace_event *ev)
{
	if (trace_is_transition(ev))
		return put_transition(s, p, ts, ev);
	if (ev->kind == TRACE_WAKE)
		return put_wake(s, p, ts, ev);
	if (ev->kind == TRACE_BIRTH)
		return put_birth(p, ts, ev);
	return put_kind(p, ts, ev);
}

/* Everything that is not a plain transition. */
static __attribute__((noinline)) void put_any(struct ctf_stream *s, uint64_t ts,
					      const struct trace_event *ev)
{
	s->at = ctf_writer_put_record(s, s->at, ts, ev);
	if (trace_is_transition(ev))
		s->transitions++;
	else
		s->others++;
}

static void count_unwritten(struct ctf_writer *w, const struct trace_event *ev)
{
	if (trace_is_transition(ev))
		w->files.unwritten++;
	else
		w->files.others_unwritten++;
}

/* ---- events of stations --------------------------------------------------- */

static struct ctf_stream *stream_at(struct ctf_stream **place, const char *name)
{
	if (!*place)
		*place = ctf_stream_new(CTF_STREAM_EVENTS, name);
	return *place;
}

/* Returns the stream in which @ts is in order; *@ts is raised if there is none. */
static struct ctf_stream *stream_for(struct ctf_writer *w, uint64_t *ts)
{
	struct ctf_stream *s = stream_at(&w->stations, CTF_STATIONS);

	if (s && *ts < s->last_ts)
		s = stream_at(&w->late, CTF_LATE);
	if (s && *ts < s->last_ts) {
		*ts = s->last_ts;
		w->clamped++;
	}
	return s;
}

static void release_record(struct ctf_writer *w, const struct held_record *r)
{
	uint64_t ts = r->ts;
	struct ctf_stream *s = stream_for(w, &ts);
	uint8_t *record = w->held.bytes + r->at;

	if (!s || !ctf_stream_room(&w->files, s, ts, r->size)) {
		w->files.unwritten += r->is_transition;
		w->files.others_unwritten += !r->is_transition;
		return;
	}
	put_u32(record, (uint32_t)ts);
	s->at = ctf_writer_put_bytes(s->at, record, r->size);
	s->last_ts = ts;
	s->transitions += r->is_transition;
	s->others += !r->is_transition;
}

/* Releases records from before @ts; UINT64_MAX: all records, also those of this time. */
static void release_held(struct ctf_writer *w, uint64_t ts)
{
	size_t i;

	held_sort(&w->held);
	for (i = 0; i < w->held.nr && (w->held.records[i].ts < ts || ts == UINT64_MAX); i++)
		release_record(w, &w->held.records[i]);
	held_drop(&w->held, i);
}

static void ctf_writer_hold(struct ctf_writer *w, const struct trace_event *ev)
{
	static const struct ctf_stream nobodys = { .tid = UINT64_MAX };
	uint8_t *p;

	if (w->held.nr >= HELD_MAX)
		release_held(w, UINT64_MAX);
	p = held_room(&w->held, RECORD_MAX);
	if (!p || w->files.error) {
		count_unwritten(w, ev);
		return;
	}
	held_keep(&w->held, ev->ts, (size_t)(ctf_writer_put_record(&nobodys, p, ev->ts, ev) - p),
		  trace_is_transition(ev));
}

static void ctf_writer_put_horizon(struct trace_writer *tw, uint64_t ts)
{
	struct ctf_writer *w = writer_of(tw);

	w->has_horizon = true;
	if (w->held.nr)
		release_held(w, ts);
}

/* ---- events of lanes ------------------------------------------------------ */

static struct ctf_stream *ctf_writer_lane_of(struct ctf_writer *w, uint32_t lane);

/*
 * True if the events go to a stream of several lanes, where each has its tid and the writer
 * sorts.
 */
static bool is_shared(uint32_t lane)
{
	return lane >= CTF_LANE_FILES; /* also TRACE_LANE_STATIONS */
}

/* The lane has no packet, or none that accepts this event. */
static __attribute__((noinline)) void ctf_writer_put_slowly(struct ctf_writer *w, uint32_t lane,
							    const struct trace_event *ev)
{
	struct ctf_stream *s;
	uint64_t ts = ev->ts;

	if (is_shared(lane) && ev->kind < NR_TRACE_KINDS) {
		if (lane < TRACE_LANES_MAX || lane == TRACE_LANE_STATIONS)
			ctf_writer_hold(w, ev);
		else
			count_unwritten(w, ev);
		return;
	}
	s = ctf_writer_lane_of(w, lane);
	if (s && ts < s->last_ts) {
		ts = s->last_ts;
		w->clamped++;
	}
	if (!s || ev->kind >= NR_TRACE_KINDS || !ctf_stream_room(&w->files, s, ts, 1)) {
		count_unwritten(w, ev);
		return;
	}
	put_any(s, ts, ev);
	s->last_ts = ts;
}

static void ctf_writer_put_event(struct trace_writer *tw, uint32_t lane,
				 const struct trace_event *ev)
{
	struct ctf_writer *w = writer_of(tw);
	struct ctf_stream *s = lane < w->nr_lanes ? w->lanes[lane] : &w->no_stream;
	uint64_t ts = ev->ts;

	/* The difference wraps for an earlier time, so one comparison finds both cases. */
	if (unlikely(s->at >= s->limit || ts - s->last_ts > UINT32_MAX ||
		     ev->kind >= NR_TRACE_KINDS)) {
		ctf_writer_put_slowly(w, lane, ev);
		return;
	}
	s->last_ts = ts;
	if (ctf_writer_is_plain(s, ev)) {
		s->at = ctf_put_plain(ctf_writer_put_header(s->at, ts, CTF_PLAIN + ev->is_active),
				      ev);
		s->transitions++;
		return;
	}
	put_any(s, ts, ev);
}

/* ---- lanes --------------------------------------------------------------- */

static bool ctf_writer_make_room_for(struct ctf_writer *w, uint32_t number)
{
	uint32_t nr = w->nr_lanes ? w->nr_lanes : 16, i;
	struct ctf_stream **more;

	if (number < w->nr_lanes)
		return true;
	if (number >= CTF_LANE_FILES)
		return false;
	while (nr <= number)
		nr *= 2;
	more = reallocarray(w->lanes, nr, sizeof(struct ctf_stream *));
	if (!more)
		return false;
	for (i = w->nr_lanes; i < nr; i++)
		more[i] = &w->no_stream;
	w->lanes = more;
	w->nr_lanes = nr;
	return true;
}

/* Creates the stream on first use; NULL: no memory, or no such lane. */
static struct ctf_stream *ctf_writer_lane_of(struct ctf_writer *w, uint32_t lane)
{
	char name[CTF_NAME_SIZE];

	if (is_shared(lane))
		return stream_at(&w->stations, CTF_STATIONS);
	if (!ctf_writer_make_room_for(w, lane))
		return NULL;
	if (w->lanes[lane] == &w->no_stream) {
		struct ctf_stream *s;

		snprintf(name, sizeof(name), CTF_LANE_PREFIX "%" PRIu32, lane);
		s = ctf_stream_new(CTF_STREAM_EVENTS, name);
		if (!s)
			return NULL;
		s->lane = lane;
		w->lanes[lane] = s;
	}
	return w->lanes[lane];
}

static void ctf_writer_put_lane(struct trace_writer *tw, const struct trace_lane *lane)
{
	struct ctf_writer *w = writer_of(tw);
	struct ctf_stream *s = is_shared(lane->number) ? NULL : ctf_writer_lane_of(w, lane->number);

	if (s)
		ctf_stream_set_thread(&w->files, s, lane->pid, lane->tid);
}

static void ctf_writer_put_gap(struct ctf_writer *w, const struct trace_gap *gap)
{
	struct ctf_stream *s = ctf_writer_lane_of(w, gap->lane);
	uint64_t ts = gap->to_ts;

	if (!s)
		return;
	if (is_shared(gap->lane))
		release_held(w, ts);
	if (ts < s->last_ts)
		ts = s->last_ts;
	s->discarded += gap->transitions + gap->others;
	/* A gap has no tid in its record: it takes the tid of its packet. */
	if (s->tid != s->next_tid)
		ctf_stream_end_packet(&w->files, s);
	if (!ctf_stream_room(&w->files, s, ts, CTF_EVENT_HEADER + CTF_SIZE_OF(gap)))
		return;
	s->at = ctf_put_gap(ctf_writer_put_header(s->at, ts, CTF_GAP), gap);
	s->last_ts = ts;
}

/* ---- facts --------------------------------------------------------------- */

/* The time of a fact, if it has one; otherwise the newest time written. */
static uint64_t ctf_writer_time_of(const struct ctf_writer *w, const struct trace_item *fact)
{
	switch (fact->type) {
	case TRACE_ITEM_RUN:
		return fact->run.start_ts;
	case TRACE_ITEM_PROCESS:
		return fact->process.connected_ts;
	case TRACE_ITEM_TOTALS:
		return fact->totals.end_ts;
	default:
		return w->files.newest_ts;
	}
}

static uint8_t *put_fact_record(uint8_t *p, const struct trace_item *fact, uint64_t ts, size_t size)
{
	p = put_u64(p, ts);
	p = put_u8(p, (uint8_t)schema[fact->type].ctf);
	p = put_u32(p, (uint32_t)size);
	return ctf_fact_encode(p, fact);
}

static void put_plain_fact(struct ctf_writer *w, const struct trace_item *fact)
{
	struct ctf_stream *s = w->facts;
	size_t size = ctf_fact_size(fact);
	uint64_t ts = ctf_writer_time_of(w, fact);

	if (ts < s->last_ts)
		ts = s->last_ts;
	if (size > UINT32_MAX || !ctf_stream_room(&w->files, s, ts, CTF_FACT_HEADER + size))
		return;
	s->at = put_fact_record(s->at, fact, ts, size);
	s->last_ts = ts;
}

/*
 * The totals file has one packet and its full size from the start, so that it can be
 * overwritten when the disk is full.
 */
static int ctf_writer_write_totals(struct ctf_writer *w, const struct trace_item *totals)
{
	uint8_t packet[CTF_TOTALS_SIZE] = { 0 }, *end = packet + sizeof(struct ctf_packet);
	uint64_t ts = totals ? totals->totals.end_ts : w->start_ts;
	struct ctf_packet head = {
		.magic = CTF_MAGIC,
		.stream_id = CTF_STREAM_FACTS,
		.timestamp_begin = ts,
		.timestamp_end = ts,
		.packet_size = sizeof(packet) * 8,
		.lane = UINT32_MAX,
	};

	if (totals)
		end = put_fact_record(end, totals, ts, ctf_fact_size(totals));
	head.content_size = (uint64_t)(end - packet) * 8;
	memcpy(head.uuid, w->files.uuid, sizeof(head.uuid));
	memcpy(packet, &head, sizeof(head));
	if (io_pwrite(w->totals_fd, packet, sizeof(packet), 0) < 0)
		return -errno;
	return 0;
}

static void flush_all(struct ctf_writer *w)
{
	release_held(w, UINT64_MAX);
	ctf_files_flush(&w->files);
}

static void ctf_writer_put_fact(struct trace_writer *tw, const struct trace_item *fact)
{
	struct ctf_writer *w = writer_of(tw);
	struct trace_item run = *fact;

	switch (fact->type) {
	case TRACE_ITEM_RUN:
		run.run.format = CTF_FORMAT;
		put_plain_fact(w, &run);
		ctf_stream_end_packet(&w->files, w->facts); /* on disk if the collector is killed */
		break;
	case TRACE_ITEM_GAP:
		ctf_writer_put_gap(w, &fact->gap);
		break;
	case TRACE_ITEM_TOTALS:
		flush_all(w);
		w->facts_error = ctf_writer_write_totals(w, fact);
		break;
	case TRACE_ITEM_PROCESS:
	case TRACE_ITEM_MODULE:
	case TRACE_ITEM_CPU:
	case TRACE_ITEM_DESCRIPTOR:
	case TRACE_ITEM_SWITCH:
	case TRACE_ITEM_WAITING:
	case TRACE_ITEM_FRAME:
	case TRACE_ITEM_PART:
	case TRACE_ITEM_MEMORY:
	case TRACE_ITEM_SITE:
	case TRACE_ITEM_COROUTINE:
		put_plain_fact(w, fact);
		break;
	case TRACE_ITEM_EVENT:
	case NR_TRACE_ITEM_TYPES:
		break;
	}
}

static void ctf_writer_flush(struct trace_writer *tw)
{
	struct ctf_writer *w = writer_of(tw);

	/*
	 * With a horizon the newest events may be held back; without one nothing else releases
	 * them.
	 */
	if (!w->has_horizon)
		release_held(w, UINT64_MAX);
	w->has_horizon = false;
	ctf_files_flush(&w->files);
}

static void ctf_writer_tell_counts(const struct trace_writer *tw, struct trace_counts *counts)
{
	const struct ctf_writer *w = (const struct ctf_writer *)tw;

	*counts = (struct trace_counts){
		.written = w->files.written,
		.unwritten = w->files.unwritten,
		.others_written = w->files.others_written,
		.others_unwritten = w->files.others_unwritten,
		.clamped = w->clamped,
	};
}

/* ---- open and close ------------------------------------------------------ */

static void ctf_writer_release(struct ctf_writer *w)
{
	uint32_t i;

	for (i = 0; i < w->nr_lanes; i++) {
		if (w->lanes[i] != &w->no_stream)
			ctf_stream_free(&w->files, w->lanes[i]);
	}
	ctf_stream_free(&w->files, w->stations);
	ctf_stream_free(&w->files, w->late);
	ctf_stream_free(&w->files, w->facts);
	held_release(&w->held);
	if (w->totals_fd >= 0)
		close(w->totals_fd);
	free(w->lanes);
}

static void ctf_writer_say_failure(const struct ctf_writer *w, struct err *err)
{
	const struct ctf_files *f = &w->files;
	uint64_t written = f->written + f->others_written;
	uint64_t unwritten = f->unwritten + f->others_unwritten;

	err_set(err, f->error,
		"cannot write '%s': %s; %" PRIu64 " events are in it, %" PRIu64 " are not", w->path,
		strerror(-f->error), written, unwritten);
	if (f->error == -ENOSPC || f->error == -EDQUOT)
		err_hint(err, "make room there, or write the trace to another disk");
	else if (f->error == -EFBIG)
		err_hint(err, "the limit on file sizes is in the way: see 'ulimit -f'");
}

static void ctf_writer_close_writer(struct trace_writer *tw, struct trace_counts *counts,
				    struct err *trace, struct err *facts)
{
	struct ctf_writer *w = writer_of(tw);

	flush_all(w);
	ctf_writer_release(w); /* may detect a failed write */
	ctf_writer_tell_counts(tw, counts);
	if (w->files.error)
		ctf_writer_say_failure(w, trace);
	if (w->facts_error)
		err_set(facts, w->facts_error, "cannot write '%s/" CTF_TOTALS "': %s", w->path,
			strerror(-w->facts_error));
	free(w->path);
	free(w);
}

static const struct trace_writer_ops ctf_writer_ops = {
	.lane = ctf_writer_put_lane,
	.event = ctf_writer_put_event,
	.horizon = ctf_writer_put_horizon,
	.fact = ctf_writer_put_fact,
	.flush = ctf_writer_flush,
	.counts = ctf_writer_tell_counts,
	.close = ctf_writer_close_writer,
};

static void make_uuid(uint8_t uuid[16])
{
	uint64_t time[2] = { clock_now_ns(), monotonic_clock_ns(CLOCK_REALTIME) ^ (uint64_t)getpid()
											  << 40 };

	if (getrandom(uuid, 16, GRND_NONBLOCK) != 16)
		memcpy(uuid, time, 16); /* early at boot, or in a sandbox: unique is sufficient */
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

/* Creates a file with @text in the directory.  Returns the descriptor, or -errno. */
static int ctf_writer_create(const struct ctf_writer *w, const char *name, const char *text,
			     size_t size)
{
	int rc = 0, fd = openat(w->files.dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	while (rc == 0 && size) {
		ssize_t put = io_write(fd, text, size);

		if (put < 0)
			rc = (int)put;
		else
			text += put, size -= (size_t)put;
	}
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int write_metadata(struct ctf_writer *w, const struct sidecar_run *run)
{
	size_t size;
	char *text = ctf_metadata_text(w->files.uuid, run, &size);
	int fd = text ? ctf_writer_create(w, CTF_METADATA, text, size) : -ENOMEM;

	free(text);
	if (fd < 0)
		return fd;
	return close(fd) < 0 && errno != EINTR ? -errno : 0;
}

static int ctf_writer_begin(struct ctf_writer *w, const struct trace_output *output)
{
	int rc = write_metadata(w, &output->run);

	if (rc < 0)
		return rc;
	w->totals_fd = ctf_writer_create(w, CTF_TOTALS, "", 0);
	if (w->totals_fd < 0)
		return w->totals_fd;
	return ctf_writer_write_totals(w, NULL);
}

struct trace_writer *ctf_writer_open(const struct trace_output *output, struct err *err)
{
	struct ctf_writer *w = calloc(1, sizeof(*w));
	int rc = -ENOMEM;

	if (w) {
		w->writer.ops = &ctf_writer_ops;
		w->files.saver = &w->writer.saver;
		w->files.dir = output->fd;
		w->totals_fd = -1;
		w->start_ts = output->run.start_ts;
		make_uuid(w->files.uuid);
		w->facts = ctf_stream_new(CTF_STREAM_FACTS, CTF_FACTS);
		w->path = strdup(output->path);
		if (w->facts && w->path)
			rc = ctf_writer_begin(w, output);
		if (rc == 0)
			return &w->writer;
		ctf_writer_release(w);
		free(w->path);
		free(w);
	}
	err_set(err, rc, "cannot write the trace to '%s': %s", output->path, strerror(-rc));
	err_hint(err, "choose another directory with -o");
	return NULL;
}
