/* SPDX-License-Identifier: MIT */
/*
 * pack.c - encode records into blocks of the container.
 *
 * The access path is inline in the header.  This file has the rare cases: a site that was not
 * predicted, events, the end of a block. docs/memory-format.md, "The payload of a block", defines
 * the coding.
 */
#include "pack.h"

#define GAP_MAX   (UINT64_C(1) << 47) /* accesses per gap: a block's sum stays below 2^64 */
#define EVENT_MAX 128u                /* bytes of an event without its name, including its length */

void cray_pack_init(struct cray_pack *p)
{
	__builtin_memset(p, 0, offsetof(struct cray_pack, sites));
}

void cray_pack_begin(struct cray_pack *p, uint32_t thread, uint64_t order, uint64_t time_ns)
{
	__builtin_memset(&p->head, 0, sizeof(p->head));
	p->head.thread = thread;
	p->head.weight_256 = 256;
	p->head.order_first = p->order = order > p->order ? order : p->order;
	p->head.time_first_ns = p->time_ns = time_ns > p->time_ns ? time_ns : p->time_ns;

	p->none.next = &p->none;
	p->none.how = ~0u; /* matches no access: the first site is never predicted */
	p->here = &p->none;
	p->before = 0;
	p->symbol = p->symbols;
	p->own = p->owns;
	p->near = p->nears;
	p->nr_accesses = p->nr_events = p->nr_annotations = p->nr_sites = 0;
	p->events_used = p->sites_used = 0;
	p->names.nr = p->names.known = p->coroutines.nr = p->coroutines.known = 0;
	p->calls.nr = p->calls.known = 0;
	p->calls.function = p->calls.site = 0;
	p->event_pc = p->event_address = p->heap_pc = p->heap_address = 0;
	p->sites[0].unit = 0; /* of the block before: by_unit[] refers to it */
	__builtin_memset(p->hash, 0, sizeof(p->hash));
	__builtin_memset(p->by_unit, 0, sizeof(p->by_unit));
}

static uint32_t pack_site_hash(uint64_t pc, uint32_t how)
{
	uint64_t h = (pc ^ (uint64_t)how << 40) * UINT64_C(0x9E3779B97F4A7C15);

	return (uint32_t)(h >> 50); /* CRAY_PACK_HASH is 2^14 */
}

/* For struct cray_pack_site: a varint of at most two bytes. */
static uint32_t pack_symbol_bytes(uint32_t v)
{
	return v < 0x80 ? v : (v & 0x7f) | 0x80 | v >> 7 << 8 | 1u << 16;
}

static struct cray_pack_site *pack_site_new(struct cray_pack *p, uint64_t pc, uint32_t how,
					    uint32_t *who)
{
	uint64_t pc_before = p->nr_sites ? p->sites[p->nr_sites - 1].pc : 0;
	struct cray_pack_site *site = &p->sites[p->nr_sites];
	uint8_t *at = p->site_bytes + p->sites_used;

	site->pc = pc;
	site->how = how;
	site->number = p->nr_sites++;
	site->last = site->stride = site->distance = 0;
	site->next = site;
	at = cray_varint(at, cray_zigzag(pc - pc_before));
	*at++ = (uint8_t)how;
	*at++ = (uint8_t)(how >> 8);
	*at++ = (uint8_t)(how >> 16);
	p->sites_used = (uint32_t)(at - p->site_bytes);
	*who = site->number + CRAY_SITE;
	site->unit = 0;
	site->symbol = pack_symbol_bytes(*who << 2);
	return site;
}

struct cray_pack_site *cray_pack_find(struct cray_pack *p, uint64_t pc, uint32_t how, uint32_t *who)
{
	uint32_t i = pack_site_hash(pc, how);
	struct cray_pack_site *site;

	/* The table has four entries per site: the loop always finds a free one. */
	for (; p->hash[i] != 0; i = (i + 1) % CRAY_PACK_HASH) {
		site = &p->sites[p->hash[i] - 1];
		if (site->pc == pc && site->how == how) {
			*who = site->number + CRAY_SITE;
			return site;
		}
	}
	p->hash[i] = (uint16_t)(p->nr_sites + 1);
	return pack_site_new(p, pc, how, who);
}

struct cray_pack_site *cray_pack_another(struct cray_pack *p, uint64_t pc, uint32_t how,
					 uint32_t *who)
{
	return pack_site_new(p, pc, how, who);
}

/* The position for an event with a name of @name_size bytes; NULL: no room. */
static uint8_t *event_begin(struct cray_pack *p, size_t name_size)
{
	if (p->nr_accesses + p->nr_events >= CRAY_PACK_RECORDS ||
	    p->events_used + EVENT_MAX + name_size > CRAY_PACK_EVENTS)
		return NULL;
	return p->events + p->events_used;
}

/* Append an event; its length precedes the body. */
static void event_end(struct cray_pack *p, uint32_t code, const uint8_t *body, size_t size,
		      const char *name, size_t name_size)
{
	uint8_t *at = p->events + p->events_used;

	*at++ = (uint8_t)code;
	at = cray_varint(at, size + name_size);
	__builtin_memcpy(at, body, size);
	at += size;
	if (name_size)
		__builtin_memcpy(at, name, name_size);
	p->events_used = (uint32_t)(at + name_size - p->events);
	p->nr_events++;
	*p->symbol++ = CRAY_EVENT << 2;
}

bool cray_pack_thread(struct cray_pack *p, uint32_t number)
{
	uint8_t body[16];

	if (!event_begin(p, 0))
		return false;
	event_end(p, CRAY_EV_THREAD, body, (size_t)(cray_varint(body, number) - body), NULL, 0);
	return true;
}

bool cray_pack_stamp(struct cray_pack *p, uint64_t order, uint64_t time_ns)
{
	uint64_t order_more = order > p->order ? order - p->order : 0;
	uint64_t time_more = time_ns > p->time_ns ? time_ns - p->time_ns : 0;
	uint8_t body[32], *at;

	if (!order_more && !time_more)
		return true;
	if (!event_begin(p, 0))
		return false;
	at = cray_varint(body, order_more);
	at = cray_varint(at, time_more);
	event_end(p, CRAY_EV_STAMP, body, (size_t)(at - body), NULL, 0);
	p->order += order_more;
	p->time_ns += time_more;
	return true;
}

bool cray_pack_gap(struct cray_pack *p, uint32_t cause, uint64_t count)
{
	uint8_t body[32], *at;

	if (!event_begin(p, 0))
		return false;
	if (count > GAP_MAX)
		count = GAP_MAX;
	at = cray_varint(body, cause);
	at = cray_varint(at, count);
	event_end(p, CRAY_EV_GAP, body, (size_t)(at - body), NULL, 0);
	if (cause < CRAY_GAP_SAMPLED)
		p->head.lost += count;
	else
		p->head.left_out += count;
	return true;
}

static uint32_t name_hash(const char *name, size_t size)
{
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < size; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return h;
}

static bool pack_is_same(const uint8_t *a, const char *b, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (a[i] != (uint8_t)b[i])
			return false;
	}
	return true;
}

/*
 * The number of a name that this block has stored; else 0, and *@slot is a free table entry or
 * NULL.
 */
static uint32_t name_find(const struct cray_pack *p, struct cray_pack_names *names,
			  const char *name, size_t size, uint32_t hash,
			  struct cray_pack_name **slot)
{
	uint32_t i = hash % CRAY_PACK_NAMES;

	*slot = NULL;
	if (!names->known)
		__builtin_memset(names->entry, 0, sizeof(names->entry));
	for (; names->entry[i].number != 0; i = (i + 1) % CRAY_PACK_NAMES) {
		const struct cray_pack_name *n = &names->entry[i];

		if (n->hash == hash && n->size == size &&
		    pack_is_same(p->events + n->at, name, size))
			return n->number;
	}
	if (names->known < CRAY_PACK_NAMES / 2) /* half empty: short probe sequences */
		*slot = &names->entry[i];
	return 0;
}

/* Append an event that ends with a name: the text at its first use, later its number. */
static void event_named(struct cray_pack *p, uint32_t code, uint8_t *body, uint8_t *at,
			const char *name, size_t size)
{
	struct cray_pack_names *names = code == CRAY_EV_CORO ? &p->coroutines : &p->names;
	uint32_t hash = name_hash(name, size), number;
	struct cray_pack_name *slot;

	number = name_find(p, names, name, size, hash, &slot);
	at = cray_varint(at, number);
	if (number) {
		event_end(p, code, body, (size_t)(at - body), NULL, 0);
		return;
	}
	at = cray_varint(at, size);
	event_end(p, code, body, (size_t)(at - body), name, size);
	names->nr++;
	if (slot) {
		slot->at = p->events_used - (uint32_t)size;
		slot->size = (uint32_t)size;
		slot->hash = hash;
		slot->number = names->nr;
		names->known++;
	}
}

/* The common start of ADD and REMOVE. */
static uint8_t *pack_annotation(struct cray_pack *p, uint8_t *at, uint32_t tag, uint64_t ticket,
				uint64_t pc, uint64_t address)
{
	uint64_t more = ticket > p->order ? ticket - p->order : 0;

	*at++ = (uint8_t)tag;
	at = cray_varint(at, more);
	at = cray_varint(at, cray_zigzag(pc - p->event_pc));
	at = cray_varint(at, cray_zigzag(address - p->event_address));
	p->order += more;
	p->event_pc = pc;
	p->event_address = address;
	p->nr_annotations++;
	return at;
}

bool cray_pack_add(struct cray_pack *p, uint32_t tag, uint64_t ticket, uint64_t pc,
		   uint64_t address, uint32_t elem_size, uint32_t elem_count, const char *name,
		   size_t name_size)
{
	uint8_t body[EVENT_MAX], *at;

	if (name_size > CRAY_NAME_MAX)
		name_size = CRAY_NAME_MAX;
	if (!event_begin(p, name_size))
		return false;
	at = pack_annotation(p, body, tag, ticket, pc, address);
	at = cray_varint(at, elem_size);
	at = cray_varint(at, elem_count);
	event_named(p, CRAY_EV_ADD, body, at, name, name_size);
	return true;
}

bool cray_pack_remove(struct cray_pack *p, uint32_t tag, uint64_t ticket, uint64_t pc,
		      uint64_t address)
{
	uint8_t body[EVENT_MAX], *at;

	if (!event_begin(p, 0))
		return false;
	at = pack_annotation(p, body, tag, ticket, pc, address);
	event_end(p, CRAY_EV_REMOVE, body, (size_t)(at - body), NULL, 0);
	return true;
}

bool cray_pack_mark(struct cray_pack *p, uint64_t value, const char *text, size_t text_size)
{
	uint8_t body[EVENT_MAX], *at;

	if (text_size > CRAY_NAME_MAX)
		text_size = CRAY_NAME_MAX;
	if (!event_begin(p, text_size))
		return false;
	at = cray_varint(body, value);
	event_named(p, CRAY_EV_MARK, body, at, text, text_size);
	return true;
}

bool cray_pack_coroutine(struct cray_pack *p, uint64_t id, uint32_t how, const char *text,
			 size_t text_size)
{
	uint8_t body[EVENT_MAX], *at;

	if (text_size > CRAY_NAME_MAX)
		text_size = CRAY_NAME_MAX;
	if (!event_begin(p, text_size))
		return false;
	at = cray_varint(body, id);
	at = cray_varint(at, how);
	event_named(p, CRAY_EV_CORO, body, at, text, text_size);
	return true;
}

/*
 * The common start of ALLOC and FREE; NULL: no room.  The ticket is the order of a stamp in front
 * of the event, so that a reader which skips the event does not miss a change of the order.
 */
static uint8_t *pack_heap(struct cray_pack *p, uint8_t *at, uint64_t ticket, uint64_t pc,
			  uint64_t address)
{
	if (p->nr_accesses + p->nr_events + 2 > CRAY_PACK_RECORDS || !event_begin(p, EVENT_MAX))
		return NULL;
	if (ticket)
		cray_pack_stamp(p, ticket, p->time_ns);
	*at++ = ticket && ticket == p->order;
	at = cray_varint(at, cray_zigzag(pc - p->heap_pc));
	at = cray_varint(at, cray_zigzag(address - p->heap_address));
	p->heap_pc = pc;
	p->heap_address = address;
	return at;
}

bool cray_pack_alloc(struct cray_pack *p, uint64_t ticket, uint64_t pc, uint64_t address,
		     uint64_t size, uint32_t stack)
{
	uint8_t body[EVENT_MAX], *at = pack_heap(p, body, ticket, pc, address);

	if (!at)
		return false;
	at = cray_varint(at, size);
	at = cray_varint(at, stack);
	event_end(p, CRAY_EV_ALLOC, body, (size_t)(at - body), NULL, 0);
	return true;
}

bool cray_pack_free(struct cray_pack *p, uint64_t ticket, uint64_t pc, uint64_t address)
{
	uint8_t body[EVENT_MAX], *at = pack_heap(p, body, ticket, pc, address);

	if (!at)
		return false;
	event_end(p, CRAY_EV_FREE, body, (size_t)(at - body), NULL, 0);
	return true;
}

/* The table entry of a call, or a free one; NULL: it is not there and the table is full. */
static struct cray_pack_call *pack_call_find(struct cray_pack_calls *calls, uint64_t function,
					     uint64_t site)
{
	uint64_t hash = (function * 31 + site) * UINT64_C(0x9E3779B97F4A7C15) >> 40;
	uint32_t i = (uint32_t)hash % CRAY_PACK_CALLS;

	if (!calls->known)
		__builtin_memset(calls->entry, 0, sizeof(calls->entry));
	for (; calls->entry[i].number != 0; i = (i + 1) % CRAY_PACK_CALLS) {
		struct cray_pack_call *c = &calls->entry[i];

		if (c->function == function && c->site == site)
			return c;
	}
	return calls->known < CRAY_PACK_CALLS / 2 ? &calls->entry[i] : NULL;
}

bool cray_pack_enter(struct cray_pack *p, uint64_t function, uint64_t site, bool repeated)
{
	struct cray_pack_calls *calls = &p->calls;
	struct cray_pack_call *c;
	uint8_t body[EVENT_MAX], *at;

	if (!event_begin(p, 0))
		return false;
	c = pack_call_find(calls, function, site);
	at = cray_varint(body, (uint64_t)(c ? c->number : 0) << 1 | repeated);
	if (!c || !c->number) {
		at = cray_varint(at, cray_zigzag(function - calls->function));
		at = cray_varint(at, cray_zigzag(site - calls->site));
		calls->function = function;
		calls->site = site;
		calls->nr++;
		if (c) {
			*c = (struct cray_pack_call){ function, site, calls->nr };
			calls->known++;
		}
	}
	event_end(p, CRAY_EV_ENTER, body, (size_t)(at - body), NULL, 0);
	return true;
}

bool cray_pack_exit(struct cray_pack *p, uint64_t nr)
{
	uint8_t body[16];

	if (!event_begin(p, 0))
		return false;
	event_end(p, CRAY_EV_EXIT, body, nr == 1 ? 0 : (size_t)(cray_varint(body, nr) - body), NULL,
		  0);
	return true;
}

bool cray_pack_fits_calls(const struct cray_pack *p, uint32_t nr)
{
	return p->nr_accesses + p->nr_events + nr <= CRAY_PACK_RECORDS &&
	       p->events_used + nr * 40u + EVENT_MAX <= CRAY_PACK_EVENTS;
}

static uint8_t *pack_stream(uint8_t *out, const uint8_t *from, size_t size)
{
	__builtin_memcpy(out, from, size);
	return out + size;
}

size_t cray_pack_finish(struct cray_pack *p, uint8_t *plain, struct cray_block *head)
{
	struct cray_streams s = { 0 };
	uint8_t *at = plain + sizeof(s);

	s.symbols = (uint32_t)(p->symbol - p->symbols);
	s.sites = p->sites_used;
	s.own = (uint32_t)(p->own - p->owns);
	s.near = (uint32_t)(p->near - p->nears);
	s.events = p->events_used;
	s.nr_sites = p->nr_sites;
	s.nr_symbols = p->nr_accesses + p->nr_events;
	__builtin_memcpy(plain, &s, sizeof(s));
	at = pack_stream(at, p->symbols, s.symbols);
	at = pack_stream(at, p->site_bytes, s.sites);
	at = pack_stream(at, p->owns, s.own);
	at = pack_stream(at, p->nears, s.near);
	at = pack_stream(at, p->events, s.events);

	p->head.nr_accesses = p->nr_accesses;
	p->head.nr_records = p->nr_accesses + p->nr_annotations;
	p->head.order_last = p->order;
	p->head.time_last_ns = p->time_ns;
	p->head.thread_seq = p->thread_seq++;
	*head = p->head;
	return (size_t)(at - plain);
}

void cray_chunk_seal(const struct cray_crc *crc, struct cray_chunk *chunk, uint16_t type,
		     uint8_t codec, uint32_t number, const void *head, size_t head_size,
		     const void *stored, size_t stored_size, size_t plain_size)
{
	__builtin_memset(chunk, 0, sizeof(*chunk));
	__builtin_memcpy(chunk->magic, CRAY_CHUNK_MAGIC, 8);
	chunk->type = type;
	chunk->codec = codec;
	chunk->head = (uint16_t)head_size;
	chunk->stored = (uint32_t)stored_size;
	chunk->plain = (uint32_t)plain_size;
	chunk->number = number;
	chunk->stored_crc = cray_crc32c(crc, 0, stored, stored_size);
	chunk->crc = cray_crc32c(crc, 0, chunk, offsetof(struct cray_chunk, crc));
	chunk->crc = cray_crc32c(crc, chunk->crc, head, head_size);
}

void cray_file_seal(const struct cray_crc *crc, struct cray_file *file, uint16_t codec,
		    uint64_t flags, uint64_t start_ns, uint64_t start_wall_ns)
{
	__builtin_memset(file, 0, sizeof(*file));
	__builtin_memcpy(file->magic, CRAY_MAGIC, 8);
	file->major = CRAY_MAJOR;
	file->minor = CRAY_MINOR;
	file->size = sizeof(*file);
	file->byte_order = CRAY_BYTE_ORDER;
	file->pointer = 8;
	file->codec = codec;
	file->flags = flags;
	file->start_ns = start_ns;
	file->start_wall_ns = start_wall_ns;
	file->crc = cray_crc32c(crc, 0, file, offsetof(struct cray_file, crc));
}

void cray_foot_seal(const struct cray_crc *crc, struct cray_foot *foot, uint64_t index,
		    uint64_t end)
{
	__builtin_memset(foot, 0, sizeof(*foot));
	__builtin_memcpy(foot->magic, CRAY_FOOT_MAGIC, 8);
	foot->index = index;
	foot->end = end;
	foot->crc = cray_crc32c(crc, 0, foot, offsetof(struct cray_foot, crc));
}
