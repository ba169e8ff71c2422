/* SPDX-License-Identifier: MIT */
/*
 * compact_reader.c - read a trace in the compact format.
 *
 * A finished trace is read in three passes, as the other formats: facts, events, and the facts that
 * come last.  The index says which blocks have what; a pass unpacks those alone.  While a trace
 * grows, its blocks are read in the order of the file, which has facts before the events that need
 * them.
 */
#include "trace/compact_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "trace/compact_decode.h"
#include "trace/compact_index.h"
#include "trace/compact_switches.h"
#include "trace/sidecar.h"

#define REST_TYPES (1u << TRACE_ITEM_COROUTINE | 1u << TRACE_ITEM_TOTALS)

enum compact_phase { COMPACT_FIRST, COMPACT_MIDDLE, COMPACT_LAST, COMPACT_DONE };

struct compact_reader {
	struct trace_reader reader; /* first member: cast to and from */
	int fd;
	char *path;
	uint64_t size; /* of the file, as far as it was looked at */
	enum compact_phase phase;
	struct compact_index index;
	struct compact_scan scan;
	uint32_t entry; /* the next one to look at */
	struct compact_unpacker unpacker;
	struct compact_decoder *decoder;
	struct sidecar_reader lines; /* parses them */
	struct compact_switch_decoder switches;
	/* The block that is being read: events, switches, or lines from at to end. */
	bool in_events, in_switches, in_facts;
	const char *at, *end;
};

static struct compact_reader *compact_reader_of(struct trace_reader *r)
{
	return (struct compact_reader *)r;
}

static int compact_cannot_read(const struct compact_reader *r, int rc, struct err *err)
{
	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory to read '%s'", r->path);
	return err_set(err, rc, "cannot read '%s': %s", r->path, strerror(-rc));
}

/* ---- which blocks --------------------------------------------------------------- */

/* False: the filter lets none of its events pass.  They count as read: they are there. */
static bool compact_is_needed(struct compact_reader *r, uint32_t number)
{
	const struct compact_entry *e = &r->index.entries[number];
	const struct trace_filter *f = r->reader.filter;
	struct trace_completeness *c = &r->reader.stats.completeness;

	/* Without a run, the first event says when it started. */
	if (!f || !f->has_start || e->kinds & 1u << COMPACT_KIND_GAP)
		return true;
	if (e->max_ts >= trace_filter_from(f) && e->min_ts <= trace_filter_to(f) &&
	    (!f->kinds || f->kinds & e->kinds) &&
	    (!f->has_coroutine || compact_index_has_coroutine(&r->index, number, f->coroutine)) &&
	    (!f->site || compact_index_has_site(&r->index, number, f->sites, f->nr_sites)))
		return true;
	c->read += e->transitions;
	c->read_others += e->others;
	return false;
}

/* Facts that are about times outside of the range do not pass: see trace_fact_times(). */
static bool compact_facts_are_needed(const struct compact_reader *r, const struct compact_entry *e)
{
	const struct trace_filter *f = r->reader.filter;

	if (e->kinds && !(e->kinds & ~r->reader.part.unwanted_facts))
		return false;
	return !f || !f->has_start || !e->max_ts ||
	       (e->max_ts >= trace_filter_from(f) && e->min_ts <= trace_filter_to(f));
}

static bool compact_has_facts(const struct compact_entry *e)
{
	return e->type == COMPACT_FACTS || e->type == COMPACT_SWITCHES;
}

static bool compact_is_of_phase(struct compact_reader *r, uint32_t number)
{
	const struct compact_entry *e = &r->index.entries[number];
	bool grows = r->reader.stats.growing;

	if (e->type == COMPACT_EVENTS)
		return (grows || r->phase == COMPACT_MIDDLE) && compact_is_needed(r, number);
	if (!compact_has_facts(e) || !compact_facts_are_needed(r, e))
		return false;
	if (r->phase == COMPACT_MIDDLE)
		return grows;
	return grows || (r->phase == COMPACT_LAST ? e->kinds & REST_TYPES
						  : e->kinds & (uint16_t)~REST_TYPES);
}

/* Blocks with facts of both kinds are read twice, and counted once. */
static bool compact_is_first_time(const struct compact_reader *r, const struct compact_entry *e)
{
	return r->reader.stats.growing || r->phase != COMPACT_LAST ||
	       !(e->kinds & (uint16_t)~REST_TYPES);
}

/* ---- one block -------------------------------------------------------------------- */

/* 1; 0: it is damaged; -errno. */
static int compact_begin_block(struct compact_reader *r, uint32_t number)
{
	const struct compact_entry *e = &r->index.entries[number];
	const struct compact_part *lines = &r->unpacker.parts[COMPACT_LINES];
	struct compact_block_head head;
	int rc = compact_read_at(r->fd, &head, sizeof(head), e->offset);

	if (rc > 0 && (!compact_block_head_is_valid(&head) || head.type != e->type ||
		       head.size + sizeof(head) != e->size || head.items != e->items))
		rc = 0;
	if (rc > 0)
		rc = compact_block_load(&r->unpacker, r->fd, e->offset, &head);
	if (rc <= 0)
		return rc;
	if (compact_is_first_time(r, e)) {
		r->reader.stats.ct.read++;
		r->reader.stats.bytes += e->size;
	}
	if (e->type == COMPACT_EVENTS) {
		r->decoder->is_light = r->reader.part.is_light;
		r->in_events = compact_decoder_begin(r->decoder, &head, r->unpacker.parts);
		return r->in_events;
	}
	if (e->type == COMPACT_SWITCHES) {
		r->in_switches = compact_switch_decoder_begin(&r->switches, &head,
							      r->unpacker.parts);
		return r->in_switches;
	}
	r->in_facts = lines->size && lines->data[lines->size - 1] == '\n';
	if (r->in_facts) {
		r->at = (const char *)lines->data;
		r->end = r->at + lines->size;
	}
	return r->in_facts;
}

/* Parses a line; 1: *@item is set. */
static int compact_take_line(struct compact_reader *r, const char *text, size_t size,
			     struct trace_item *item, unsigned wanted)
{
	struct line line = { .text = text, .size = size };
	uint64_t garbage = r->lines.stats.garbage;
	int rc;

	r->lines.wanted = wanted;
	rc = sidecar_take_line(&r->lines, &line, item);
	r->reader.stats.ct.damaged += r->lines.stats.garbage - garbage;
	return rc;
}

static unsigned compact_wanted(const struct compact_reader *r)
{
	unsigned all = (1u << NR_TRACE_ITEM_TYPES) - 1 - (1u << TRACE_ITEM_EVENT) -
		       (1u << TRACE_ITEM_GAP);

	if (r->reader.stats.growing)
		return all;
	return r->phase == COMPACT_LAST ? REST_TYPES : all & ~REST_TYPES;
}

static int compact_next_fact(struct compact_reader *r, struct trace_item *item)
{
	while (r->at < r->end) {
		const char *text = r->at;
		const char *newline = memchr(text, '\n', (size_t)(r->end - text));
		int rc;

		r->at = newline + 1; /* the last byte is one */
		rc = compact_take_line(r, text, (size_t)(newline - text), item, compact_wanted(r));
		if (rc != 0)
			return rc;
	}
	r->in_facts = false;
	return 0;
}

static int compact_next_switch(struct compact_reader *r, struct trace_item *item)
{
	int rc = compact_switch_decode(&r->switches, &item->switched);

	item->type = TRACE_ITEM_SWITCH;
	if (rc > 0)
		return rc;
	r->in_switches = false;
	r->reader.stats.ct.damaged += rc == -EPROTO;
	return rc == -EPROTO ? 0 : rc;
}

static int compact_next_event(struct compact_reader *r, struct trace_item *item)
{
	struct ct_stats *stats = &r->reader.stats.ct;
	const char *gap;
	size_t size;
	int rc;

	for (;;) {
		switch (compact_decode_next(r->decoder, &item->event, &gap, &size)) {
		case COMPACT_DECODED_EVENT:
			item->type = TRACE_ITEM_EVENT;
			return 1;
		case COMPACT_DECODED_GAP:
			rc = compact_take_line(r, gap, size, item, 1u << TRACE_ITEM_GAP);
			if (rc != 0)
				return rc;
			break;
		case COMPACT_DECODED_UNKNOWN:
			stats->unknown++;
			break;
		case COMPACT_DECODED_DAMAGED:
			stats->damaged++;
			r->in_events = false;
			return 0;
		case COMPACT_DECODED_NO_MEMORY:
			return -ENOMEM;
		case COMPACT_DECODED_END:
			r->in_events = false;
			return 0;
		}
	}
}

/* ---- all blocks ------------------------------------------------------------------- */

/* 1: a block was begun; 0: there are no more in this phase; -errno. */
static int compact_next_block(struct compact_reader *r)
{
	while (r->entry < r->index.nr) {
		uint32_t number = r->entry++;
		int rc;

		if (!compact_is_of_phase(r, number))
			continue;
		rc = compact_begin_block(r, number);
		if (rc != 0)
			return rc;
		r->reader.stats.ct.damaged += compact_is_first_time(r, &r->index.entries[number]);
	}
	return 0;
}

static void compact_count_entries(struct compact_reader *r, uint32_t from)
{
	struct ct_stats *stats = &r->reader.stats.ct;
	uint32_t i;

	for (i = from; i < r->index.nr; i++) {
		unsigned type = r->index.entries[i].type;

		stats->blocks += type != COMPACT_INDEX && type <= COMPACT_SWITCHES;
		stats->unknown += type > COMPACT_SWITCHES;
	}
}

static int compact_file_size(struct compact_reader *r)
{
	struct stat st;

	if (fstat(r->fd, &st) < 0)
		return -errno;
	r->size = (uint64_t)st.st_size;
	return 0;
}

/* Finds the blocks that were written since the last look. */
static int compact_look(struct compact_reader *r)
{
	struct ct_stats *stats = &r->reader.stats.ct;
	uint32_t from = r->index.nr;
	int rc = compact_file_size(r);

	if (rc == 0)
		rc = compact_index_scan(&r->index, &r->scan, r->fd, r->size,
					r->reader.stats.growing);
	stats->damaged = stats->damaged + r->scan.damaged;
	r->scan.damaged = 0;
	stats->missing = r->scan.missing;
	stats->torn = r->scan.torn;
	compact_count_entries(r, from);
	return rc;
}

/* A followed trace has no more blocks for now.  1: look again; -EAGAIN: later; 0: it has ended. */
static int compact_wait(struct compact_reader *r)
{
	bool locked = io_is_locked(r->fd);
	uint32_t nr = r->index.nr;
	int rc;

	/* The lock first: what was written before it was released is found below. */
	r->reader.stats.growing = locked;
	rc = compact_look(r);
	r->reader.stats.growing = true;
	if (rc < 0)
		return rc;
	if (r->index.nr > nr)
		return 1;
	if (locked)
		return -EAGAIN;
	r->reader.stats.growing = false;
	r->phase = COMPACT_DONE;
	return 0;
}

static int compact_next_phase(struct compact_reader *r)
{
	if (r->reader.stats.growing)
		return compact_wait(r);
	r->phase++;
	r->entry = 0;
	return 1;
}

static int compact_next(struct trace_reader *tr, struct trace_item *item, struct err *err)
{
	struct compact_reader *r = compact_reader_of(tr);
	int rc = 1;

	while (rc >= 0 && r->phase != COMPACT_DONE) {
		rc = r->in_events     ? compact_next_event(r, item)
		     : r->in_switches ? compact_next_switch(r, item)
		     : r->in_facts    ? compact_next_fact(r, item)
				      : 0;
		if (rc > 0)
			return 1;
		if (rc == 0 && !r->in_events && !r->in_switches && !r->in_facts)
			rc = compact_next_block(r);
		if (rc == 0)
			rc = compact_next_phase(r);
	}
	if (rc >= 0)
		return 0;
	return rc == -EAGAIN ? rc : compact_cannot_read(r, rc, err);
}

/* ---- open and close ------------------------------------------------------------------ */

static void compact_reader_close(struct trace_reader *tr)
{
	struct compact_reader *r = compact_reader_of(tr);

	if (r->fd >= 0)
		close(r->fd);
	compact_index_release(&r->index);
	compact_unpacker_release(&r->unpacker);
	compact_decoder_free(r->decoder);
	compact_switch_decoder_release(&r->switches);
	sidecar_forget(&r->lines);
	free(r->path);
	free(r);
}

/* The rest of the block, up to a gap, by the kinds of its events. */
static void compact_count_kinds(struct trace_reader *tr, uint64_t *counts)
{
	struct compact_reader *r = compact_reader_of(tr);
	struct compact_decoder *d = r->decoder;

	for (; r->in_events && d->is_light && d->at < d->items; d->at++) {
		unsigned kind = d->shape[d->at] & 15;

		if (kind == COMPACT_KIND_GAP)
			return;
		if (kind < NR_TRACE_KINDS)
			counts[kind]++;
		else
			r->reader.stats.ct.unknown++;
	}
}

static const struct trace_reader_ops compact_reader_ops = { .next = compact_next,
							    .close = compact_reader_close,
							    .count_kinds = compact_count_kinds };

bool compact_begins(const void *begin, size_t size)
{
	return size >= COMPACT_MAGIC_SIZE && !memcmp(begin, COMPACT_MAGIC, COMPACT_MAGIC_SIZE);
}

static int compact_check_head(struct compact_reader *r, struct err *err)
{
	struct compact_file_head head;
	int rc = compact_read_at(r->fd, &head, sizeof(head), 0);

	if (rc < 0)
		return compact_cannot_read(r, rc, err);
	if (rc == 0 || head.crc != compact_crc(&head, offsetof(struct compact_file_head, crc)))
		return err_set(err, -EPROTO, "cannot read '%s': its first %zu bytes are damaged",
			       r->path, sizeof(head));
	if (head.version == COMPACT_VERSION && head.size == sizeof(head))
		return 0;
	err_set(err, -EPROTO, "cannot read '%s': it has format version %u, this tool knows %u",
		r->path, head.version, COMPACT_VERSION);
	err_hint(err, "use the corotracer that wrote it");
	return err->code;
}

/* The index, or else the heads of all blocks. */
static int compact_find_blocks(struct compact_reader *r, struct err *err)
{
	int rc = compact_file_size(r);

	r->scan.at = sizeof(struct compact_file_head);
	if (rc == 0 && !r->reader.stats.growing)
		rc = compact_index_read(&r->index, &r->unpacker, r->fd, r->size);
	r->reader.stats.ct.has_index = rc > 0;
	if (rc > 0)
		compact_count_entries(r, 0);
	else if (rc == 0)
		rc = compact_look(r);
	r->reader.stats.total = r->size;
	return rc < 0 ? compact_cannot_read(r, rc, err) : 0;
}

static int compact_reader_begin(struct compact_reader *r, const char *path, bool may_grow,
				struct err *err)
{
	r->path = strdup(path);
	r->decoder = compact_decoder_new();
	if (!r->path || !r->decoder)
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	r->reader.stats.growing = may_grow && io_is_locked(r->fd);
	if (compact_check_head(r, err) < 0)
		return err->code;
	return compact_find_blocks(r, err);
}

struct trace_reader *compact_reader_open(const char *path, bool may_grow, struct err *err)
{
	struct compact_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(err, -ENOMEM, "no memory to read '%s'", path);
		return NULL;
	}
	r->fd = -1;
	r->reader.ops = &compact_reader_ops;
	r->reader.stats.format = TRACE_FORMAT_CT;
	if (compact_reader_begin(r, path, may_grow, err) == 0)
		return &r->reader;
	compact_reader_close(&r->reader);
	return NULL;
}
