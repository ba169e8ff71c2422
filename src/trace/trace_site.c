/* SPDX-License-Identifier: MIT */
/* trace_site.c - normalize names and paths of source locations, and find duplicates. */
#include "trace/trace_site.h"

#include <corotracer/function.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* Higher ids are not deduplicated: a record has 16 bits for a site. */
#define IDS_MAX 65536u

/* ---- names --------------------------------------------------------------- */

static const char *site_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_rust(const char *file)
{
	size_t len = strlen(file);

	return len > 3 && !strcmp(file + len - 3, ".rs");
}

void site_names_of(struct site_names *names, const char *file, const char *function)
{
	file = file ? file : "";
	function = function ? function : "";
	path_plain(file, names->file, sizeof(names->file));
	if (is_rust(file))
		snprintf(names->function, sizeof(names->function), "%s", function);
	else
		ctp_function_plain(function, names->function, sizeof(names->function));
}

void site_text(char *buf, size_t size, const char *file, uint32_t line, const char *function)
{
	bool has_function = function && *function;

	snprintf(buf, size, "%s:%" PRIu32 "%s%s", file && *file ? file : "(unknown file)", line,
		 has_function ? " " : "", has_function ? function : "");
}

static const char *without_parents(const char *path)
{
	while (!strncmp(path, "../", 3))
		path += 3;
	return path;
}

bool site_same_path(const char *a, const char *b)
{
	size_t la, lb;

	a = without_parents(a);
	b = without_parents(b);
	la = strlen(a);
	lb = strlen(b);
	if (la > lb)
		return site_same_path(b, a);
	if (strcmp(a, b + (lb - la)) != 0)
		return false;
	return la == lb || (*a != '/' && b[lb - la - 1] == '/');
}

/* ---- the table ------------------------------------------------------------- */

/* The part that is equal in all locations that may be the same. */
static void key_text(char *buf, size_t size, const char *file, uint32_t line, const char *function)
{
	snprintf(buf, size, "%" PRIu32 ":%s:%s", line, site_last_part(file), function);
}

static const struct site_place *find_place(const struct site_table *t, const char *file,
					   uint32_t line, const char *function)
{
	char key[2 * SITE_NAME_SIZE + 16];
	uint64_t number = 0;
	int64_t text;

	key_text(key, sizeof(key), file, line, function);
	text = strtab_find(&t->texts, key);
	if (text < 0 || !u64map_get(&t->by_key, (uint64_t)text, &number))
		return NULL;
	while (number) {
		const struct site_place *p = &t->places[number - 1];

		if (site_same_path(strtab_text(&t->texts, p->file), file))
			return p;
		number = p->next;
	}
	return NULL;
}

static int enter_place(struct site_table *t, uint32_t id, const struct site_names *names,
		       uint32_t line)
{
	char key[2 * SITE_NAME_SIZE + 16];
	int64_t file = strtab_intern(&t->texts, names->file);
	int64_t function = strtab_intern(&t->texts, names->function), text;
	struct site_place *more;
	uint64_t *first;

	key_text(key, sizeof(key), names->file, line, names->function);
	text = strtab_intern(&t->texts, key);
	if (file < 0 || function < 0 || text < 0)
		return -ENOMEM;
	if (t->nr == t->room) {
		more = reallocarray(t->places, t->room ? t->room * 2 : 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->places = more;
		t->room = t->room ? t->room * 2 : 64;
	}
	first = u64map_at(&t->by_key, (uint64_t)text);
	if (!first)
		return -ENOMEM;
	t->places[t->nr++] = (struct site_place){
		.id = id,
		.line = line,
		.next = (uint32_t)*first,
		.file = (uint32_t)file,
		.function = (uint32_t)function,
	};
	*first = t->nr;
	return 0;
}

static int note_double(struct site_table *t, uint32_t id, uint32_t first)
{
	uint32_t *more;

	if (id >= IDS_MAX)
		return -ENOMEM;
	if (id >= t->nr_first) {
		size_t nr = t->nr_first ? t->nr_first : 256;

		while (nr <= id)
			nr *= 2;
		more = reallocarray(t->first, nr, sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + t->nr_first, 0, (nr - t->nr_first) * sizeof(*more));
		t->first = more;
		t->nr_first = nr;
	}
	t->first[id] = first;
	t->has_doubles = true;
	return 0;
}

static void site_give_back(const struct site_table *t, const struct site_place *p,
			   struct trace_site *site)
{
	site->line = p->line;
	site->file = strtab_text(&t->texts, p->file);
	site->function = strtab_text(&t->texts, p->function);
}

uint32_t site_table_add(struct site_table *t, struct trace_site *site)
{
	const struct site_place *p;
	struct site_names names;
	uint32_t id = site->id;

	site_names_of(&names, site->file, site->function);
	p = names.file[0] ? find_place(t, names.file, site->line, names.function) : NULL;
	if (p && p->id != site->id && note_double(t, site->id, p->id) == 0) {
		id = p->id;
	} else if (!p || p->id != site->id) {
		if (enter_place(t, site->id, &names, site->line) < 0)
			return 0;
		p = &t->places[t->nr - 1];
	}
	site_give_back(t, p, site);
	return id;
}

bool site_table_find(const struct site_table *t, const char *file, uint32_t line,
		     const char *function, struct trace_site *out)
{
	struct site_names names;
	const struct site_place *p;

	site_names_of(&names, file, function);
	p = find_place(t, names.file, line, names.function);
	if (!p)
		return false;
	*out = (struct trace_site){ .id = p->id };
	site_give_back(t, p, out);
	return true;
}

void site_table_release(struct site_table *t)
{
	strtab_release(&t->texts);
	u64map_release(&t->by_key);
	free(t->places);
	free(t->first);
	*t = (struct site_table){ 0 };
}
