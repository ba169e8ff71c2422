/* SPDX-License-Identifier: MIT */
/*
 * coroutine_stamp.c - coroutines of the program: a stamp in the stream when a thread changes to
 * another one.
 *
 * The SDKs call cacheray_coroutine() (corotracer/memory_hook.h).  A stamp is complete by itself: it
 * has the id, the kind and the site of the coroutine that runs from there on, because the thread
 * that created or suspended the coroutine may be another one, and streams of threads are only
 * loosely ordered.  So the runtime keeps a cell per coroutine, with its kind and the site at which
 * it was suspended last.
 *
 * Nested resumes.  A coroutine that resumes another one is below it on the thread, and runs again
 * when that one suspends.  Cells are linked by `below`.  A cell may be reused meanwhile, if the
 * program destroyed that coroutine on another thread: a link counts only while the cell still has
 * the same id and runs on this thread.
 *
 * Threads.  The calls for one coroutine do not overlap (corotracer.h), and the scheduler's
 * hand-over orders them.  So only the keys of the tables are changed by compare-and-swap.  Nothing
 * is allocated by malloc, which the program may have replaced.
 */
#include "coroutine_stamp.h"

#include <stddef.h>

#include <corotracer/function.h>
#include <corotracer/memory_hook.h>

#include "container.h"
#include "sys.h"
#include "trace_session.h"

#define COROUTINES  (UINT64_C(1) << 19) /* cells; pages in use take memory */
#define SITES       (UINT64_C(1) << 15)
#define KINDS       (UINT64_C(1) << 15)
#define TEXTS       (UINT64_C(8) << 20) /* bytes */
#define PROBES      128u                /* cells to probe */
#define DEEP        64u                 /* nested coroutines to look through */
#define CELL_UNUSED UINT64_C(1)         /* key of a released cell: probing continues past it */

/* Never freed, never changed.  Kinds end with a NUL; sites are file, function, line. */
struct crt_name {
	uint32_t size;
	uint32_t hash;
	char bytes[];
};

struct crt_coroutine {
	uint64_t key; /* [threads] address of the struct ctp_probe; 0: unused */
	uint64_t id;  /* [threads] */
	const struct crt_name *kind;
	const struct crt_name *site;        /* of its last suspend; NULL: none yet */
	const struct crt_name *site_before; /* of the suspend before */
	const struct crt_thread *runner;    /* [threads] the thread that runs it; NULL: none */
	struct crt_coroutine *below;
	uint64_t below_id;
	uint32_t own_id; /* 1: the id is from next_id */
	uint32_t loose;  /* CTP_MEMORY_LOOSE */
};

struct crt_site_cell {
	const void *key; /* [threads] address of the site; NULL: unused */
	const struct crt_name *text;
};

/* One mapping, made on first use. */
struct crt_tables {
	uint64_t used;    /* [threads] bytes of texts */
	uint64_t next_id; /* [threads] */
	struct crt_coroutine coroutines[COROUTINES];
	struct crt_site_cell sites[SITES];
	const struct crt_name *kinds[KINDS]; /* [threads] */
	uint8_t texts[TEXTS];
};

static void *stamp_tables_made; /* [threads] */
static uint32_t stamp_full_said;

static struct crt_tables *stamp_tables(void)
{
	return crt_memory_once(&stamp_tables_made, sizeof(struct crt_tables));
}

/* ---- texts ---------------------------------------------------------------- */

static struct crt_name *stamp_name_new(struct crt_tables *t, const char *bytes, uint32_t size)
{
	uint64_t need = (sizeof(struct crt_name) + size + 7) & ~UINT64_C(7);
	uint64_t at = __atomic_fetch_add(&t->used, need, __ATOMIC_RELAXED);
	struct crt_name *n;

	if (at + need > TEXTS) {
		__atomic_fetch_sub(&t->used, need, __ATOMIC_RELAXED);
		return NULL;
	}
	n = (struct crt_name *)(t->texts + at);
	n->size = size;
	__builtin_memcpy(n->bytes, bytes, size);
	return n;
}

static uint32_t stamp_hash(const char *bytes, uint32_t size)
{
	uint32_t h = 2166136261u, i;

	for (i = 0; i < size; i++)
		h = (h ^ (uint8_t)bytes[i]) * 16777619u;
	return h;
}

static bool stamp_is_name(const struct crt_name *n, uint32_t hash, const char *bytes, uint32_t size)
{
	uint32_t i;

	if (n->hash != hash || n->size != size)
		return false;
	for (i = 0; i < size && n->bytes[i] == bytes[i]; i++)
		;
	return i == size;
}

/* The kind with this text, added if it is new.  NULL: no room. */
static const struct crt_name *stamp_kind(struct crt_tables *t, const char *bytes, uint32_t size)
{
	uint32_t hash = stamp_hash(bytes, size), i;
	struct crt_name *made = NULL;

	for (i = 0; i < PROBES; i++) {
		const struct crt_name **cell = &t->kinds[(hash + i) & (KINDS - 1)];
		/* (mem-I) pairs with the release below: the text is complete. */
		const struct crt_name *have = __atomic_load_n(cell, __ATOMIC_ACQUIRE);

		if (!have) {
			if (!made)
				made = stamp_name_new(t, bytes, size);
			if (!made)
				return NULL;
			made->hash = hash;
			/* (mem-I) pairs with the acquire above. */
			if (__atomic_compare_exchange_n(cell, &have, made, false, __ATOMIC_RELEASE,
							__ATOMIC_ACQUIRE))
				return made;
		}
		if (stamp_is_name(have, hash, bytes, size))
			return have;
	}
	return NULL;
}

static bool stamp_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool stamp_is_word(char c)
{
	return stamp_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (uint8_t)c >= 0x80;
}

/* "worker 12" and "worker-7" are of the same kind, "worker", as in `report`. */
static uint32_t stamp_stem(const char *name)
{
	size_t size = crt_length(name), end = size;

	while (end && stamp_is_digit(name[end - 1]))
		end--;
	if (end != size)
		while (end && !stamp_is_word(name[end - 1]))
			end--;
	return (uint32_t)(end < CRT_KIND_MAX ? end : CRT_KIND_MAX);
}

/* The kind of a coroutine without a name: "@" and the address of its code. */
static const struct crt_name *stamp_code(struct crt_tables *t, uint64_t address)
{
	struct crt_text text;
	char bytes[24];

	crt_text_init(&text, bytes, sizeof(bytes));
	crt_text_add(&text, "@");
	crt_text_hex(&text, address);
	return stamp_kind(t, bytes, (uint32_t)(text.at - bytes) + 1);
}

/* Append at most @max bytes and a NUL. */
static uint32_t stamp_append(char *out, uint32_t at, const char *text, uint32_t max)
{
	size_t size = text ? crt_length(text) : 0;

	if (size > max)
		size = max;
	if (size)
		__builtin_memcpy(out + at, text, size);
	out[at + size] = '\0';
	return at + (uint32_t)size + 1;
}

static const struct crt_name *stamp_site_new(struct crt_tables *t,
					     const struct ctp_memory_site *site, bool cpp)
{
	const char *file = site->file ? site->file : "";
	char bytes[CRT_FILE_MAX + CRT_FUNCTION_MAX + 16], function[CRT_FUNCTION_MAX + 1];
	size_t length = crt_length(file);
	struct crt_text line;
	uint32_t at;

	if (cpp)
		ctp_function_plain(site->function ? site->function : "", function,
				   sizeof(function));
	at = stamp_append(bytes, 0, length > CRT_FILE_MAX ? file + length - CRT_FILE_MAX : file,
			  CRT_FILE_MAX);
	at = stamp_append(bytes, at, cpp ? function : site->function, CRT_FUNCTION_MAX);
	crt_text_init(&line, bytes + at, 12);
	crt_text_number(&line, site->line);
	return stamp_name_new(t, bytes, at + (uint32_t)(line.at - (bytes + at)));
}

/* The text of a site.  Sites are static data: their address identifies them.  NULL: no room. */
static const struct crt_name *stamp_site(struct crt_tables *t, const struct ctp_memory_site *site,
					 bool cpp)
{
	uint64_t hash = CRT_AT(site) >> 3, i;

	for (i = 0; site && i < PROBES; i++) {
		struct crt_site_cell *cell = &t->sites[(hash + i) & (SITES - 1)];
		const void *none = NULL;
		const struct crt_name *text;

		if (__atomic_load_n(&cell->key, __ATOMIC_RELAXED) != site &&
		    !__atomic_compare_exchange_n(&cell->key, &none, site, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) &&
		    none != site)
			continue;
		/* (mem-I) pairs with the release below: the text is complete. */
		text = __atomic_load_n(&cell->text, __ATOMIC_ACQUIRE);
		if (!text) { /* two threads may both make it: one text is never used */
			text = stamp_site_new(t, site, cpp);
			/* (mem-I) pairs with the acquire above. */
			__atomic_store_n(&cell->text, text, __ATOMIC_RELEASE);
		}
		return text;
	}
	return NULL;
}

/* ---- coroutines ----------------------------------------------------------- */

/*
 * The cell of @key, or NULL.  @add: @key has no cell, or one of a coroutine whose end was not
 * reported: use the first free cell, which a search finds before that one.
 */
static struct crt_coroutine *stamp_cell(struct crt_tables *t, uint64_t key, bool add)
{
	uint64_t hash = (key >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 44, i;
	struct crt_coroutine *spare = NULL;

	for (i = 0; i < PROBES; i++) {
		struct crt_coroutine *c = &t->coroutines[(hash + i) & (COROUTINES - 1)];
		uint64_t have = __atomic_load_n(&c->key, __ATOMIC_RELAXED);

		if (have == key)
			return c;
		if (have <= CELL_UNUSED)
			spare = c;
		if (!have || (add && spare))
			break;
	}
	if (add && spare) {
		uint64_t have = __atomic_load_n(&spare->key, __ATOMIC_RELAXED);

		if (have <= CELL_UNUSED &&
		    __atomic_compare_exchange_n(&spare->key, &have, key, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return spare;
		return stamp_cell(t, key, true); /* another thread claimed it */
	}
	if (add && !__atomic_exchange_n(&stamp_full_said, 1, __ATOMIC_RELAXED))
		crt_say("too many coroutines: accesses of some are recorded as outside of all",
			NULL);
	return NULL;
}

static struct crt_coroutine *stamp_begin(struct crt_tables *t, uint64_t key, uint64_t id,
					 const char *name, bool cpp)
{
	struct crt_coroutine *c = stamp_cell(t, key, true);
	char kind[CRT_KIND_MAX + 1], plain[CRT_KIND_MAX + 1];
	uint32_t size;

	if (!c)
		return NULL;
	if (name && cpp) {
		ctp_function_plain(name, plain, sizeof(plain));
		name = plain;
	}
	c->own_id = id == 0;
	if (!id)
		id = 1 + __atomic_fetch_add(&t->next_id, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&c->runner, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&c->id, id, __ATOMIC_RELAXED);
	size = stamp_append(kind, 0, name, name ? stamp_stem(name) : 0);
	c->kind = stamp_kind(t, kind, size);
	c->site = c->site_before = NULL;
	c->below = NULL;
	c->loose = 0;
	return c;
}

uint32_t crt_stamp_text(const struct crt_thread *t, uint32_t cause, uint8_t out[CRT_STAMP_MAX])
{
	const struct crt_coroutine *c = t->running;
	uint64_t how = cause;
	uint32_t at = 8;

	if (c) {
		how |= c->own_id ? CRAY_CORO_OWN_ID : 0;
		if (c->kind) {
			__builtin_memcpy(out + at, c->kind->bytes, c->kind->size);
			at += c->kind->size;
		} else {
			out[at++] = '\0';
		}
		if (c->site) {
			__builtin_memcpy(out + at, c->site->bytes, c->site->size);
			at += c->site->size;
		}
	}
	__builtin_memcpy(out, &how, sizeof(how));
	return at;
}

/* This thread runs t->running from here on. */
static void stamp_put(struct crt_thread *t, uint32_t cause)
{
	uint8_t bytes[CRT_STAMP_MAX];
	uint32_t size;

	t->running_id = t->running ? t->running->id : 0;
	size = crt_stamp_text(t, cause, bytes);
	if (!crt_put_payload(CRW_CORO, t->running_id, crt_now(), bytes, size))
		t->stamp_due = 1;
}

/* This thread runs no coroutine until the next stamp; then t->running may be below another one. */
static void stamp_pause(struct crt_thread *t)
{
	uint64_t how = CRAY_CORO_RETURNED;

	if (t->running)
		crt_put_payload(CRW_CORO, 0, crt_now(), (const uint8_t *)&how, sizeof(how));
}

/* @c, or the first one below it that this thread still runs. */
static struct crt_coroutine *stamp_still(const struct crt_thread *t, struct crt_coroutine *c,
					 uint64_t id)
{
	uint32_t i;

	for (i = 0; c && i < DEEP; i++) {
		if (__atomic_load_n(&c->runner, __ATOMIC_RELAXED) == t &&
		    __atomic_load_n(&c->id, __ATOMIC_RELAXED) == id)
			return c;
		id = c->below_id;
		c = c->below;
	}
	return NULL;
}

static void stamp_enter(struct crt_thread *t, struct crt_coroutine *c, uint32_t cause)
{
	struct crt_coroutine *on = stamp_still(t, t->running, t->running_id);

	if (on == c)
		return;
	if (on && on->loose) { /* its end is not reported: it may have ended */
		__atomic_store_n(&on->runner, NULL, __ATOMIC_RELAXED);
		on = stamp_still(t, on->below, on->below_id);
	}
	c->below = on;
	c->below_id = on ? on->id : 0;
	__atomic_store_n(&c->runner, t, __ATOMIC_RELAXED);
	t->running = c;
	stamp_put(t, cause);
}

/* @c gives up the thread, and with it all that it resumed and that did not suspend. */
static void stamp_leave(struct crt_thread *t, struct crt_coroutine *c)
{
	struct crt_coroutine *on = t->running;
	uint32_t i;

	if (__atomic_load_n(&c->runner, __ATOMIC_RELAXED) != t)
		return;
	__atomic_store_n(&c->runner, NULL, __ATOMIC_RELAXED);
	for (i = 0; on && on != c && i < DEEP; i++)
		on = on->below;
	if (on != c)
		return;
	t->running = stamp_still(t, c->below, c->below_id);
	stamp_put(t, CRAY_CORO_RETURNED);
}

static void stamp_release(struct crt_thread *t, struct crt_coroutine *c)
{
	stamp_leave(t, c);
	__atomic_store_n(&c->id, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->key, CELL_UNUSED, __ATOMIC_RELAXED);
}

static void stamp_take(struct crt_tables *tables, struct crt_coroutine *c, uint32_t what,
		       const void *about)
{
	struct crt_thread *t = &crt_self;

	switch (what & CTP_MEMORY_WHAT) {
	case CTP_MEMORY_RESUMED:
		stamp_enter(t, c, CRAY_CORO_RESUMED);
		break;
	case CTP_MEMORY_SUSPENDED:
		c->site_before = c->site;
		c->site = stamp_site(tables, about, (what & CTP_MEMORY_CPP) != 0);
		c->loose = what & CTP_MEMORY_LOOSE;
		stamp_leave(t, c);
		break;
	case CTP_MEMORY_PAUSED:
		stamp_pause(t);
		break;
	case CTP_MEMORY_CODE:
		if (!c->kind || c->kind->size == 1)
			c->kind = stamp_code(tables, CRT_AT(about));
		break;
	case CTP_MEMORY_STAYED:
		c->site = c->site_before;
		stamp_enter(t, c, CRAY_CORO_RETURNED);
		break;
	case CTP_MEMORY_ENDED:
		stamp_leave(t, c);
		break;
	case CTP_MEMORY_DESTROYED:
		stamp_release(t, c);
		break;
	default:
		break;
	}
}

CRT_API void cacheray_coroutine(uint32_t what, const void *coroutine, uint64_t id,
				const void *about)
{
	uint64_t key = CRT_AT(coroutine);
	struct crt_coroutine *c;
	struct crt_tables *t;
	bool creates = (what & CTP_MEMORY_WHAT) == CTP_MEMORY_CREATED;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED) || !crt_session.coroutines)
		return;
	t = stamp_tables();
	if (!t || key <= CELL_UNUSED)
		return;
	c = creates ? NULL : stamp_cell(t, key, false);
	if (!c && (what & CTP_MEMORY_WHAT) != CTP_MEMORY_DESTROYED)
		c = stamp_begin(t, key, id, creates ? about : NULL, (what & CTP_MEMORY_CPP) != 0);
	if (!c || creates)
		return;
	if (id && id != c->id) { /* it has an id in the trace of coroutines since */
		if (crt_self.running == c)
			crt_self.running_id = id;
		__atomic_store_n(&c->id, id, __ATOMIC_RELAXED);
		c->own_id = 0;
	}
	stamp_take(t, c, what, about);
}
