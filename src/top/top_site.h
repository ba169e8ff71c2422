/* SPDX-License-Identifier: MIT */
/*
 * top_site.h - where a coroutine of a running program waits, as text.
 *
 * Uses the site that the program registered, else the address: then the files that the program has
 * mapped are read, once per address.
 */
#ifndef TOP_TOP_SITE_H
#define TOP_TOP_SITE_H

#include "symbols/symbols.h"
#include "base/u64map.h"
#include "collect/mapped_modules.h"
#include "collect/region_inspect.h"

struct top_places {
	char **sites; /* by id - 1; NULL: not formatted yet */
	uint32_t nr_sites;
	struct u64map addrs; /* pid and address to 1 + index in texts */
	char **texts;
	size_t nr_texts, room;
	struct modules modules;
	size_t nr_modules; /* already added to symbols */
	struct symbols *symbols;
	struct u64map pids; /* processes whose modules were read */
};

/* Call before each picture: clears the cache of addresses if it has grown too large. */
void top_places_begin(struct top_places *t);

/*
 * "server.c:12 reader", "reader+0x12 in server", "0x401234", or "".  Valid until the next
 * picture.
 */
const char *top_place(struct top_places *t, const struct recover *r, uint32_t pid, uint32_t site,
		      uint64_t addr);

void top_places_release(struct top_places *t);

#endif
