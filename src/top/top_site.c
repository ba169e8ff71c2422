/* SPDX-License-Identifier: MIT */
/* top_site.c - where a coroutine of a running program waits, as text. */
#include "top/top_site.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/module_table.h"
#include "base/memory_shortage.h"

/* Bounds the memory for a program that waits at ever new addresses. */
#define ADDRS_MAX 262144u

static const char *top_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- sites ------------------------------------------------------------------ */

static const char *place_of_site(struct top_places *t, const struct trace_site *site)
{
	uint32_t i = site->id - 1, nr = t->nr_sites ? t->nr_sites : 64;
	char **more, text[2 * SITE_NAME_SIZE + 16];

	while (nr <= i)
		nr *= 2;
	if (nr > t->nr_sites) {
		more = reallocarray(t->sites, nr, sizeof(*more));
		if (!more)
			return "";
		memset(more + t->nr_sites, 0, (nr - t->nr_sites) * sizeof(*more));
		t->sites = more;
		t->nr_sites = nr;
	}
	/* A site never changes: it is complete before its id is published. */
	if (!t->sites[i]) {
		/* The table has no space for directories. */
		site_text(text, sizeof(text), top_base_name(site->file), site->line,
			  site->function);
		t->sites[i] = strdup(text);
	}
	return t->sites[i] ? t->sites[i] : "";
}

/* ---- addresses ---------------------------------------------------------------- */

static void learn_modules(struct top_places *t, uint32_t pid)
{
	uint64_t known;

	if (!t->symbols)
		t->symbols = symbols_new();
	if (!t->symbols || u64map_get(&t->pids, pid, &known) || u64map_put(&t->pids, pid, 1) < 0)
		return;
	modules_read(&t->modules, pid);
	for (; t->nr_modules < t->modules.nr; t->nr_modules++)
		symbols_add_told(t->symbols, &t->modules.list[t->nr_modules]);
}

static char *words_of(struct top_places *t, uint32_t pid, uint64_t addr)
{
	struct symbol sym;
	char *text = NULL;
	int rc;

	learn_modules(t, pid);
	if (!t->symbols || !symbols_find_resume(t->symbols, pid, addr, &sym))
		rc = asprintf(&text, "0x%" PRIx64, addr);
	else if (sym.file && sym.function)
		rc = asprintf(&text, "%s:%" PRIu32 " %s", top_base_name(sym.file), sym.line,
			      sym.function);
	else if (sym.function)
		rc = asprintf(&text, "%s+0x%" PRIx64 " in %s", sym.function, sym.offset,
			      top_base_name(sym.module));
	else
		rc = asprintf(&text, "%s+0x%" PRIx64, top_base_name(sym.module), sym.offset);
	return rc < 0 ? NULL : text;
}

static bool top_make_room(struct top_places *t)
{
	size_t room = t->room ? t->room * 2 : 64;
	char **more;

	if (t->nr_texts < t->room)
		return true;
	more = reallocarray(t->texts, room, sizeof(*more));
	if (!more)
		return false;
	t->texts = more;
	t->room = room;
	return true;
}

static const char *place_of_addr(struct top_places *t, uint32_t pid, uint64_t addr)
{
	/* If the keys of two processes collide, the processes run (almost) the same program. */
	uint64_t key = addr ^ (uint64_t)pid << 48, at;
	char *text;

	if (u64map_get(&t->addrs, key, &at))
		return t->texts[at - 1];
	if (t->nr_texts >= ADDRS_MAX)
		return "?";
	text = top_make_room(t) ? words_of(t, pid, addr) : NULL;
	if (!text || u64map_put(&t->addrs, key, t->nr_texts + 1) < 0) {
		memory_shortage_note();
		free(text);
		return "?";
	}
	t->texts[t->nr_texts++] = text;
	return text;
}

const char *top_place(struct top_places *t, const struct recover *r, uint32_t pid, uint32_t site,
		      uint64_t addr)
{
	const struct trace_site *told = recover_site(r, site);

	if (told)
		return place_of_site(t, told);
	return addr ? place_of_addr(t, pid, addr) : "";
}

static void forget_addrs(struct top_places *t)
{
	size_t i;

	for (i = 0; i < t->nr_texts; i++)
		free(t->texts[i]);
	t->nr_texts = 0;
	u64map_release(&t->addrs);
	memset(&t->addrs, 0, sizeof(t->addrs));
}

void top_places_begin(struct top_places *t)
{
	if (t->nr_texts > ADDRS_MAX / 2)
		forget_addrs(t);
}

void top_places_release(struct top_places *t)
{
	size_t i;

	forget_addrs(t);
	for (i = 0; i < t->nr_sites; i++)
		free(t->sites[i]);
	free(t->sites);
	free(t->texts);
	u64map_release(&t->pids);
	modules_release(&t->modules);
	symbols_free(t->symbols);
	memset(t, 0, sizeof(*t));
}
