/* SPDX-License-Identifier: MIT */
/*
 * detect_deadlock.c - coroutines wait for each other in a ring.
 *
 * The program declares some edges: a join waits for the child that it names, a waiter of a lock for
 * the coroutines that recorded acquiring it.  A ring of these is proven.  Others follow from what
 * happened before: a sender of a full channel waits for the coroutines that received from it.  A
 * ring with such an edge is a suspicion: a coroutine that was not seen yet may receive, too.
 *
 * At the end of the trace every coroutine is assumed to be stuck; then those are removed of which
 * one that they wait for may go on, until nothing changes.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"

#define RING_MAX    64
#define RING_TOLD   6   /* coroutines of the ring that the message lists */
#define RING_PASSES 200 /* more: the waits are too entangled, nothing is claimed */

enum ring_verdict {
	RING_FREE,
	RING_INFERRED, /* stuck, if the inferred edges are all there are */
	RING_PROVEN,
};

/* The coroutines that @co waits for. */
struct ring_needs {
	uint64_t ids[MODEL_HOLDERS];
	unsigned nr;
	bool any; /* any one of them can end the wait; otherwise each of them is needed */
};

static void ring_needs_holders(struct ring_needs *n, const struct resource_use *use, bool any)
{
	uint32_t i;

	n->any = any;
	if (any && use->more_holders)
		return;
	for (i = 0; i < use->nr_holders; i++)
		n->ids[n->nr++] = use->holders[i].id;
}

/* Everybody who is known to use the other side of the channel, if that is all. */
static void ring_needs_partners(const struct model *m, const struct coro *co, struct ring_needs *n)
{
	const struct resource *r = tables_resource(m, co);
	const struct resource_use *use = tables_partners(m, co);
	unsigned i;

	if (!use || use->more_partners || r->woken_outside)
		return;
	n->any = true;
	for (i = 0; i < use->nr_partners; i++) {
		if (!model_has_ended(m, use->partners[i].id))
			n->ids[n->nr++] = use->partners[i].id;
	}
}

static struct ring_needs ring_needs_of(const struct model *m, const struct coro *co, bool inferred)
{
	struct ring_needs n = { .nr = 0 };
	const struct resource_use *use = tables_holders(m, co);

	if (!co->has_resource)
		return n;
	switch (co->reason) {
	case TRACE_REASON_JOIN:
		if (model_child(m, co))
			n.ids[n.nr++] = co->resource;
		break;
	case TRACE_REASON_MUTEX:
		if (use)
			ring_needs_holders(&n, use, false);
		break;
	case TRACE_REASON_SEMAPHORE:
		/*
		 * Holders that all wait for this semaphore have kept permits (abandoned-lock),
		 * unless it is usual to take another one while holding one.
		 */
		if (use && (3 * use->taken_again >= use->taken_nr ||
			    tables_kept(m, co, use) < use->nr_holders))
			ring_needs_holders(&n, use, true);
		break;
	case TRACE_REASON_CHANNEL_SEND:
	case TRACE_REASON_CHANNEL_RECV:
	case TRACE_REASON_USER:
		if (inferred)
			ring_needs_partners(m, co, &n);
		break;
	default:
		break;
	}
	return n;
}

static const struct coro *ring_stuck(const struct model *m, uint64_t id, unsigned verdict)
{
	const struct coro *co = id ? model_find(m, id) : NULL;

	return co && co->verdict == verdict ? co : NULL;
}

/* The first coroutine that @co waits for and that is stuck, too; @co itself before others. */
static const struct coro *ring_next(const struct model *m, const struct coro *co)
{
	struct ring_needs n = ring_needs_of(m, co, co->verdict == RING_INFERRED);
	const struct coro *next = NULL;
	unsigned i;

	for (i = 0; i < n.nr && !next; i++)
		next = ring_stuck(m, n.ids[i], co->verdict);
	for (i = 0; i < n.nr; i++) {
		if (n.ids[i] == co->probe_id)
			next = co;
	}
	return next;
}

static bool ring_is_stuck(const struct model *m, const struct coro *co, unsigned verdict)
{
	struct ring_needs n = ring_needs_of(m, co, verdict == RING_INFERRED);
	unsigned i, stuck = 0;

	for (i = 0; i < n.nr; i++)
		stuck += ring_stuck(m, n.ids[i], verdict) != NULL;
	return n.any ? n.nr && stuck == n.nr : stuck > 0;
}

/* Mark with @verdict all coroutines that can only go on if others with it do. */
static void ring_find_stuck(struct model *m, enum ring_verdict verdict)
{
	size_t i, nr = 0;
	unsigned pass = 0;
	bool changed = true;

	for (i = 0; i < m->nr_coros; i++) {
		struct coro *co = &m->coros[i];

		if (!co->in_use || co->verdict || co->state != TRACE_STATE_SUSPENDED ||
		    co->woken_since || !ring_needs_of(m, co, verdict == RING_INFERRED).nr)
			continue;
		co->verdict = (uint8_t)verdict;
		nr++;
	}
	/* Children are created after their parents: begin with the children. */
	for (; nr && changed; pass++) {
		changed = false;
		for (i = m->nr_coros; i-- > 0;) {
			struct coro *co = &m->coros[i];

			if (!co->in_use || co->verdict != verdict ||
			    (pass < RING_PASSES && ring_is_stuck(m, co, verdict)))
				continue;
			co->verdict = RING_FREE;
			changed = true;
		}
	}
}

static void deadlock_on_finish(struct analysis *a)
{
	size_t i;

	for (i = 0; i < a->model.nr_coros; i++)
		a->model.coros[i].verdict = RING_FREE;
	ring_find_stuck(&a->model, RING_PROVEN);
	ring_find_stuck(&a->model, RING_INFERRED);
}

/* ---- rings --------------------------------------------------------------- */

struct deadlock_ring {
	const struct coro *members[RING_MAX];
	unsigned nr;    /* 0: longer than RING_MAX */
	bool has_giver; /* a member waits to give something: a ring of receivers is only idle */
};

/* The ring that @co is in, or waits for; it begins with the smallest id. */
static struct deadlock_ring ring_of(const struct model *m, const struct coro *co)
{
	struct deadlock_ring ring = { .nr = 0 };
	const struct coro *at = co, *first;
	unsigned i;

	for (i = 0; at && i < 2 * RING_MAX; i++)
		at = ring_next(m, at);
	first = at;
	for (i = 0; at && i < RING_MAX; i++) {
		if (at->probe_id < first->probe_id)
			first = at;
		at = ring_next(m, at);
	}
	for (at = first; at && ring.nr < RING_MAX; at = ring_next(m, at)) {
		if (ring.nr && at == first)
			return ring;
		ring.has_giver |= at->reason != TRACE_REASON_CHANNEL_RECV &&
				  at->reason != TRACE_REASON_USER;
		ring.members[ring.nr++] = at;
	}
	ring.nr = at == first ? ring.nr : 0;
	return ring;
}

static bool ring_has(const struct deadlock_ring *ring, const struct coro *co)
{
	unsigned i;

	for (i = 0; i < ring->nr; i++) {
		if (ring->members[i] == co)
			return true;
	}
	return false;
}

/* "'left' -> 'right' -> 'left'" */
static void ring_tell(const struct model *m, const struct deadlock_ring *ring, char *buf,
		      size_t size)
{
	size_t used = 0;
	unsigned i;

	for (i = 0; i <= ring->nr && i < RING_TOLD && used < size; i++) {
		const struct coro *at = ring->members[i % ring->nr];
		const char *name = model_name(m, at), *arrow = i ? " -> " : "";

		if (name)
			used += (size_t)snprintf(buf + used, size - used, "%s'%.24s'", arrow, name);
		else
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64, arrow,
						 at->probe_id);
	}
	if (i <= ring->nr && used < size)
		snprintf(buf + used, size - used, " -> ...");
}

/* One line for each member: what it waits for, who holds that, and where it was taken. */
static void ring_add_evidence(const struct model *m, struct finding *f,
			      const struct deadlock_ring *ring)
{
	char who[EVIDENCE_WHO], other[EVIDENCE_WHO], what[EVIDENCE_WHAT];
	unsigned i;
	uint32_t k;

	for (i = 0; i < ring->nr; i++) {
		const struct coro *co = ring->members[i], *next = ring->members[(i + 1) % ring->nr];
		const struct resource_use *use = tables_use(m, co);
		const struct touch *hold = NULL;

		for (k = 0; use && k < use->nr_holders && !hold; k++) {
			if (use->holders[k].id == next->probe_id)
				hold = &use->holders[k];
		}
		evidence_who(m, co->probe_id, co->name, who);
		evidence_who(m, next->probe_id, next->name, other);
		if (hold)
			finding_add_evidence_at(f, EVIDENCE_HOLDER, hold->site, 0,
						"%s waits for %s, which %s took", who,
						evidence_what(co, what), other);
		else if (co->reason == TRACE_REASON_JOIN)
			finding_add_evidence_at(f, EVIDENCE_NOTE, co->site, co->addr,
						"%s waits for the end of %s", who, other);
		else
			finding_add_evidence_at(f, EVIDENCE_RESOURCE, co->site, co->addr,
						"%s waits for %s, which %s used before", who,
						evidence_what(co, what), other);
	}
}

/*
 * @co waits in front of the only member of the ring, for the lock that the member holds and wants
 * again: a writer that waits for a reader, which waits behind the writer.
 */
static bool ring_is_queue(const struct deadlock_ring *ring, const struct coro *co)
{
	const struct coro *only = ring->members[0];

	return ring->nr == 1 && co != only && co->in_use && co->verdict == only->verdict &&
	       co->reason == TRACE_REASON_MUTEX && only->reason == TRACE_REASON_MUTEX &&
	       co->resource == only->resource && co->since_ts < only->since_ts;
}

static void ring_add_queue(struct analysis *a, const struct finding *f,
			   const struct deadlock_ring *ring)
{
	size_t i;

	for (i = 0; i < a->model.nr_coros; i++) {
		if (ring_is_queue(ring, &a->model.coros[i]))
			finding_add_affected(a, f, &a->model.coros[i]);
	}
}

static void deadlock_say_own_end(struct finding *f)
{
	finding_say(f, "it waits for its own end");
	finding_set_hint(f, "Leave it out of the coroutines that it joins.");
}

/* The ring is one coroutine that takes its lock a second time. */
static void deadlock_say_again(struct finding *f, const struct coro *co)
{
	char what[EVIDENCE_WHAT];

	finding_say(f, "it waits for %s, which it holds itself", evidence_what(co, what));
	finding_set_hint(f,
			 "Do not take a lock again while it is held: pass on that it is held, or "
			 "release it first. A second read lock, too, waits behind a writer.");
}

static bool ring_has_chosen(const struct analysis *a, const struct deadlock_ring *ring)
{
	unsigned i;

	for (i = 0; i < ring->nr; i++) {
		if (analysis_chooses(a, ring->members[i]->probe_id))
			return true;
	}
	return false;
}

/* One finding for the whole ring, with its first member. */
static void deadlock_report_ring(struct analysis *a, struct coro *co,
				 const struct deadlock_ring *ring)
{
	const struct model *m = &a->model;
	struct finding f = FINDING_OF(&detector_deadlock, co);
	char text[RING_TOLD * 30 + 16], what[EVIDENCE_WHAT];
	unsigned i;

	f.confidence = co->verdict != RING_PROVEN             ? CONFIDENCE_SUSPECT
		       : co->reason == TRACE_REASON_SEMAPHORE ? CONFIDENCE_STRONG
							      : CONFIDENCE_PROVEN;
	f.size_ns = model_age(m, co);
	f.is_of_chosen = ring_has_chosen(a, ring);
	ring_tell(m, ring, text, sizeof(text));
	if (ring->nr > 1)
		finding_say(&f, "%u wait for each other in a ring: %s", ring->nr, text);
	else if (co->reason == TRACE_REASON_JOIN)
		deadlock_say_own_end(&f);
	else if (co->reason == TRACE_REASON_SEMAPHORE)
		finding_say(&f, "it holds permits of %s and waits for more, as all that hold some",
			    evidence_what(co, what));
	else
		deadlock_say_again(&f, co);
	ring_add_evidence(m, &f, ring);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	finding_report(a, &f);
	for (i = 1; i < ring->nr; i++)
		finding_add_affected(a, &f, ring->members[i]);
	ring_add_queue(a, &f, ring);
}

/* @co is not in the ring, but waits for it. */
static void deadlock_report_follower(struct analysis *a, struct coro *co,
				     const struct deadlock_ring *ring)
{
	const struct model *m = &a->model;
	struct finding f = FINDING_OF(&detector_deadlock, co);
	const struct coro *next = ring_next(m, co);
	char who[EVIDENCE_WHO], what[EVIDENCE_WHAT], text[RING_TOLD * 30 + 16];

	/* The ring is the finding; this is its consequence. */
	f.confidence = CONFIDENCE_INFO;
	f.size_ns = model_age(m, co);
	ring_tell(m, ring, text, sizeof(text));
	finding_say(&f, "it waits (%s) for %s, behind the ring %s", evidence_what(co, what),
		    next ? evidence_who(m, next->probe_id, next->name, who) : "others", text);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	finding_report(a, &f);
}

static void deadlock_on_stuck(struct analysis *a, struct coro *co)
{
	struct deadlock_ring ring;

	if (!co->verdict)
		return;
	ring = ring_of(&a->model, co);
	if (!ring.nr || (co->verdict == RING_INFERRED && !ring.has_giver))
		return;
	if (!ring_has(&ring, co) && !ring_is_queue(&ring, co))
		deadlock_report_follower(a, co, &ring);
	else if (ring.members[0] == co)
		deadlock_report_ring(a, co, &ring);
	co->explained = true;
}

const struct detector detector_deadlock = {
	.name = "deadlock",
	.code = "L8",
	.title = "Deadlock",
	.meaning = "These coroutines wait for each other in a ring; none can go on.",
	.advice = "Take locks in one order everywhere, do not wait for a child that waits for you, "
		  "and do not send while what is sent to you is not received.",
	.is_fault = true,
	.on_stuck = deadlock_on_stuck,
	.on_finish = deadlock_on_finish,
};
