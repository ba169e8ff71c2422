/* SPDX-License-Identifier: MIT */
/* diff_profile.c - what one side of a comparison recorded, run by run. */
#include "analyze/diff_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void diff_profile_init(struct diff_profile *p, size_t max_runs)
{
	*p = (struct diff_profile){ .room_runs = max_runs };
}

static const char *profile_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- sites ------------------------------------------------------------------- */

static void site_release(struct diff_profile *p, struct diff_site *s)
{
	size_t i;

	for (i = 0; s->runs && i < p->room_runs * NR_DIFF_METRICS; i++)
		histogram_release(&s->runs[i]);
	free(s->runs);
	free(s->file);
	free(s->function);
	free(s->text);
	free(s->path);
}

static struct diff_site *diff_site_new(struct diff_profile *p, const struct report_place *where)
{
	struct diff_site *s;
	struct site_names names;

	if (p->nr_sites == p->sites_room) {
		size_t room = p->sites_room ? p->sites_room * 2 : 64;
		struct diff_site *sites = realloc(p->sites, room * sizeof(*sites));

		if (!sites)
			return NULL;
		p->sites = sites;
		p->sites_room = room;
	}
	site_names_of(&names, where->file, NULL);
	s = &p->sites[p->nr_sites];
	*s = (struct diff_site){
		.file = strdup(profile_base_name(names.file)),
		.function = strdup(where->function ? where->function : where->text),
		.text = strdup(where->text),
		.path = strdup(names.file),
		.line = where->line,
		.runs = calloc(p->room_runs * NR_DIFF_METRICS, sizeof(*s->runs)),
	};
	if (!s->file || !s->function || !s->text || !s->path || !s->runs) {
		site_release(p, s);
		return NULL;
	}
	p->nr_sites++;
	return s;
}

/* The site of a place, added if it is new; NULL: no memory. */
static struct diff_site *site_of(struct diff_profile *p, const struct report_place *where)
{
	char key[2 * SITE_NAME_SIZE + 32];
	uint64_t *number;
	int64_t text;

	snprintf(key, sizeof(key), "%s\n%u\n%s", profile_base_name(where->file ? where->file : ""),
		 where->line, where->function ? where->function : where->text);
	text = strtab_intern(&p->texts, key);
	number = text < 0 ? NULL : u64map_at(&p->site_numbers, (uint64_t)text);
	if (!number)
		return NULL;
	if (*number)
		return &p->sites[*number - 1];
	if (!diff_site_new(p, where))
		return NULL;
	*number = p->nr_sites;
	return &p->sites[p->nr_sites - 1];
}

/* True for an address that belongs to one coroutine, a frame or a future: not a place. */
static bool is_own_address(const struct wait_place *w, const struct report_place *where)
{
	return !w->site && !where->function && !w->is_shared;
}

static int site_add(struct diff_profile *p, const struct report *r, const struct wait_place *w)
{
	const struct histogram *from[NR_DIFF_METRICS] = { &w->waits, &w->ready, &w->slices };
	struct report_place where = { .text = "" };
	struct diff_site *s;
	int metric, rc = 0;

	if (w->site || w->addr)
		report_place_of(r, w->pid, w->site, w->addr, &where);
	if (!where.text[0] || is_own_address(w, &where))
		where = (struct report_place){ .text = "(places that are not known)" };
	s = site_of(p, &where);
	for (metric = 0; s && !rc && metric < NR_DIFF_METRICS; metric++)
		rc = histogram_join(diff_site_runs(s, p->nr_runs, (enum diff_metric)metric),
				    from[metric]);
	return s ? rc : -ENOMEM;
}

static int sites_add_all(struct diff_profile *p, const struct report *r)
{
	const struct model *m = &r->analysis->model;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < m->nr_places; i++) {
		const struct wait_place *w = &m->places[i];

		if (w->waits.nr || w->slices.nr)
			rc = site_add(p, r, w);
	}
	return rc;
}

/* ---- kinds and findings --------------------------------------------------------- */

const struct diff_row *diff_row_find(const struct diff_rows *rows, const char *key)
{
	int64_t number = strtab_find(&rows->keys, key);

	return number < 0 ? NULL : &rows->all[number];
}

static bool rows_reserve(struct diff_rows *rows)
{
	size_t room = rows->room ? rows->room * 2 : 32;
	struct diff_row *all;

	if (rows->nr < rows->room)
		return true;
	all = realloc(rows->all, room * sizeof(*all));
	if (!all)
		return false;
	rows->all = all;
	rows->room = room;
	return true;
}

/* Add @nr to the row of @key in the current run; the row is added if it is new. */
static int row_count(struct diff_profile *p, struct diff_rows *rows, const char *key,
		     const char *text, const char *detector, uint64_t nr)
{
	char *copy = NULL;
	int64_t number;

	if (strtab_find(&rows->keys, key) < 0) {
		copy = strdup(text);
		if (!copy || !rows_reserve(rows)) {
			free(copy);
			return -ENOMEM;
		}
	}
	number = strtab_intern(&rows->keys, key);
	if (number < 0) {
		free(copy);
		return -ENOMEM;
	}
	if (copy) {
		rows->all[number] = (struct diff_row){ .text = copy, .detector = detector };
		rows->nr++;
	}
	rows->all[number].runs[p->nr_runs] += nr;
	return 0;
}

/* The name of a kind, and the function that creates it: without path and line. */
static void kind_key(const struct report *r, uint32_t spawn, char *buf, size_t size)
{
	const struct model *m = &r->analysis->model;
	const struct spawn *s = &m->spawns[spawn];
	struct report_place where = { .text = "" };

	if (s->site)
		report_place_of(r, 0, s->site, 0, &where);
	snprintf(buf, size, "%s\n%s", s->name ? strtab_text(&m->names, s->name - 1) : "",
		 where.function ? where.function : "");
}

static int kinds_add(struct diff_profile *p, const struct report *r)
{
	const struct model *m = &r->analysis->model;
	char key[1200], text[640];
	uint32_t i;
	int rc = 0;

	for (i = 1; !rc && i < m->nr_spawns; i++) {
		if (!report_spawn(r, i, text, sizeof(text)))
			continue;
		kind_key(r, i, key, sizeof(key));
		rc = row_count(p, &p->kinds, key, text, "", m->spawns[i].alive);
	}
	return rc;
}

static int finding_add(struct diff_profile *p, const struct report *r, const struct group *g)
{
	char key[2400], kind[1200], text[1300], born[640];
	struct report_place where = { .text = "" };
	bool has_place = report_group_place(r, g, &where);
	bool has_kind = report_kind_of(r, g, born, sizeof(born));

	kind_key(r, g->spawn, kind, sizeof(kind));
	snprintf(key, sizeof(key), "%s\n%s\n%s\n%s", g->detector->name,
		 profile_base_name(where.file ? where.file : ""),
		 where.function ? where.function : where.text, kind);
	snprintf(text, sizeof(text), "%s%s%s", has_place ? where.text : "",
		 has_place && has_kind ? ", of " : "", has_kind ? born : "");
	return row_count(p, &p->findings, key, text, g->detector->name, 1);
}

static int findings_add_all(struct diff_profile *p, const struct report *r)
{
	const struct findings *f = &r->analysis->findings;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < f->nr; i++) {
		const struct group *g = &f->groups[i];

		if (g->detector->is_fault && g->confidence >= CONFIDENCE_STRONG)
			rc = finding_add(p, r, g);
	}
	return rc;
}

/* ---- a side -------------------------------------------------------------------- */

int diff_profile_add(struct diff_profile *p, const struct report *r)
{
	int rc = sites_add_all(p, r);

	if (!rc)
		rc = kinds_add(p, r);
	if (!rc)
		rc = findings_add_all(p, r);
	p->nr_runs += !rc;
	return rc;
}

static int site_compare(const void *a, const void *b)
{
	const struct diff_site *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (!order)
		order = strcmp(x->function, y->function);
	if (!order)
		order = x->line < y->line ? -1 : x->line > y->line;
	return order;
}

void diff_profile_sort(struct diff_profile *p)
{
	if (p->nr_sites)
		qsort(p->sites, p->nr_sites, sizeof(*p->sites), site_compare);
	u64map_release(&p->site_numbers); /* the numbers have changed */
}

static void rows_release(struct diff_rows *rows)
{
	size_t i;

	for (i = 0; i < rows->nr; i++)
		free(rows->all[i].text);
	free(rows->all);
	strtab_release(&rows->keys);
}

void diff_profile_release(struct diff_profile *p)
{
	size_t i;

	for (i = 0; i < p->nr_sites; i++)
		site_release(p, &p->sites[i]);
	free(p->sites);
	rows_release(&p->kinds);
	rows_release(&p->findings);
	u64map_release(&p->site_numbers);
	strtab_release(&p->texts);
	*p = (struct diff_profile){ 0 };
}
