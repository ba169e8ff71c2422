/* SPDX-License-Identifier: MIT */
/* descriptor_looks.c - which coroutines wait for a descriptor that is ready. */
#include "collect/descriptor_looks.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/monotonic.h"
#include "process/descriptors.h"

#define AGAIN_NS  (200 * NS_PER_MS) /* between two looks that confirm each other */
#define REST_NS   (500 * NS_PER_MS) /* between other looks, */
#define PROCESSES 8u                /* looked at in one look, in turn */
#define SHARE     100u              /* and this multiple of the cost of the last one */

/* ---- the waits of one process --------------------------------------------------------- */

/* Coroutines of one process; @runs: one of them runs, so the process is not idle. */
struct looks_process {
	struct descriptor_looks *looks;
	uint32_t pid;
	uint64_t now_ns;
	bool runs;
};

static bool waits_for_descriptor(const struct life *life)
{
	return life->state == CTP_REC_SUSPEND && life->has_resource && life->resource < INT_MAX &&
	       (life->reason == TRACE_REASON_IO_READ || life->reason == TRACE_REASON_IO_WRITE ||
		life->reason == TRACE_REASON_ACCEPT || life->reason == TRACE_REASON_CONNECT);
}

static void looks_add_life(void *ctx, const struct life *life)
{
	struct looks_process *p = ctx;
	struct looks_list *list = &p->looks->list;
	struct sidecar_coroutine described;

	p->runs |= life->state == CTP_REC_RESUME;
	if (!waits_for_descriptor(life))
		return;
	life_describe(life, p->looks->record->clock, &p->looks->record->drain.sites, &described);
	if (!described.since_ts || described.since_ts + TRACE_DESCRIPTOR_AGE_NS > p->now_ns)
		return;
	if (list->nr < LOOKS_WAITS)
		list->at[list->nr++] = *life;
	else
		list->is_full = true;
}

/* ---- one descriptor -------------------------------------------------------------------- */

static bool waits_to_write(const struct life *life)
{
	return life->reason == TRACE_REASON_IO_WRITE || life->reason == TRACE_REASON_CONNECT;
}

/* What the descriptor is ready for, of what the coroutine waits for; NULL: nothing. */
static const char *looks_ready_for(const struct life *life, const struct descriptor_state *s)
{
	if (!s->is_asked)
		return NULL;
	if (waits_to_write(life) ? s->can_write : s->can_read)
		return waits_to_write(life) ? TRACE_DESCRIPTOR_WRITE : TRACE_DESCRIPTOR_READ;
	return s->has_error || s->has_hung_up ? TRACE_DESCRIPTOR_ERROR : NULL;
}

static const char *looks_watch(const struct descriptors *d, const struct life *life,
			       const struct descriptor_state *s)
{
	uint32_t wanted = waits_to_write(life) ? EPOLLOUT : EPOLLIN;
	struct descriptor_watch watch;

	if (!descriptors_find_watch(d, s, &watch))
		return TRACE_WATCH_NONE;
	if (watch.is_disarmed)
		return TRACE_WATCH_DISARMED;
	if (!(watch.events & wanted))
		return TRACE_WATCH_OTHER;
	return watch.is_edge ? TRACE_WATCH_EDGE : TRACE_WATCH_LEVEL;
}

/* The wait of @life as it was at the last look; NULL: it was not ready, or another wait. */
static const struct looked_wait *looks_find(const struct descriptor_looks *l,
					    const struct life *life)
{
	uint32_t i;

	for (i = 0; i < l->nr_ready; i++) {
		const struct looked_wait *w = &l->ready[i];

		if (w->id == life->id && w->events == life->events && w->pid == life->pid)
			return w;
	}
	return NULL;
}

/* Written after the second look, and again each time that the wait has become twice as long. */
static bool is_told_again(const struct looked_wait *w, uint64_t now_ns)
{
	return now_ns - w->from_ns >= AGAIN_NS / 2 &&
	       (!w->told_ns || now_ns - w->from_ns >= 2 * (w->told_ns - w->from_ns));
}

static void looks_tell(const struct descriptor_looks *l, const struct descriptors *d,
		       const struct life *life, const struct descriptor_state *s,
		       struct looked_wait *w, uint64_t now_ns)
{
	w->told_ns = now_ns;
	trace_put_descriptor(l->record->record->writer,
			     &(struct trace_descriptor){
				     .pid = life->pid,
				     .probe_id = life->id,
				     .fd = (uint64_t)w->fd,
				     .from_ts = w->from_ns,
				     .to_ts = now_ns,
				     .unread = s->unread,
				     .kind = descriptor_kind_name(s->kind),
				     .ready = looks_ready_for(life, s),
				     .watch = looks_watch(d, life, s),
			     });
}

/* Look at what @life waits for.  Adds it to @ready if that is ready. */
static bool looks_one(struct descriptor_looks *l, const struct descriptors *d,
		      const struct life *life, struct looked_wait *ready, uint64_t now_ns)
{
	const struct looked_wait *before = looks_find(l, life);
	struct descriptor_state state;
	int rc = descriptors_look(d, (int)life->resource, &state);

	l->is_denied |= rc == -EPERM || rc == -ENOSYS;
	if (rc < 0 || !looks_ready_for(life, &state))
		return false;
	*ready = before ? *before
			: (struct looked_wait){
				  .id = life->id,
				  .events = life->events,
				  .pid = life->pid,
				  .fd = (int)life->resource,
				  .from_ns = now_ns,
			  };
	return true;
}

/* ---- all waits of one process ----------------------------------------------------------- */

/* Every long wait of the process was looked at: those that were not ready are idle. */
static void looks_tell_all(const struct descriptor_looks *l, uint32_t pid, uint64_t now_ns)
{
	if (!l->list.is_full)
		trace_put_descriptor(l->record->record->writer,
				     &(struct trace_descriptor){
					     .pid = pid, .from_ts = now_ns, .to_ts = now_ns });
}

static void looks_confirm(struct descriptor_looks *l, const struct descriptors *d,
			  const struct looks_process *p, struct looked_wait *ready, uint32_t nr)
{
	struct descriptor_state state;
	bool is_new = false;
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		if (!is_told_again(&ready[i], p->now_ns)) {
			l->is_due_again |= !ready[i].told_ns;
			continue;
		}
		for (k = 0; k < l->list.nr && l->list.at[k].id != ready[i].id; k++)
			;
		if (k == l->list.nr || descriptors_look(d, ready[i].fd, &state) < 0 ||
		    !looks_ready_for(&l->list.at[k], &state))
			continue;
		is_new = true;
		looks_tell(l, d, &l->list.at[k], &state, &ready[i], p->now_ns);
	}
	if (is_new)
		looks_tell_all(l, p->pid, p->now_ns);
}

/* True if the coroutines of the list are as they were when it was made. */
static bool looks_unchanged(const struct descriptor_looks *l)
{
	struct life now;
	uint32_t i;

	for (i = 0; i < l->list.nr; i++) {
		const struct life *then = &l->list.at[i];

		if (!life_read(l->record->lanes, then->number, &now) || now.id != then->id ||
		    now.events != then->events)
			return false;
	}
	return true;
}

/* Look at the waits of process p->pid; adds those that are ready to @ready.  Their number. */
static uint32_t looks_process(struct looks_process *p, struct looked_wait *ready, uint32_t room)
{
	struct descriptor_looks *l = p->looks;
	struct err ignored = { 0 };
	struct descriptors d;
	uint32_t i, nr = 0;

	l->list.nr = 0;
	l->list.is_full = false;
	lives_each(l->record->lanes, p->pid, looks_add_life, p);
	if (p->runs || !l->list.nr || descriptors_open(&d, (pid_t)p->pid, &ignored) < 0)
		return 0;
	if (descriptors_are_quiet(&d) && descriptors_has_loop(&d)) {
		for (i = 0; i < l->list.nr && nr < room && !l->is_denied; i++)
			nr += looks_one(l, &d, &l->list.at[i], &ready[nr], p->now_ns);
		/* What ran meanwhile may be about to serve them. */
		if (nr && (!descriptors_are_quiet(&d) || !looks_unchanged(l)))
			nr = 0;
		looks_confirm(l, &d, p, ready, nr);
	}
	descriptors_close(&d);
	return nr;
}

/* ---- all of it -------------------------------------------------------------------------- */

void looks_open(struct descriptor_looks *l, const struct lane_record *record,
		const struct endpoint *endpoint)
{
	*l = (struct descriptor_looks){ .record = record, .endpoint = endpoint };
}

static bool looks_make_room(struct descriptor_looks *l)
{
	if (!l->list.at)
		l->list.at = calloc(LOOKS_WAITS, sizeof(*l->list.at));
	if (!l->ready)
		l->ready = calloc((size_t)2 * LOOKS_READY, sizeof(*l->ready));
	return l->list.at && l->ready;
}

/* What the last look found of process @pid, which is not looked at this time. */
static uint32_t looks_keep(const struct descriptor_looks *l, uint32_t pid,
			   struct looked_wait *ready, uint32_t room)
{
	uint32_t i, nr = 0;

	for (i = 0; i < l->nr_ready && nr < room; i++) {
		if (l->ready[i].pid == pid)
			ready[nr++] = l->ready[i];
	}
	return nr;
}

/* Look at some processes; fills @ready.  The number of waits in it. */
static uint32_t looks_processes(struct descriptor_looks *l, struct looked_wait *ready,
				uint64_t now_ns)
{
	uint32_t i, at, nr = 0, looked = 0, nr_peers = l->endpoint->nr_peers, turn = l->turn;

	for (i = 0; i < nr_peers; i++) {
		at = (turn + i) % nr_peers;
		if (l->endpoint->peers[at].hung_up_ns)
			continue;
		if (looked == PROCESSES) {
			nr += looks_keep(l, l->endpoint->peers[at].pid, ready + nr,
					 LOOKS_READY - nr);
			continue;
		}
		looked++;
		l->turn = at + 1;
		nr += looks_process(&(struct looks_process){ l, l->endpoint->peers[at].pid, now_ns,
							     false },
				    ready + nr, LOOKS_READY - nr);
	}
	return nr;
}

void looks_take(struct descriptor_looks *l, uint64_t now_ns)
{
	struct looked_wait *ready;
	uint64_t cost;
	uint32_t nr;

	if (now_ns < l->next_ns || l->is_denied || !l->record->lanes->ext || !looks_make_room(l))
		return;
	/* The second half of the table: the first one is what the last look found. */
	ready = l->ready + LOOKS_READY;
	l->is_due_again = false;
	nr = looks_processes(l, ready, now_ns);
	memcpy(l->ready, ready, nr * sizeof(*ready));
	l->nr_ready = nr;
	cost = clock_now_ns() - now_ns;
	l->next_ns = now_ns + (l->is_due_again ? AGAIN_NS : REST_NS);
	l->least_ns = now_ns + SHARE * cost;
	if (l->next_ns < l->least_ns)
		l->next_ns = l->least_ns;
}

void looks_before_sleep(struct descriptor_looks *l)
{
	if (!l->is_due_again)
		l->next_ns = l->least_ns;
}

uint64_t looks_wait(const struct descriptor_looks *l, uint64_t now_ns, uint64_t ns)
{
	uint64_t due;

	if (!l->is_due_again || l->is_denied)
		return ns;
	due = l->next_ns > now_ns ? l->next_ns - now_ns : NS_PER_MS;
	return due < ns ? due : ns;
}

void looks_close(struct descriptor_looks *l)
{
	free(l->list.at);
	free(l->ready);
	*l = (struct descriptor_looks){ 0 };
}
