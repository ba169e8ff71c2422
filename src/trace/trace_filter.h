/* SPDX-License-Identifier: MIT */
/*
 * trace_filter.h - return only a part of a trace: a time range, a coroutine, sites, kinds.
 *
 * A reader with a filter (trace_reader_set_filter()) returns the same items whatever the format: it
 * scans JSON lines and CTF, and of a compact trace it reads only the blocks that may have such
 * events.  Facts about the run, its processes and its sites always pass; the totals do, too, so
 * that the verdict on completeness is that of the whole trace.
 */
#ifndef TRACE_TRACE_FILTER_H
#define TRACE_TRACE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/u64map.h"
#include "trace/item.h"
#include "trace/trace_parts.h"

/* All zero: everything passes. */
struct trace_filter {
	/* Nanoseconds since the start of the run; of a trace without one, since its first event. */
	bool has_from, has_to;
	bool has_coroutine;
	/* A hint, which a reader may ignore: of an event only kind, time and thread are wanted. */
	bool is_light;
	unsigned kinds; /* bit k: events of kind k; 0: of all kinds */
	uint64_t from_ns, to_ns;
	uint64_t coroutine;
	const char *site; /* a pattern: see trace_filter_site_matches(); NULL: all sites */
	/*
	 * Coroutines, by id; NULL: all.  What others do with locks and descriptors passes, too, as
	 * done by no coroutine.  Owned by the caller.
	 */
	const struct u64map *chosen;
	/* Of a merged trace: only this part; 0: all.  @parts has it, and is the caller's. */
	uint64_t part;
	struct trace_parts *parts;
	unsigned unwanted_facts; /* a hint: facts of type t are not wanted, by bit t */

	/* Known when the facts have been read. */
	bool has_start;
	bool no_memory;
	uint64_t start_ts;
	uint32_t *sites; /* those that match, in order of their ids */
	size_t nr_sites, room;
};

/* Hints are not a filter: without one, all items are returned as they are. */
static inline bool trace_filter_is_set(const struct trace_filter *f)
{
	return f->has_from || f->has_to || f->has_coroutine || f->kinds || f->site || f->chosen ||
	       f->parts;
}

/* "suspend" or "suspend,wake".  False: unknown. */
bool trace_filter_parse_kinds(const char *text, unsigned *kinds);

/*
 * True if the glob @pattern matches the function of a site, its file, its FILE:LINE, or one of the
 * last two without the directories.
 */
bool trace_filter_site_matches(const char *pattern, const struct trace_site *site);

/* The first time and the last time that pass, once the start is known. */
uint64_t trace_filter_from(const struct trace_filter *f);
uint64_t trace_filter_to(const struct trace_filter *f);

/* True if the site matches the pattern; its fact was noted. */
bool trace_filter_has_site(const struct trace_filter *f, uint32_t id);

/*
 * The times that a fact is about.  False: it is about the whole run, and always passes a filter by
 * time.
 */
bool trace_fact_times(const struct trace_item *fact, uint64_t *from_ts, uint64_t *to_ts);

/* Called with every item that is read, before trace_filter_passes(). */
void trace_filter_note(struct trace_filter *f, const struct trace_item *item);

/* May adapt the item: the run that is shown ends with the range. */
bool trace_filter_passes(const struct trace_filter *f, struct trace_item *item);

void trace_filter_release(struct trace_filter *f);

#endif
