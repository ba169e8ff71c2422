/* SPDX-License-Identifier: MIT */
/* strtab.c - string interning: each different string has one number. */
#include "base/strtab.h"

#include "base/memory_shortage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* FNV-1a with a random seed per table: the traced program chooses the names. */
static uint64_t strtab_hash(const struct strtab *tab, const char *text)
{
	uint64_t h = tab->seed ^ UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static int64_t strtab_strtab_find(const struct strtab *tab, uint64_t first, const char *text)
{
	int64_t i = (int64_t)first - 1;

	while (i >= 0 && strcmp(tab->entries[i].text, text) != 0)
		i = tab->entries[i].next;
	return i;
}

static bool strtab_make_room(struct strtab *tab)
{
	size_t size = tab->size ? tab->size * 2 : 16;
	struct strtab_entry *bigger;

	if (tab->nr < tab->size)
		return true;
	bigger = reallocarray(tab->entries, size, sizeof(*bigger));
	if (!bigger)
		return false;
	tab->entries = bigger;
	tab->size = size;
	return true;
}

int64_t strtab_intern(struct strtab *tab, const char *text)
{
	uint64_t *first;
	char *copy;
	int64_t i;

	if (!tab->nr && !tab->seed && getrandom(&tab->seed, sizeof(tab->seed), GRND_NONBLOCK) < 0)
		tab->seed = (uint64_t)(uintptr_t)tab;
	first = u64map_at(&tab->by_hash, strtab_hash(tab, text));
	if (!first)
		return -ENOMEM;
	i = strtab_strtab_find(tab, *first, text);
	if (i >= 0)
		return i;
	copy = strdup(text);
	if (!copy || !strtab_make_room(tab)) {
		free(copy);
		memory_shortage_note();
		return -ENOMEM;
	}
	tab->entries[tab->nr] = (struct strtab_entry){ copy, (int64_t)*first - 1 };
	*first = ++tab->nr;
	return (int64_t)tab->nr - 1;
}

int64_t strtab_find(const struct strtab *tab, const char *text)
{
	uint64_t first;
	int64_t i;

	if (!u64map_get(&tab->by_hash, strtab_hash(tab, text), &first))
		return -ENOENT;
	i = strtab_strtab_find(tab, first, text);
	return i < 0 ? -ENOENT : i;
}

const char *strtab_text(const struct strtab *tab, size_t number)
{
	return tab->entries[number].text;
}

void strtab_release(struct strtab *tab)
{
	size_t i;

	for (i = 0; i < tab->nr; i++)
		free(tab->entries[i].text);
	free(tab->entries);
	u64map_release(&tab->by_hash);
	*tab = (struct strtab){ 0 };
}
