/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/site.h - map a std::source_location to the number of a site.
 *
 * A source_location is a pointer to a constant that the compiler emits for each location, so the
 * pointer is the key.  The hash table has twice as many entries as there can be sites: it is
 * never full.  It is a separate mapping, of which only the touched pages exist; the sites of one
 * file are close to each other in the table, too.
 */
#ifndef COROTRACER_CPP_SITE_H
#define COROTRACER_CPP_SITE_H

#include <corotracer/cpp/state.h>
#include <corotracer/function.h>

#include <bit>
#include <cstring>
#include <source_location>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

struct SiteEntry {
	const void *key;
	uint32_t id; /* tag of the region (upper half) and number there; 0: not registered yet */
	uint32_t reserved;
};

inline constexpr uint32_t site_entries = 2 * (CTP_MAX_SITES + 1);

CTP_CPP_STATE inline constinit SiteEntry *site_table = nullptr;

static_assert(sizeof(std::source_location) == sizeof(void *),
	      "corotracer takes a source_location for a pointer; this library's is not one");

inline const void *site_key(const std::source_location &where)
{
	return std::bit_cast<const void *>(where);
}

inline uint32_t site_slot(const void *key)
{
	return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(key) >> 3) % site_entries;
}

/* The table, created by the first caller.  Returns NULL if mmap() fails. */
CTP_CPP_HIDDEN SiteEntry *site_table_get()
{
	/* (ctp-F) pairs with the release below: a thread that sees the table sees it zeroed. */
	SiteEntry *table = ctp_load_acquire(&site_table);
	void *map;

	if (table)
		return table;
	map = mmap(nullptr, site_entries * sizeof(SiteEntry), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return nullptr;
	table = static_cast<SiteEntry *>(map);
	/* (ctp-F) pairs with the acquire above. */
	if (ctp_cas_release(&site_table, static_cast<SiteEntry *>(nullptr), table))
		return table;
	munmap(map, site_entries * sizeof(SiteEntry));
	return ctp_load_acquire(&site_table); /* (ctp-F) pairs with the first thread's release */
}

/* Find or add the entry of @key. */
CTP_CPP_HIDDEN SiteEntry *site_entry(SiteEntry *table, const void *key)
{
	uint32_t at = site_slot(key);

	for (uint32_t tries = 0; tries < site_entries; tries++, at = (at + 1) % site_entries) {
		const void *found = ctp_load_relaxed(&table[at].key);

		if (!found &&
		    ctp_cas_relaxed(&table[at].key, static_cast<const void *>(nullptr), key))
			return &table[at];
		if (ctp_load_relaxed(&table[at].key) == key)
			return &table[at];
	}
	return nullptr;
}

CTP_CPP_HIDDEN uint32_t site_enter(ctp_session *s, std::source_location where)
{
	/* (ctp-F) pairs with the release store in ctp_session_publish(). */
	bool attached = s && ctp_load_acquire(&s->generation);
	SiteEntry *table = attached && s->lanes ? site_table_get() : nullptr;
	SiteEntry *entry = table ? site_entry(table, site_key(where)) : nullptr;
	char name[1024];
	uint32_t id, was;

	if (!entry)
		return 0;
	was = ctp_load_relaxed(&entry->id);
	if (was >> 16 == s->site_tag)
		return was & 0xffff;
	ctp_function_plain(where.function_name(), name, sizeof(name));
	id = ctp_site_enter(s, where.file_name(), where.line(), name);
	/* Another thread was first: use its number, which is final for this region. */
	if (id && !ctp_cas_relaxed(&entry->id, was, s->site_tag << 16 | id))
		id = ctp_load_relaxed(&entry->id) & 0xffff;
	return id;
}

/* The number of @where; 0 if it has none. */
inline uint32_t site_id(ctp_session *s, const std::source_location &where)
{
	/* (ctp-F) pairs with the release in site_table_get(). */
	const SiteEntry *table = ctp_load_acquire(&site_table);
	const void *key = site_key(where);

	if (ctp_likely(table != nullptr && s)) {
		const SiteEntry *entry = &table[site_slot(key)];
		uint32_t id = ctp_load_relaxed(&entry->id);

		/* A key never changes once set, and the id is stored after the key. */
		if (ctp_likely(ctp_load_relaxed(&entry->key) == key && id >> 16 == s->site_tag))
			return id & 0xffff;
	}
	return key ? site_enter(s, where) : 0;
}

} // namespace detail
} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
