/* SPDX-License-Identifier: MIT */
/*
 * page.h - a simulation and whose misses they were, as one page of HTML.
 *
 * Self-contained: no script, no network (its content policy forbids both), light and dark.
 * Whatever names a trace has in it, they are text.
 */
#ifndef MEMORY_PAGE_PAGE_H
#define MEMORY_PAGE_PAGE_H

#include <stdio.h>

#include "memory/blame.h"
#include "memory/facts.h"
#include "memory/sim/sim.h"

struct page {
	const char *title;
	const char *machine; /* where the caches come from */
	const struct mem_facts *facts;
	struct sim *sim;
	struct blame *blame;
	uint64_t accesses, lost, left_out;
	unsigned top; /* types, lines and so on */
};

#define PAGE_TOP_MAX 200u

/* 0, or -EIO. */
int page_write(FILE *out, const struct page *page);

/* ---- for the parts of the page --------------------------------------------- */

/* @text as HTML text or attribute value: nothing in it is markup. */
void page_text(FILE *out, const char *text);

/* "1,234", of 1/256. */
const char *page_count(char buf[32], uint64_t in_256);

/* The cell of a table with a bar: @part of @whole. */
void page_bar(FILE *out, uint64_t part, uint64_t whole);

/* "worker (1234)" */
void page_thread(FILE *out, const struct page *page, uint32_t number);

void page_types(FILE *out, const struct page *page);   /* page_types.c */
void page_sharing(FILE *out, const struct page *page); /* page_sharing.c */
extern const char page_style[];                        /* page_style.c */

#endif
