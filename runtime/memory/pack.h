/* SPDX-License-Identifier: MIT */
/*
 * pack.h - encode records into blocks of the container.
 *
 * Used by all writers of a trace: the background thread in the traced program, the collector and
 * `mem convert`.  Plain C: no libc except memcpy and memset (which compilers may call), no
 * allocation, no globals, no locks.  A packer belongs to one thread of the trace and is used by
 * one thread at a time.
 *
 *	struct cray_pack *p = ...;              sizeof(*p) bytes; a few MB, touched as needed
 *
 *	cray_pack_init(p);
 *	cray_pack_begin(p, number, order, time_ns);
 *	for (;;) {
 *		n = cray_pack_room(p);          accesses that fit for sure
 *		if (n < what you have) { finish, write, begin again }
 *		cray_pack_access(p, pc, address, CRAY_HOW(tag, size, attributes));
 *		if (!cray_pack_add(p, ...))     events say so when they do not fit
 *			...
 *	}
 *	size = cray_pack_finish(p, plain, &head);
 *	compress plain, or not;
 *	cray_chunk_seal(&crc, &chunk, CRAY_BLOCK, codec, number, &head, sizeof(head), stored,
 *			stored_size, plain_size);
 *	write chunk, head, stored.
 *
 * Orders and times must not decrease; if they do, the highest value is kept.
 */
#ifndef RUNTIME_MEMORY_PACK_H
#define RUNTIME_MEMORY_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container.h"
#include "crc32c.h"

/*
 * Limits of a block: large enough for zstd to find repetitions, small enough to hold one per
 * thread.
 */
#define CRAY_PACK_RECORDS   65536u
#define CRAY_PACK_SITES     4094u  /* symbols of at most two bytes */
#define CRAY_PACK_HASH      16384u /* hash table of sites; a power of two */
#define CRAY_PACK_UNIT_BITS 11u    /* size of the table of sites by the unit of an access */
#define CRAY_PACK_EVENTS    (256u << 10)
#define CRAY_PACK_CALLS     4096u /* calls in the table; other calls are stored again each time */
#define CRAY_PACK_NAMES     1024u /* names in the table; other names are stored again each time */

/* Size of the output buffer of cray_pack_finish(). */
#define CRAY_PACK_PLAIN_MAX \
	(32u + CRAY_PACK_RECORDS * (3u + 10u) + CRAY_PACK_SITES * 13u + CRAY_PACK_EVENTS)

/* The identity of a site, in addition to its code address. */
#define CRAY_HOW(tag, size, attr) ((uint32_t)(tag) | (uint32_t)(size) << 8 | (uint32_t)(attr) << 16)

/* 64 bytes, so that a number is quickly a pointer. */
struct cray_pack_site {
	uint64_t unit; /* word 1 of the unit that decode_accesses.c found it for; 0: none */
	uint64_t last; /* address of its last access */
	union {
		struct {
			uint64_t stride;   /* distance of its last two accesses */
			uint64_t distance; /* from the access of any site before its last one */
		};
		uint64_t steps[2]; /* both, for one vector */
	};
	struct cray_pack_site *next; /* the site that followed it the last time */
	uint64_t pc;
	uint32_t how;
	uint32_t number;
	uint32_t symbol; /* bytes of its symbol, and from bit 16 on their number - 1 */
	uint32_t reserved;
};

struct cray_pack_name {
	uint32_t at, size; /* in events[] */
	uint32_t hash, number;
};

/* The names of a block; those of coroutines have numbers of their own. */
struct cray_pack_names {
	uint32_t nr, known; /* stored; of these, in the table */
	struct cray_pack_name entry[CRAY_PACK_NAMES];
};

/* The functions entered in a block, with their call sites. */
struct cray_pack_call {
	uint64_t function, site;
	uint32_t number; /* 0: free */
};

struct cray_pack_calls {
	uint32_t nr, known;      /* stored; of these, in the table */
	uint64_t function, site; /* of the last one stored */
	struct cray_pack_call entry[CRAY_PACK_CALLS];
};

struct cray_pack {
	/* Fields that every access uses. */
	struct cray_pack_site *here;
	uint64_t before;
	uint8_t *symbol, *own, *near; /* position of the next byte */
	uint32_t nr_accesses;
	uint32_t nr_sites;

	struct cray_block head;
	uint64_t order, time_ns, event_pc, event_address, heap_pc, heap_address;
	uint32_t nr_events, nr_annotations, events_used, sites_used;
	uint64_t thread_seq;

	struct cray_pack_site none; /* `here` before the first access */
	struct cray_pack_site sites[CRAY_PACK_SITES];
	uint16_t hash[CRAY_PACK_HASH];               /* site + 1; 0: free */
	uint32_t by_unit[1u << CRAY_PACK_UNIT_BITS]; /* offset of a site from p->sites */
	struct cray_pack_names names, coroutines;
	struct cray_pack_calls calls;
	uint8_t events[CRAY_PACK_EVENTS];
	uint8_t site_bytes[CRAY_PACK_SITES * 13u];
	uint8_t symbols[CRAY_PACK_RECORDS * 3u];
	uint8_t owns[CRAY_PACK_RECORDS * 10u];
	uint8_t nears[CRAY_PACK_RECORDS * 10u];
};

/* Initialize @p once; touches only a small part of it. */
void cray_pack_init(struct cray_pack *p);

/* Start a new block.  @order and @time_ns are the stamps of its start. */
void cray_pack_begin(struct cray_pack *p, uint32_t thread, uint64_t order, uint64_t time_ns);

/* Each access of the whole block stands for @weight_256 / 256 accesses; 256 after begin. */
static inline void cray_pack_weight(struct cray_pack *p, uint32_t weight_256)
{
	p->head.weight_256 = weight_256;
}

/* Number of accesses that fit in any case. */
static inline uint32_t cray_pack_room(const struct cray_pack *p)
{
	uint32_t records = CRAY_PACK_RECORDS - p->nr_accesses - p->nr_events;
	uint32_t sites = CRAY_PACK_SITES - p->nr_sites;

	return records < sites ? records : sites;
}

static inline bool cray_pack_empty(const struct cray_pack *p)
{
	return p->nr_accesses + p->nr_events == 0;
}

/*
 * For cray_pack_at(): find or create the site of (@pc, @how); *@who is the site part of its
 * symbol.
 */
struct cray_pack_site *cray_pack_find(struct cray_pack *p, uint64_t pc, uint32_t how,
				      uint32_t *who);
/* For by_unit[]. */
static inline struct cray_pack_site *cray_pack_site_at(struct cray_pack *p, uint32_t offset)
{
	return (struct cray_pack_site *)((uint8_t *)p->sites + offset);
}

static inline uint32_t cray_pack_site_offset(const struct cray_pack *p,
					     const struct cray_pack_site *site)
{
	return (uint32_t)((const uint8_t *)site - (const uint8_t *)p->sites);
}

/* Create another site with the same code address and kind. */
struct cray_pack_site *cray_pack_another(struct cray_pack *p, uint64_t pc, uint32_t how,
					 uint32_t *who);

static inline uint64_t cray_zigzag(uint64_t v)
{
	return v << 1 ^ (0 - (v >> 63));
}

static inline uint8_t *cray_varint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

/*
 * Code an access of @site, whose symbol part is @who.  An address that is not predicted is
 * appended to @own_at or @near_at.  All packers share this function: the decoder knows only one
 * coding.
 */
static inline __attribute__((always_inline)) uint32_t
cray_pack_code(struct cray_pack_site *site, uint32_t who, uint64_t address, uint64_t before,
	       uint8_t **own_at, uint8_t **near_at)
{
	uint64_t own = address - site->last, near = address - before;
	uint32_t v = who << 2;

	if (own != site->stride) {
		uint64_t zown = cray_zigzag(own), znear = cray_zigzag(near);

		if (near == site->distance) {
			v |= CRAY_FOLLOW;
		} else if (zown <= znear) {
			v |= CRAY_OWN;
			*own_at = cray_varint(*own_at, zown);
		} else {
			v |= CRAY_NEAR;
			*near_at = cray_varint(*near_at, znear);
		}
	}
	site->stride = own;
	site->distance = near;
	site->last = address;
	return v;
}

/* Add an access of @site; there must be room. */
static inline void cray_pack_at(struct cray_pack *p, struct cray_pack_site *site, uint32_t who,
				uint64_t address)
{
	uint32_t v = cray_pack_code(site, who, address, p->before, &p->own, &p->near);

	p->symbol = cray_varint(p->symbol, v);
	p->here->next = site;
	p->here = site;
	p->before = address;
	p->nr_accesses++;
}

/* Add an access; there must be room. */
static inline void cray_pack_access(struct cray_pack *p, uint64_t pc, uint64_t address,
				    uint32_t how)
{
	struct cray_pack_site *site = p->here->next;
	uint32_t who = CRAY_NEXT;

	if (site->pc != pc || site->how != how)
		site = cray_pack_find(p, pc, how, &who);
	cray_pack_at(p, site, who, address);
}

/* Add an event.  False: no room, finish the block first.  Every event fits into an empty block. */
bool cray_pack_thread(struct cray_pack *p, uint32_t number);
bool cray_pack_stamp(struct cray_pack *p, uint64_t order, uint64_t time_ns);
bool cray_pack_gap(struct cray_pack *p, uint32_t cause, uint64_t count);
/* @ticket 0: none.  Names are cut to CRAY_NAME_MAX. */
bool cray_pack_add(struct cray_pack *p, uint32_t tag, uint64_t ticket, uint64_t pc,
		   uint64_t address, uint32_t elem_size, uint32_t elem_count, const char *name,
		   size_t name_size);
bool cray_pack_remove(struct cray_pack *p, uint32_t tag, uint64_t ticket, uint64_t pc,
		      uint64_t address);
bool cray_pack_mark(struct cray_pack *p, uint64_t value, const char *text, size_t text_size);
/* @how and @text as in CRAY_EV_CORO. */
bool cray_pack_coroutine(struct cray_pack *p, uint64_t id, uint32_t how, const char *text,
			 size_t text_size);

/* @ticket 0: none.  @stack: a number of CRAY_STACKS; 0: unknown. */
bool cray_pack_alloc(struct cray_pack *p, uint64_t ticket, uint64_t pc, uint64_t address,
		     uint64_t size, uint32_t stack);
bool cray_pack_free(struct cray_pack *p, uint64_t ticket, uint64_t pc, uint64_t address);

/*
 * The thread enters @function (an address in it), which returns to @site.  @repeated: it did so
 * before.
 */
bool cray_pack_enter(struct cray_pack *p, uint64_t function, uint64_t site, bool repeated);
/* The thread leaves @nr functions; 0: the functions that it is in follow as repeated entries. */
bool cray_pack_exit(struct cray_pack *p, uint64_t nr);
/* True if @nr of these events fit in any case. */
bool cray_pack_fits_calls(const struct cray_pack *p, uint32_t nr);

/*
 * Write the block's uncompressed payload to @plain, which has CRAY_PACK_PLAIN_MAX bytes, and its
 * head to @head.  Returns the bytes written.  The next call must be cray_pack_begin().
 */
size_t cray_pack_finish(struct cray_pack *p, uint8_t *plain, struct cray_block *head);

/* Fill in a chunk header, a file header or a foot, with checksums. */
void cray_chunk_seal(const struct cray_crc *crc, struct cray_chunk *chunk, uint16_t type,
		     uint8_t codec, uint32_t number, const void *head, size_t head_size,
		     const void *stored, size_t stored_size, size_t plain_size);
void cray_file_seal(const struct cray_crc *crc, struct cray_file *file, uint16_t codec,
		    uint64_t flags, uint64_t start_ns, uint64_t start_wall_ns);
void cray_foot_seal(const struct cray_crc *crc, struct cray_foot *foot, uint64_t index,
		    uint64_t end);

#endif
