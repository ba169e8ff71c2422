/* SPDX-License-Identifier: MIT */
/* sites.c - the sites that a trace declares, by their id. */
#include "analyze/sites.h"

#include <errno.h>
#include <stdlib.h>

int sites_add(struct sites *s, const struct trace_site *site)
{
	struct trace_site told = *site;
	uint64_t *number = u64map_at(&s->numbers, site->id);
	int64_t file = strtab_intern(&s->texts, site->file ? site->file : "");
	int64_t function = strtab_intern(&s->texts, site->function ? site->function : "");

	if (!number || file < 0 || function < 0)
		return -ENOMEM;
	if (*number)
		return 0;
	if (told.id && !site_table_add(&s->places, &told))
		return -ENOMEM;
	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		struct site_entry *entries = realloc(s->entries, room * sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		s->entries = entries;
		s->room = room;
	}
	s->entries[s->nr++] = (struct site_entry){ site->line, (uint32_t)file, (uint32_t)function };
	*number = s->nr;
	return 0;
}

bool sites_find(const struct sites *s, uint32_t id, struct trace_site *out)
{
	const struct site_entry *e;
	uint64_t number;

	if (!id || !u64map_get(&s->numbers, id, &number) || !number)
		return false;
	e = &s->entries[number - 1];
	*out = (struct trace_site){
		.id = id,
		.line = e->line,
		.file = strtab_text(&s->texts, e->file),
		.function = strtab_text(&s->texts, e->function),
	};
	return true;
}

bool sites_find_line(const struct sites *s, const char *file, uint32_t line, const char *function,
		     struct trace_site *out)
{
	return site_table_find(&s->places, file, line, function, out);
}

void sites_release(struct sites *s)
{
	u64map_release(&s->numbers);
	free(s->entries);
	strtab_release(&s->texts);
	site_table_release(&s->places);
	*s = (struct sites){ 0 };
}
