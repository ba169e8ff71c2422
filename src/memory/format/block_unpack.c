/* SPDX-License-Identifier: MIT */
/*
 * block_unpack.c - decode the payload of a block record by record.
 *
 * docs/memory-format.md, "The payload of a block", defines the coding; the order of the steps
 * after an access matters.
 */
#include "memory/format/block_unpack.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "memory/format/unpack_stream.h"

bool unpack_set_error(struct unpack *u, const char *what)
{
	u->fault = what;
	return false;
}

/* Other than damage, the next reading may not have it. */
bool unpack_no_memory(struct unpack *u, const char *what)
{
	memory_shortage_note();
	return unpack_set_error(u, what);
}

static struct unpack_stream unpack_cut(const uint8_t **at, uint32_t size)
{
	struct unpack_stream s = { *at, *at + size };

	*at += size;
	return s;
}

static bool room_for_sites(struct unpack *u, uint32_t nr)
{
	struct unpack_site *more;

	if (nr > CRAY_SITES_MAX)
		return unpack_set_error(u, "more sites than a block can have");
	u->nr_sites_max = nr;
	if (nr <= u->site_size)
		return true;
	more = realloc(u->site, nr * sizeof(*more));
	if (!more)
		return unpack_no_memory(u, "no memory for its sites");
	u->site = more;
	u->site_size = nr;
	return true;
}

bool unpack_begin(struct unpack *u, const struct cray_block *head, bool many_threads,
		  const uint8_t *plain, size_t size)
{
	const uint8_t *at = plain + sizeof(struct cray_streams);
	struct cray_streams s;

	u->fault = NULL;
	u->nr_symbols = u->nr_sites = u->nr_records = u->nr_accesses = 0;
	u->lost = u->left_out = 0;
	u->names.nr = u->coroutines.nr = u->calls.nr = 0;
	u->here = NULL;
	if (u->fast)
		u->fast->is_begun = false;
	u->before = u->event_pc = u->event_address = u->heap_pc = u->heap_address = 0;
	u->head = *head;
	u->order = head->order_first;
	u->time_ns = head->time_first_ns;
	u->thread = head->thread;
	u->weight_256 = head->weight_256 ? head->weight_256 : 256;
	u->many_threads = many_threads;
	u->stands_for = 1;
	if (size < sizeof(s))
		return unpack_set_error(u, "a block without its table of streams");
	memcpy(&s, plain, sizeof(s));
	size -= sizeof(s);
	if ((uint64_t)s.symbols + s.sites + s.own + s.near + s.events != size)
		return unpack_set_error(u, "streams that are not as long as the block");
	if (head->nr_records > CRAY_RECORDS_MAX)
		return unpack_set_error(u, "more records than a block can have");
	u->nr_symbols = s.nr_symbols;
	u->symbols = unpack_cut(&at, s.symbols);
	u->sites = unpack_cut(&at, s.sites);
	u->own = unpack_cut(&at, s.own);
	u->near = unpack_cut(&at, s.near);
	u->events = unpack_cut(&at, s.events);
	return room_for_sites(u, s.nr_sites);
}

void unpack_release(struct unpack *u)
{
	free(u->site);
	free(u->fast);
	free(u->names.name);
	free(u->coroutines.name);
	free(u->calls.call);
	memset(u, 0, sizeof(*u));
}

/* ---- accesses ------------------------------------------------------------ */

static struct unpack_site *new_site(struct unpack *u)
{
	struct unpack_site *site;
	uint64_t pc;
	uint8_t how[3];

	if (u->nr_sites == u->nr_sites_max) {
		unpack_set_error(u, "a site that it does not have");
		return NULL;
	}
	if (!unpack_svarint(&u->sites, &pc) || !unpack_byte(&u->sites, &how[0]) ||
	    !unpack_byte(&u->sites, &how[1]) || !unpack_byte(&u->sites, &how[2])) {
		unpack_set_error(u, "too few bytes of sites");
		return NULL;
	}
	if ((how[0] & CRAY_KIND) > CRAY_WRITE) {
		unpack_set_error(u, "a site that neither reads nor writes");
		return NULL;
	}
	site = &u->site[u->nr_sites];
	site->pc = pc + (u->nr_sites ? site[-1].pc : 0);
	site->tag = how[0];
	site->is_write = how[0] & CRAY_KIND;
	site->size = how[1];
	site->attr = how[2];
	site->more = how[1] - 1u;
	site->key = MEM_KEY_OF(0) | site->is_write;
	site->count = how[1] | (uint64_t)site->is_write << 32;
	site->last = site->from[UNPACK_STRIDE] = site->from[UNPACK_DISTANCE] = 0;
	site->next = site;
	u->nr_sites++;
	return site;
}

struct unpack_site *unpack_site_of(struct unpack *u, uint64_t who)
{
	if (who == CRAY_NEXT) {
		if (!u->here)
			unpack_set_error(u, "a site after none");
		return u->here ? u->here->next : NULL;
	}
	if (who - CRAY_SITE < u->nr_sites)
		return &u->site[who - CRAY_SITE];
	if (who - CRAY_SITE == u->nr_sites)
		return new_site(u);
	unpack_set_error(u, "a site that it does not have");
	return NULL;
}

static bool access_at(struct unpack *u, uint64_t v, struct mem_record *out)
{
	struct unpack_site *site = unpack_site_of(u, v >> 2);
	uint64_t address, delta;

	if (!site)
		return false;
	switch (v & 3) {
	case CRAY_STRIDE:
		address = site->last + unpack_step_of(site, UNPACK_STRIDE);
		break;
	case CRAY_FOLLOW:
		address = u->before + unpack_step_of(site, UNPACK_DISTANCE);
		break;
	case CRAY_OWN:
		if (!unpack_svarint(&u->own, &delta))
			return unpack_set_error(u, "too few addresses");
		address = site->last + delta;
		break;
	default:
		if (!unpack_svarint(&u->near, &delta))
			return unpack_set_error(u, "too few addresses");
		address = u->before + delta;
		break;
	}
	if (u->here)
		u->here->next = site;
	u->here = site;
	site->from[UNPACK_STRIDE] = site->last;
	site->from[UNPACK_DISTANCE] = u->before;
	site->last = u->before = address;
	u->nr_records++;
	u->nr_accesses++;
	out->kind = site->tag & CRAY_KIND;
	out->tag = site->tag;
	out->size = site->size;
	out->attr = site->attr;
	out->thread = u->thread;
	out->address = address;
	out->pc = site->pc;
	out->order = u->order;
	out->time_ns = u->time_ns;
	out->weight_256 = u->weight_256;
	return true;
}

/* ---- events -------------------------------------------------------------- */

static bool unpack_keep_name(struct unpack *u, struct unpack_names *names, const char *text,
			     uint32_t size)
{
	if (names->nr == names->room) {
		size_t more = names->room ? names->room * 2 : 64;
		struct unpack_name *name = realloc(names->name, more * sizeof(*name));

		if (!name)
			return unpack_no_memory(u, "no memory for its names");
		names->name = name;
		names->room = more;
	}
	names->name[names->nr++] = (struct unpack_name){ text, size };
	return true;
}

static bool unpack_name_of(struct unpack *u, struct unpack_names *names, struct unpack_stream *body,
			   struct mem_record *out)
{
	uint64_t number, size;

	if (!unpack_varint(body, &number))
		return unpack_set_error(u, "an event without its name");
	if (number > names->nr)
		return unpack_set_error(u, "a name that it does not have");
	if (number) {
		out->name = names->name[number - 1].text;
		out->name_size = names->name[number - 1].size;
		return true;
	}
	if (!unpack_varint(body, &size) || size > CRAY_NAME_MAX ||
	    size > (size_t)(body->end - body->at))
		return unpack_set_error(u, "a name longer than its event");
	out->name = (const char *)body->at;
	out->name_size = (uint32_t)size;
	body->at += size;
	return unpack_keep_name(u, names, out->name, out->name_size);
}

static bool thread_event(struct unpack *u, struct unpack_stream *body)
{
	uint64_t number;

	if (!unpack_varint(body, &number) || number > UINT32_MAX)
		return unpack_set_error(u, "a change to no thread");
	if (!u->many_threads)
		return unpack_set_error(u, "a change of threads in a block of one");
	u->thread = (uint32_t)number;
	return true;
}

static bool stamp_event(struct unpack *u, struct unpack_stream *body)
{
	uint64_t order, time_ns;

	if (!unpack_varint(body, &order) || !unpack_varint(body, &time_ns))
		return unpack_set_error(u, "a stamp without its numbers");
	if (u->order + order < order || u->time_ns + time_ns < time_ns)
		return unpack_set_error(u, "a stamp out of all bounds");
	u->order += order;
	u->time_ns += time_ns;
	return true;
}

static bool unpack_annotation(struct unpack *u, struct unpack_stream *body, struct mem_record *out)
{
	uint64_t order, pc, address;

	if (!unpack_byte(body, &out->tag) || !unpack_varint(body, &order) ||
	    !unpack_svarint(body, &pc) || !unpack_svarint(body, &address))
		return unpack_set_error(u, "an annotation without its address");
	if ((out->tag & CRAY_KIND) != out->kind)
		return unpack_set_error(u, "an annotation with the tag of something else");
	if (u->order + order < order)
		return unpack_set_error(u, "a ticket out of all bounds");
	out->has_ticket = order != 0;
	out->order = u->order += order;
	out->pc = u->event_pc += pc;
	out->address = u->event_address += address;
	u->nr_records++;
	return true;
}

static bool unpack_add_event(struct unpack *u, struct unpack_stream *body, struct mem_record *out)
{
	uint64_t size, count;

	out->kind = MEM_ADD;
	if (!unpack_annotation(u, body, out))
		return false;
	if (!unpack_varint(body, &size) || !unpack_varint(body, &count) || size > UINT32_MAX ||
	    count > UINT32_MAX)
		return unpack_set_error(u, "an annotation without its size");
	out->elem_size = (uint32_t)size;
	out->elem_count = (uint32_t)count;
	return unpack_name_of(u, &u->names, body, out);
}

static bool gap_event(struct unpack *u, struct unpack_stream *body, struct mem_record *out)
{
	uint64_t cause, count, *sum;

	out->kind = MEM_GAP;
	if (!unpack_varint(body, &cause) || !unpack_varint(body, &count) || cause > UINT32_MAX)
		return unpack_set_error(u, "a gap without its count");
	sum = cause < CRAY_GAP_SAMPLED ? &u->lost : &u->left_out;
	if (*sum + count < count)
		return unpack_set_error(u, "a gap out of all bounds");
	*sum += count;
	out->cause = (uint32_t)cause;
	out->value = count;
	return true;
}

static bool coroutine_event(struct unpack *u, struct unpack_stream *body, struct mem_record *out)
{
	uint64_t how;

	out->kind = MEM_CORO;
	if (!unpack_varint(body, &out->value) || !unpack_varint(body, &how) || how > UINT32_MAX)
		return unpack_set_error(u, "a coroutine without its id");
	out->cause = (uint32_t)how;
	return unpack_name_of(u, &u->coroutines, body, out);
}

static bool heap_event(struct unpack *u, struct unpack_stream *body, struct mem_record *out,
		       uint8_t kind)
{
	uint64_t pc, address, stack = 0;
	uint8_t ticket;

	out->kind = kind;
	if (!unpack_byte(body, &ticket) || !unpack_svarint(body, &pc) ||
	    !unpack_svarint(body, &address))
		return unpack_set_error(u, "an allocation without its address");
	if (kind == MEM_ALLOC && (!unpack_varint(body, &out->value) ||
				  !unpack_varint(body, &stack) || stack > UINT32_MAX))
		return unpack_set_error(u, "an allocation without its size");
	out->has_ticket = ticket & 1;
	out->pc = u->heap_pc += pc;
	out->address = u->heap_address += address;
	out->stack = (uint32_t)stack;
	return true;
}

/* Add a call that the block stores for the first time. */
static bool unpack_new_call(struct unpack *u, struct unpack_stream *body)
{
	struct unpack_calls *calls = &u->calls;
	struct unpack_call last = { 0, 0 }, *call;
	uint64_t function, site;

	if (!unpack_svarint(body, &function) || !unpack_svarint(body, &site))
		return unpack_set_error(u, "a call without its address");
	if (calls->nr == calls->room) {
		size_t more = calls->room ? calls->room * 2 : 256;

		call = realloc(calls->call, more * sizeof(*call));
		if (!call)
			return unpack_no_memory(u, "no memory for its calls");
		calls->call = call;
		calls->room = more;
	}
	if (calls->nr)
		last = calls->call[calls->nr - 1];
	calls->call[calls->nr++] = (struct unpack_call){ last.function + function,
							 last.site + site };
	return true;
}

static bool enter_event(struct unpack *u, struct unpack_stream *body, struct mem_record *out)
{
	uint64_t v;

	out->kind = MEM_ENTER;
	if (!unpack_varint(body, &v) || v >> 1 > u->calls.nr)
		return unpack_set_error(u, "a call that it does not have");
	if (!(v >> 1) && !unpack_new_call(u, body))
		return false;
	out->cause = v & 1;
	out->pc = u->calls.call[v >> 1 ? (v >> 1) - 1 : u->calls.nr - 1].function;
	out->value = u->calls.call[v >> 1 ? (v >> 1) - 1 : u->calls.nr - 1].site;
	return true;
}

static bool exit_event(struct unpack *u, struct unpack_stream *body, struct mem_record *out)
{
	out->kind = MEM_EXIT;
	out->value = 1;
	return body->at == body->end || unpack_varint(body, &out->value) ||
	       unpack_set_error(u, "an exit without its count");
}

bool unpack_event(struct unpack *u, struct mem_record *out, bool *is_record)
{
	struct unpack_stream body;
	uint64_t size;
	uint8_t code;

	if (!unpack_byte(&u->events, &code) || !unpack_varint(&u->events, &size) ||
	    size > (size_t)(u->events.end - u->events.at))
		return unpack_set_error(u, "too few bytes of events");
	body.at = u->events.at;
	body.end = u->events.at += size;
	memset(out, 0, sizeof(*out));
	out->thread = u->thread;
	out->order = u->order;
	out->time_ns = u->time_ns;
	out->weight_256 = u->weight_256;
	*is_record = true;
	switch (code) {
	case CRAY_EV_ADD:
		return unpack_add_event(u, &body, out);
	case CRAY_EV_REMOVE:
		out->kind = MEM_REMOVE;
		return unpack_annotation(u, &body, out);
	case CRAY_EV_MARK:
		out->kind = MEM_MARK;
		return unpack_varint(&body, &out->value)
			       ? unpack_name_of(u, &u->names, &body, out)
			       : unpack_set_error(u, "a mark without its value");
	case CRAY_EV_GAP:
		return gap_event(u, &body, out);
	case CRAY_EV_CORO:
		return coroutine_event(u, &body, out);
	case CRAY_EV_ALLOC:
		return heap_event(u, &body, out, MEM_ALLOC);
	case CRAY_EV_FREE:
		return heap_event(u, &body, out, MEM_FREE);
	case CRAY_EV_ENTER:
		return enter_event(u, &body, out);
	case CRAY_EV_EXIT:
		return exit_event(u, &body, out);
	}
	*is_record = false;
	if (code == CRAY_EV_THREAD)
		return thread_event(u, &body);
	if (code == CRAY_EV_STAMP)
		return stamp_event(u, &body);
	return true; /* unknown event of a later version */
}

bool unpack_peek_time(const struct unpack *u, uint64_t *time_ns)
{
	struct unpack_stream s = u->symbols;
	uint64_t v, size, order, time;
	uint8_t code;

	if (u->fault || !u->nr_symbols || unpack_peek_access(&s, &v) || s.at == u->symbols.at)
		return false;
	s = u->events;
	if (!unpack_byte(&s, &code) || code != CRAY_EV_STAMP || !unpack_varint(&s, &size) ||
	    size > (size_t)(s.end - s.at) || !unpack_varint(&s, &order) ||
	    !unpack_varint(&s, &time))
		return false;
	*time_ns = u->time_ns + time;
	return true;
}

/* ---- without decoding --------------------------------------------------- */

void unpack_peek_begin(const struct unpack *u, struct unpack_peek *p)
{
	*p = (struct unpack_peek){ .sites = u->sites, .events = u->events };
}

bool unpack_peek_site(struct unpack_peek *p, uint64_t *pc)
{
	uint64_t delta;

	if (!unpack_svarint(&p->sites, &delta) || p->sites.end - p->sites.at < 3)
		return false;
	p->sites.at += 3;
	*pc = p->pc += delta;
	return true;
}

bool unpack_peek_allocation(struct unpack_peek *p, struct mem_record *out)
{
	struct unpack_stream body;
	uint64_t size, pc, address, stack;
	uint8_t code, ticket;

	while (unpack_byte(&p->events, &code) && unpack_varint(&p->events, &size) &&
	       size <= (size_t)(p->events.end - p->events.at)) {
		body.at = p->events.at;
		body.end = p->events.at += size;
		if (code != CRAY_EV_ALLOC && code != CRAY_EV_FREE)
			continue;
		if (!unpack_byte(&body, &ticket) || !unpack_svarint(&body, &pc) ||
		    !unpack_svarint(&body, &address))
			return false;
		p->heap_pc += pc;
		if (code == CRAY_EV_FREE)
			continue;
		*out = (struct mem_record){ .kind = MEM_ALLOC, .pc = p->heap_pc };
		if (!unpack_varint(&body, &out->value) || !unpack_varint(&body, &stack))
			return false;
		out->stack = (uint32_t)stack;
		return true;
	}
	return false;
}

/* ---- the block ----------------------------------------------------------- */

/* True if addresses were decoded ahead and not used. */
static bool unpack_has_rest(const struct unpack_fast *f)
{
	return f && f->is_begun && (f->own.at < f->own.nr || f->near.at < f->near.nr);
}

static bool block_end(struct unpack *u)
{
	const struct cray_block *h = &u->head;

	if (u->symbols.at != u->symbols.end || u->sites.at != u->sites.end ||
	    u->own.at != u->own.end || u->near.at != u->near.end || u->events.at != u->events.end ||
	    unpack_has_rest(u->fast))
		return unpack_set_error(u, "streams that are not used up at its end");
	if (h->nr_records != u->nr_records || h->nr_accesses != u->nr_accesses)
		return unpack_set_error(u, "another number of records than its head says");
	if (h->lost != u->lost || h->left_out != u->left_out)
		return unpack_set_error(u, "other gaps than its head says");
	if (h->order_last < u->order || h->time_last_ns < u->time_ns)
		return unpack_set_error(u, "stamps later than its head says");
	return false;
}

/* Consume the next symbol.  False: too few bytes. */
static inline bool next_symbol(struct unpack *u, uint64_t *v)
{
	u->nr_symbols--;
	if (u->symbols.at < u->symbols.end && *u->symbols.at < 0x80)
		*v = *u->symbols.at++;
	else if (!unpack_varint(&u->symbols, v))
		return unpack_set_error(u, "too few symbols");
	return true;
}

bool unpack_next(struct unpack *u, struct mem_record *out)
{
	bool is_record;
	uint64_t v;

	if (u->fault)
		return false;
	out->has_ticket = false;
	while (u->nr_symbols > 0) {
		if (!next_symbol(u, &v))
			return false;
		if (v >> 2 != CRAY_EVENT)
			return access_at(u, v, out);
		if (!unpack_event(u, out, &is_record))
			return false;
		if (is_record)
			return true;
	}
	return block_end(u);
}

enum unpack_step unpack_step(struct unpack *u, struct mem_record *out)
{
	bool is_record;
	uint64_t v;

	if (!u->stands_for) {
		if (u->fault || u->events.at == u->events.end || !unpack_event(u, out, &is_record))
			return UNPACK_END;
		return is_record ? UNPACK_RECORD : UNPACK_STATE;
	}
	if (u->fault || !u->nr_symbols) {
		if (!u->fault)
			block_end(u);
		return UNPACK_END;
	}
	if (!next_symbol(u, &v) || !unpack_event(u, out, &is_record))
		return UNPACK_END;
	return is_record ? UNPACK_RECORD : UNPACK_STATE;
}
