/* SPDX-License-Identifier: MIT */
/*
 * wait_graph.h - who waits for what at one time of a trace.
 *
 * The time is the end of the range of the filter, or of the trace.  A node is a coroutine that is
 * suspended and not woken, or that one of those waits for; or a resource with its holders.
 * Coroutines of one kind that wait at one site for the same thing, and for which no other waits,
 * are one node.
 *
 * The filter selects waits: those that began in the range, at its sites; with a coroutine, those of
 * that coroutine, of the ones that it waits for, and so on, and those of the ones that wait for it.
 */
#ifndef EXPORT_WAIT_GRAPH_H
#define EXPORT_WAIT_GRAPH_H

#include "base/output_file.h"
#include "export/window.h"
#include "trace/coro_table.h"
#include "trace/item.h"
#include "trace/trace_filter.h"

#define WAIT_GRAPH_HOLDERS 16 /* of one resource that are drawn */

struct graph_coro {
	struct coro_state life;
	char *name;
	uint64_t resource, addr;
	uint32_t site, birth_site, pid;
	uint8_t reason;
	bool has_resource, is_woken;
	/* When the graph is drawn: */
	bool is_waiting; /* its wait is in the graph */
	bool is_needed;  /* another one waits for it */
	bool is_chosen;  /* connected to the coroutine of the filter */
	bool is_cyclic;
	uint32_t visit;
	uint32_t node; /* 1 + slot of the first coroutine of its node; 0: not drawn */
	uint32_t alike;
};

/* A lock, and the coroutines that hold it. */
struct graph_lock {
	uint32_t pid, nr_holders;
	uint64_t resource;
	uint64_t holders[WAIT_GRAPH_HOLDERS];
};

struct wait_graph {
	struct trace_filter filter;
	struct window window;
	struct coro_table coros; /* entries: struct graph_coro */
	struct graph_lock *locks;
	size_t nr_locks, locks_room;
	struct u64map lock_numbers; /* pid and resource to 1 + number */
	struct strtab places;       /* "file:line function" */
	struct u64map sites;        /* id to 1 + number in places */
	char *program;
	uint64_t start_ts, last_ts;
	uint64_t impossible;
};

void wait_graph_init(struct wait_graph *g, const struct trace_filter *filter);

/* Returns 0 or -ENOMEM.  The items come in the order of trace/trace_reader.h, without a filter. */
int wait_graph_add(struct wait_graph *g, const struct trace_item *item);

/* After the last item.  Returns 0 or -ENOMEM. */
int wait_graph_finish(struct wait_graph *g);

/* Writes the graph in the language of Graphviz.  Returns 0 or -ENOMEM. */
int wait_graph_put(struct wait_graph *g, struct outfile *out);

void wait_graph_release(struct wait_graph *g);

/* ---- for graphviz.c ------------------------------------------------------ */

/* The lock that the coroutine waits for; NULL: it waits for something else, or no coroutine holds
 * it. */
const struct graph_lock *wait_graph_lock(const struct wait_graph *g, const struct graph_coro *co);

/* The coroutine that it joins; NULL: none, or it is not in the trace. */
struct graph_coro *wait_graph_child(const struct wait_graph *g, const struct graph_coro *co);

static inline struct graph_coro *wait_graph_find(const struct wait_graph *g, uint64_t id)
{
	return coro_table_find(&g->coros, id, TRACE_NO_STATION);
}

#endif
