/* SPDX-License-Identifier: MIT */
/* descriptor_facts.c - what the kernel said about descriptors that coroutines wait for. */
#include "analyze/descriptor_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index 0: a word that this version does not know. */
static const char *const kinds[] = { "descriptor", "socket", "pipe", "eventfd", "timerfd" };
static const char *const readies[] = { "", TRACE_DESCRIPTOR_READ, TRACE_DESCRIPTOR_WRITE,
				       TRACE_DESCRIPTOR_ERROR };

static const struct {
	const char *word, *sentence;
} watches[] = {
	{ "", NULL },
	{ TRACE_WATCH_NONE, "no epoll set of the process has the descriptor" },
	{ TRACE_WATCH_LEVEL, "epoll reports it at every epoll_wait(): the event is not passed on" },
	{ TRACE_WATCH_EDGE, "it is registered edge-triggered, and the edge was delivered before" },
	{ TRACE_WATCH_DISARMED, "its one-shot registration is disarmed: its event was delivered" },
	{ TRACE_WATCH_OTHER, "it is registered with epoll, but not for what the coroutine waits" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint8_t word_number(const char *const *words, size_t nr, const char *word)
{
	size_t i;

	for (i = 1; word && i < nr; i++) {
		if (!strcmp(words[i], word))
			return (uint8_t)i;
	}
	return 0;
}

static uint8_t watch_number(const char *word)
{
	size_t i;

	for (i = 1; word && i < COUNT(watches); i++) {
		if (!strcmp(watches[i].word, word))
			return (uint8_t)i;
	}
	return 0;
}

static struct descriptor_fact *fact_enter(struct descriptor_facts *d, uint64_t probe_id)
{
	uint64_t *number = u64map_at(&d->numbers, probe_id);

	if (!number)
		return NULL;
	if (!*number && d->nr == d->room) {
		size_t room = d->room ? 2 * d->room : 16;
		struct descriptor_fact *at = realloc(d->at, room * sizeof(*at));

		if (!at)
			return NULL;
		d->at = at;
		d->room = room;
	}
	if (!*number)
		*number = ++d->nr;
	return &d->at[*number - 1];
}

int descriptor_facts_add(struct descriptor_facts *d, const struct trace_descriptor *fact)
{
	struct descriptor_fact *to;
	uint64_t *look;

	if (!fact->probe_id) {
		look = u64map_at(&d->looks, fact->pid);
		if (look && *look < fact->to_ts)
			*look = fact->to_ts;
		return look ? 0 : -ENOMEM;
	}
	if (d->nr >= DESCRIPTOR_FACTS_MAX)
		return 0;
	to = fact_enter(d, fact->probe_id);
	if (!to)
		return -ENOMEM;
	*to = (struct descriptor_fact){
		.probe_id = fact->probe_id,
		.fd = fact->fd,
		.from_ts = fact->from_ts,
		.to_ts = fact->to_ts,
		.unread = fact->unread,
		.kind = word_number(kinds, COUNT(kinds), fact->kind),
		.ready = word_number(readies, COUNT(readies), fact->ready),
		.watch = watch_number(fact->watch),
	};
	return 0;
}

const struct descriptor_fact *descriptor_facts_find(const struct descriptor_facts *d,
						    const struct coro *co)
{
	const struct descriptor_fact *f;
	uint64_t number;

	if (co->state != TRACE_STATE_SUSPENDED || !co->has_resource ||
	    !u64map_get(&d->numbers, co->probe_id, &number) || !number)
		return NULL;
	f = &d->at[number - 1];
	/* The same wait at both looks, and since. */
	return f->fd == co->resource && f->from_ts >= co->since_ts && f->to_ts > f->from_ts ? f
											    : NULL;
}

int descriptor_facts_settle(struct descriptor_facts *d, const struct model *m)
{
	size_t i;

	free(d->places);
	d->places = NULL;
	d->nr_places = d->nr ? m->nr_places : 0;
	if (!d->nr_places)
		return 0;
	d->places = calloc(d->nr_places, sizeof(*d->places));
	if (!d->places)
		return -ENOMEM;
	for (i = 0; i < d->nr; i++) {
		const struct coro *co = model_find(m, d->at[i].probe_id);

		if (co && co->place < d->nr_places && descriptor_facts_find(d, co))
			d->places[co->place] = true;
	}
	return 0;
}

bool descriptor_facts_idle(const struct descriptor_facts *d, const struct coro *co)
{
	uint64_t look;

	return co->place && co->place < d->nr_places && d->places[co->place] && co->has_resource &&
	       u64map_get(&d->looks, co->pid, &look) &&
	       look >= co->since_ts + TRACE_DESCRIPTOR_AGE_NS && !descriptor_facts_find(d, co);
}

const char *descriptor_fact_ready(const struct descriptor_fact *f, char text[DESCRIPTOR_FACT_TEXT])
{
	const char *kind = kinds[f->kind], *ready = readies[f->ready];
	const char *a = kind[0] == 'e' ? "an" : "a";
	bool is_read = !strcmp(ready, TRACE_DESCRIPTOR_READ);

	if (is_read && f->unread && !strcmp(kind, "eventfd"))
		snprintf(text, DESCRIPTOR_FACT_TEXT, "%s %s with the count %" PRIu64, a, kind,
			 f->unread);
	else if (is_read && f->unread && !strcmp(kind, "timerfd"))
		snprintf(text, DESCRIPTOR_FACT_TEXT, "%s %s that has expired", a, kind);
	else if (is_read && f->unread)
		snprintf(text, DESCRIPTOR_FACT_TEXT, "%s %s with %" PRIu64 " unread bytes", a, kind,
			 f->unread);
	else
		snprintf(text, DESCRIPTOR_FACT_TEXT, "%s %s that %s", a, kind,
			 is_read                                  ? "is readable"
			 : !strcmp(ready, TRACE_DESCRIPTOR_WRITE) ? "is writable"
								  : "has an error or was closed");
	return text;
}

const char *descriptor_fact_watch(const struct descriptor_fact *f)
{
	return watches[f->watch].sentence;
}

void descriptor_facts_release(struct descriptor_facts *d)
{
	u64map_release(&d->numbers);
	u64map_release(&d->looks);
	free(d->at);
	free(d->places);
	*d = (struct descriptor_facts){ 0 };
}
