/* SPDX-License-Identifier: MIT */
/*
 * top_place.h - where a coroutine of a running program waits, in words.
 *
 * By the site that the program told, else by its address: then the files that the program has
 * mapped are looked at, once for each address.
 */
#ifndef VIEW_TOP_PLACE_H
#define VIEW_TOP_PLACE_H

#include "analyze/symbols.h"
#include "base/u64map.h"
#include "ctp/modules.h"
#include "ctp/recover.h"

struct top_places {
	char **sites; /* by number - 1; NULL: not made yet */
	uint32_t nr_sites;
	struct u64map addrs; /* of pid and address: 1 + index in texts */
	char **texts;
	size_t nr_texts, room;
	struct modules modules;
	size_t nr_modules; /* that symbols knows */
	struct symbols *symbols;
	struct u64map pids; /* whose modules were read */
};

/* Before each picture: what was learnt of addresses is forgotten where it became too much. */
void top_places_begin(struct top_places *t);

/*
 * "server.c:12 reader", "reader+0x12 in server", "0x401234", or "".  Valid until the next
 * picture.
 */
const char *top_place(struct top_places *t, const struct recover *r, uint32_t pid, uint32_t site,
		      uint64_t addr);

void top_places_release(struct top_places *t);

#endif
