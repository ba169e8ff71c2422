/* SPDX-License-Identifier: MIT */
/*
 * otlp_waits.h - choose the slow waits of a trace, and write them as spans.
 *
 * Of each site the slowest waits are kept, up to a number; how many there were is counted and
 * written with each of them, so that counts can be scaled.  Memory grows with the sites, and with
 * the coroutines that exist at one time.
 */
#ifndef OTLP_OTLP_WAITS_H
#define OTLP_OTLP_WAITS_H

#include "base/err.h"
#include "base/strtab.h"
#include "otlp/otlp_batch.h"
#include "trace/item.h"
#include "trace/trace_context.h"
#include "trace/wait_pairs.h"

struct otlp_wait {
	struct wait_pair pair;
	struct trace_context context; /* all zero: none */
	uint32_t name;                /* 1 + number in the names; 0: none */
	uint64_t ns;                  /* up to the end of the trace if it is open */
};

struct otlp_site {
	uint32_t id;
	uint32_t line;
	char *file, *function;  /* may be NULL */
	uint64_t waits, slow;   /* all, and those of at least the limit */
	struct otlp_wait *list; /* the slowest ones, as a heap: the fastest of them first */
	size_t nr;
};

struct otlp_waits {
	size_t per_site;
	uint64_t least_ns;
	struct u64map numbers; /* site id to 1 + index */
	struct otlp_site *sites;
	size_t nr_sites, room;
	struct wait_pairs pairs;
	struct context_table contexts;
	struct strtab names;
	struct u64map name_of; /* probe_id to 1 + number in the names */
	uint64_t start_ts, start_realtime, last_ts, run;
	uint64_t waits, slow, chosen;
	int error;
};

/* @per_site: at least 1. */
void otlp_waits_init(struct otlp_waits *w, size_t per_site, uint64_t least_ns);
void otlp_waits_release(struct otlp_waits *w);

/* For each item of the trace, in their order.  0 or -ENOMEM. */
int otlp_waits_add(struct otlp_waits *w, const struct trace_item *item);

/* After the last item.  0 or -ENOMEM. */
int otlp_waits_finish(struct otlp_waits *w);

/* The time @ts of the trace, since 1970. */
uint64_t otlp_waits_time(const struct otlp_waits *w, uint64_t ts);

/* Write one of the chosen waits. */
void otlp_waits_put(const struct otlp_waits *w, const struct otlp_site *site,
		    const struct otlp_wait *wait, struct otlp_batch *b);

#endif
