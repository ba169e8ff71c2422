/* SPDX-License-Identifier: MIT */
/* graphviz.c - draw the wait graph of a trace in the language of Graphviz. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "export/sink.h"
#include "export/timeline_tracks.h"
#include "export/viewer.h"
#include "export/wait_graph.h"

#define DOT_TEXT 400

struct dot {
	struct wait_graph *graph;
	struct outfile *out;
	struct strtab groups;    /* coroutines that are one node */
	struct u64map first_of;  /* group to 1 + slot of its first coroutine */
	struct strtab resources; /* that are drawn */
	bool no_memory;
};

/* ---- what is in the graph ----------------------------------------------------- */

static void dot_choose_waits(struct wait_graph *g)
{
	const struct trace_filter *f = &g->filter;
	size_t i;

	for (i = 0; i < g->coros.room; i++) {
		struct graph_coro *co = coro_table_at(&g->coros, i);

		if (!co)
			continue;
		co->is_waiting = co->life.state == TRACE_STATE_SUSPENDED && !co->is_woken &&
				 co->life.since_ts >= trace_filter_from(f) &&
				 (!f->kinds || f->kinds >> TRACE_SUSPEND & 1) &&
				 (!f->site || trace_filter_has_site(f, co->site));
	}
}

/* Calls @fn for each coroutine that @co waits for. */
static void dot_each_needed(struct wait_graph *g, const struct graph_coro *co,
			    void (*fn)(struct graph_coro *needed, void *arg), void *arg)
{
	const struct graph_lock *lock = co->is_waiting ? wait_graph_lock(g, co) : NULL;
	struct graph_coro *other = co->is_waiting ? wait_graph_child(g, co) : NULL;
	uint32_t i;

	if (other)
		fn(other, arg);
	for (i = 0; lock && i < lock->nr_holders; i++) {
		other = wait_graph_find(g, lock->holders[i]);
		if (other && other != co)
			fn(other, arg);
	}
}

static void dot_mark_chosen(struct graph_coro *needed, void *arg)
{
	bool *is_more = arg;

	*is_more |= !needed->is_chosen;
	needed->is_chosen = true;
}

static void dot_mark_if_chosen(struct graph_coro *needed, void *arg)
{
	*(bool *)arg |= needed->is_chosen;
}

static void dot_mark_needed(struct graph_coro *needed, void *arg)
{
	(void)arg;
	needed->is_needed = true;
}

/* Leaves only the waits that are connected to the coroutine of the filter. */
static void dot_choose_coroutine(struct wait_graph *g)
{
	struct graph_coro *co = wait_graph_find(g, g->filter.coroutine);
	bool is_more = co != NULL;
	size_t i;

	if (co)
		co->is_chosen = true;
	for (i = 0; i < g->coros.room; i++) { /* those that wait for it */
		struct graph_coro *waiter = coro_table_at(&g->coros, i);
		bool waits_for_it = false;

		if (!waiter || waiter == co)
			continue;
		dot_each_needed(g, waiter, dot_mark_if_chosen, &waits_for_it);
		waiter->visit = waits_for_it;
	}
	while (is_more) {
		is_more = false;
		for (i = 0; i < g->coros.room; i++) {
			co = coro_table_at(&g->coros, i);
			if (co && co->is_chosen)
				dot_each_needed(g, co, dot_mark_chosen, &is_more);
		}
	}
	for (i = 0; i < g->coros.room; i++) {
		co = coro_table_at(&g->coros, i);
		if (!co)
			continue;
		co->is_waiting &= co->is_chosen || co->visit;
		co->visit = 0;
	}
}

/* The only coroutine that it waits for; NULL: none, or several. */
static struct graph_coro *dot_next(const struct wait_graph *g, const struct graph_coro *co)
{
	const struct graph_lock *lock = co->is_waiting ? wait_graph_lock(g, co) : NULL;

	if (!co->is_waiting)
		return NULL;
	if (lock)
		return lock->nr_holders == 1 ? wait_graph_find(g, lock->holders[0]) : NULL;
	return wait_graph_child(g, co);
}

static void dot_find_cycles(struct wait_graph *g)
{
	uint32_t visit = 0;
	size_t i;

	for (i = 0; i < g->coros.room; i++) {
		struct graph_coro *co = coro_table_at(&g->coros, i), *at;

		if (!co || co->visit)
			continue;
		visit++;
		for (at = co; at && !at->visit; at = dot_next(g, at))
			at->visit = visit;
		if (!at || at->visit != visit)
			continue;
		for (; !at->is_cyclic; at = dot_next(g, at))
			at->is_cyclic = true;
	}
}

/* ---- text ------------------------------------------------------------------------ */

static void dot_put(struct dot *d, const char *text)
{
	outfile_put(d->out, text, strlen(text));
}

/* Names are untrusted. */
static void dot_put_text(struct dot *d, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		uint32_t cp;
		size_t size = utf8_next(text, left, &cp);

		if (cp == UTF8_BAD || text_is_unsafe(cp))
			dot_put(d, "\xef\xbf\xbd");
		else if (cp == '"' || cp == '\\')
			dot_put(d, cp == '"' ? "\\\"" : "\\\\");
		else
			outfile_put(d->out, text, size);
		text += size;
		left -= size;
	}
}

static const char *dot_site(const struct dot *d, uint32_t site)
{
	uint64_t number;

	if (!site || !u64map_get(&d->graph->sites, site, &number))
		return NULL;
	return strtab_text(&d->graph->places, number - 1);
}

/* "worker" of "worker 7"; the place of its creation if it has no name. */
static const char *dot_kind(const struct dot *d, const struct graph_coro *co, char buf[DOT_TEXT])
{
	size_t size = co->name ? tracks_kind_size(co->name, strlen(co->name)) : 0;
	const char *site = dot_site(d, co->birth_site);

	if (size)
		snprintf(buf, DOT_TEXT, "%.*s", (int)(size < DOT_TEXT ? size : DOT_TEXT - 1),
			 co->name);
	else
		snprintf(buf, DOT_TEXT, "%s", site ? site : "coroutine");
	return buf;
}

/* What it waits for, as one word: the same for all that wait for the same thing. */
static bool dot_resource(const struct graph_coro *co, char *buf, size_t size)
{
	const char *what = NULL;

	switch ((enum trace_reason)co->reason) {
	case TRACE_REASON_IO_READ:
	case TRACE_REASON_IO_WRITE:
	case TRACE_REASON_ACCEPT:
	case TRACE_REASON_CONNECT:
		snprintf(buf, size, "descriptor %" PRIu64, co->resource);
		return co->has_resource;
	case TRACE_REASON_MUTEX:
		what = "mutex";
		break;
	case TRACE_REASON_SEMAPHORE:
		what = "semaphore";
		break;
	case TRACE_REASON_CHANNEL_SEND:
	case TRACE_REASON_CHANNEL_RECV:
		what = "channel";
		break;
	case TRACE_REASON_SIGNAL:
	case TRACE_REASON_USER:
		what = "resource";
		break;
	default:
		return false;
	}
	snprintf(buf, size, "%s 0x%" PRIx64, what, co->resource);
	return co->has_resource;
}

/* ---- nodes ------------------------------------------------------------------------- */

/* Puts the coroutine into the node of those like it. */
static void dot_group(struct dot *d, struct graph_coro *co)
{
	const struct graph_coro *child = wait_graph_child(d->graph, co);
	size_t slot = coro_table_slot(&d->graph->coros, co);
	char kind[DOT_TEXT], resource[64] = "", *key;
	struct graph_coro *first;
	uint64_t *known;
	int64_t group;

	co->node = (uint32_t)slot + 1;
	co->alike = 1;
	if (co->is_needed || !co->is_waiting)
		return;
	if (child)
		snprintf(resource, sizeof(resource), "child %zu",
			 coro_table_slot(&d->graph->coros, child));
	else
		dot_resource(co, resource, sizeof(resource));
	if (asprintf(&key, "%s|%" PRIu32 "|%u|%s|%" PRIx64 "|%" PRIu32, dot_kind(d, co, kind),
		     co->site, co->reason, resource, co->site ? 0 : co->addr, co->pid) < 0) {
		d->no_memory = true;
		return;
	}
	group = strtab_intern(&d->groups, key);
	free(key);
	known = group < 0 ? NULL : u64map_at(&d->first_of, (uint64_t)group);
	d->no_memory |= !known;
	if (known && !*known)
		*known = slot + 1;
	if (!known || *known == slot + 1)
		return;
	first = coro_table_at(&d->graph->coros, *known - 1);
	co->node = (uint32_t)*known;
	first->alike++;
	if (co->life.since_ts < first->life.since_ts)
		first->life.since_ts = co->life.since_ts; /* the longest wait is shown */
}

static void dot_put_coroutine(struct dot *d, const struct graph_coro *co)
{
	const char *site = dot_site(d, co->site), *reason = trace_reason_name(co->reason);
	const char *state = trace_state_name(co->life.state);
	char kind[DOT_TEXT], text[160], time[TEXT_SIZE], count[TEXT_SIZE];
	uint64_t now = d->graph->last_ts, since = co->life.since_ts;

	snprintf(text, sizeof(text), "\tc%" PRIu32 " [label=\"", co->node);
	dot_put(d, text);
	if (co->alike > 1) {
		snprintf(text, sizeof(text), "%s x ", text_count(count, co->alike));
		dot_put(d, text);
		dot_put_text(d, dot_kind(d, co, kind));
	} else {
		dot_put_text(d, co->name && *co->name ? co->name : dot_kind(d, co, kind));
		snprintf(text, sizeof(text), " #%" PRIu64, co->life.probe_id);
		dot_put(d, text);
	}
	snprintf(text, sizeof(text), "\\n%s for %s",
		 co->is_woken ? "ready"
		 : state      ? state
			      : "?",
		 text_duration(time, now > since ? now - since : 0));
	dot_put(d, text);
	if (co->is_waiting && reason && co->reason) {
		dot_put(d, ": ");
		dot_put(d, reason);
	}
	if (co->is_waiting && site) {
		dot_put(d, "\\n");
		dot_put_text(d, site);
	}
	dot_put(d, co->is_cyclic     ? "\", color=red, penwidth=2"
		   : !co->is_waiting ? "\", style=\"rounded,dashed\""
				     : "\"");
	dot_put(d, "];\n");
}

/* ---- edges ------------------------------------------------------------------------- */

static void dot_put_edge(struct dot *d, const char *from, const char *to, const char *label,
			 bool is_cyclic)
{
	dot_put(d, "\t");
	dot_put(d, from);
	dot_put(d, " -> ");
	dot_put(d, to);
	dot_put(d, " [label=\"");
	dot_put(d, label);
	dot_put(d, is_cyclic ? "\", color=red];\n" : "\"];\n");
}

static void dot_put_holders(struct dot *d, const struct graph_coro *co, const char *resource)
{
	const struct graph_lock *lock = wait_graph_lock(d->graph, co);
	char to[32];
	uint32_t i;

	for (i = 0; lock && i < lock->nr_holders; i++) {
		const struct graph_coro *holder = wait_graph_find(d->graph, lock->holders[i]);

		if (!holder || !holder->node)
			continue;
		snprintf(to, sizeof(to), "c%" PRIu32, holder->node);
		dot_put_edge(d, resource, to, "held by", co->is_cyclic && holder->is_cyclic);
	}
}

/* The edges of the first coroutine of a node are those of all. */
static void dot_put_edges(struct dot *d, const struct graph_coro *co)
{
	const struct graph_coro *child = wait_graph_child(d->graph, co);
	char from[32], to[32], what[64], label[160];
	size_t known = d->resources.nr;
	int64_t number;

	snprintf(from, sizeof(from), "c%" PRIu32, co->node);
	if (child && child->node) {
		snprintf(to, sizeof(to), "c%" PRIu32, child->node);
		dot_put_edge(d, from, to, "join", co->is_cyclic && child->is_cyclic);
		return;
	}
	if (!dot_resource(co, what, sizeof(what)))
		return;
	snprintf(label, sizeof(label), "%s of %" PRIu32, what, co->pid);
	number = strtab_intern(&d->resources, label);
	d->no_memory |= number < 0;
	snprintf(to, sizeof(to), "r%" PRId64, number);
	if (d->resources.nr != known) {
		snprintf(label, sizeof(label), "\t%s [shape=ellipse, label=\"%s\"];\n", to, what);
		dot_put(d, label);
		dot_put_holders(d, co, to);
	}
	dot_put_edge(d, from, to, "", co->is_cyclic);
}

static void dot_put_head(struct dot *d)
{
	const struct wait_graph *g = d->graph;
	char time[TEXT_SIZE], text[128];

	dot_put(d, "digraph waits {\n\trankdir=LR;\n\tnode [shape=box, style=rounded, "
		   "fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\"];\n\tlabel=\"");
	if (g->program)
		dot_put_text(d, g->program);
	snprintf(text, sizeof(text), "%swaits at %s%s\";\n", g->program ? ": " : "",
		 text_duration(time, g->last_ts > g->start_ts ? g->last_ts - g->start_ts : 0),
		 g->start_ts ? " of the run" : "");
	dot_put(d, text);
}

int wait_graph_put(struct wait_graph *g, struct outfile *out)
{
	struct dot d = { .graph = g, .out = out };
	struct graph_coro *co;
	size_t i;

	dot_choose_waits(g);
	if (g->filter.has_coroutine)
		dot_choose_coroutine(g);
	for (i = 0; i < g->coros.room; i++) {
		co = coro_table_at(&g->coros, i);
		if (co)
			dot_each_needed(g, co, dot_mark_needed, NULL);
	}
	dot_find_cycles(g);
	dot_put_head(&d);
	for (i = 0; i < g->coros.room; i++) {
		co = coro_table_at(&g->coros, i);
		if (co && (co->is_waiting || co->is_needed))
			dot_group(&d, co);
	}
	for (i = 0; i < g->coros.room; i++) {
		co = coro_table_at(&g->coros, i);
		if (co && co->node == i + 1)
			dot_put_coroutine(&d, co);
	}
	for (i = 0; i < g->coros.room; i++) {
		co = coro_table_at(&g->coros, i);
		if (co && co->node == i + 1 && co->is_waiting)
			dot_put_edges(&d, co);
	}
	dot_put(&d, "}\n");
	strtab_release(&d.groups);
	strtab_release(&d.resources);
	u64map_release(&d.first_of);
	return d.no_memory || g->filter.no_memory ? -ENOMEM : 0;
}

/* ---- the sink ------------------------------------------------------------------------ */

struct graph_sink {
	struct wait_graph graph;
	struct outfile file;
};

static int graph_sink_open(struct sink_job *job, struct err *err)
{
	struct graph_sink *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(err, -ENOMEM, "no memory for an export");
	wait_graph_init(&x->graph, &job->options->filter);
	if (outfile_open(&x->file, job->output, err) < 0) {
		free(x);
		return err->code;
	}
	job->state = x;
	return 0;
}

static int graph_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct graph_sink *x = job->state;

	job->rows += item->type == TRACE_ITEM_EVENT;
	return wait_graph_add(&x->graph, item) < 0 ? viewer_no_memory(err) : 0;
}

static int graph_commit(struct sink_job *job, struct err *err)
{
	struct graph_sink *x = job->state;
	int rc = wait_graph_finish(&x->graph);

	if (rc == 0)
		rc = wait_graph_put(&x->graph, &x->file);
	if (rc < 0)
		return viewer_no_memory(err);
	viewer_note(job, "draw it with dot -Tsvg -O FILE");
	rc = outfile_commit(&x->file, err);
	job->bytes = x->file.bytes;
	job->left_out = x->graph.window.late + x->graph.impossible;
	job->rows -= job->left_out;
	return rc;
}

static void graph_sink_close(struct sink_job *job)
{
	struct graph_sink *x = job->state;

	wait_graph_release(&x->graph);
	outfile_close(&x->file);
	free(x);
}

static void graph_drop(struct sink_job *job)
{
	outfile_drop(&((struct graph_sink *)job->state)->file);
}

const struct sink sink_graphviz = {
	.name = "graphviz",
	.alias = "dot",
	.about = "who waits for what at the end, or at --to, for dot of Graphviz",
	.suffix = ".dot",
	.to_stdout = true,
	.reads_all = true,
	.open = graph_sink_open,
	.item = graph_item,
	.commit = graph_commit,
	.close = graph_sink_close,
	.drop = graph_drop,
};
