/* SPDX-License-Identifier: MIT */
/*
 * mem_page.h - a simulation and the owners of its misses, as one HTML page.
 *
 * The page is self-contained: no script, no network (its content security policy forbids both),
 * light and dark.  Names from the trace are escaped.
 */
#ifndef MEMORY_PAGE_MEM_PAGE_H
#define MEMORY_PAGE_MEM_PAGE_H

#include <stdio.h>

#include "memory/blame/blame.h"
#include "memory/format/mem_facts.h"
#include "memory/sim/sim.h"

struct page {
	const char *title;
	const char *machine; /* description of the cache configuration */
	const struct mem_facts *facts;
	struct sim *sim;
	struct blame *blame;
	uint64_t accesses, lost, left_out;
	unsigned top; /* rows per table; at most PAGE_TOP_MAX */
};

#define PAGE_TOP_MAX 200u

/* Returns 0 or -EIO. */
int page_write(FILE *out, const struct page *page);

/* ---- for the parts of the page --------------------------------------------- */

/* Write @text escaped, as HTML text or attribute value. */
void page_text(FILE *out, const char *text);

/* Format a count in units of 1/256: "1,234". */
const char *page_count(char buf[32], uint64_t in_256);

/* Table cells with a percentage and a bar: @part of @whole. */
void page_bar(FILE *out, uint64_t part, uint64_t whole);

/* Write the name and id of a thread: "worker (1234)". */
void page_thread(FILE *out, const struct page *page, uint32_t number);

void page_types(FILE *out, const struct page *page);   /* page_types.c */
void page_sharing(FILE *out, const struct page *page); /* page_sharing.c */
extern const char page_style[];                        /* page_style.c */

#endif
