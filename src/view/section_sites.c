/* SPDX-License-Identifier: MIT */
/* section_sites.c - the section "sites": places where coroutines wait, and kinds of coroutines. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_data.h"

#define OLDEST 10

/* Coroutines that wait at a place now. */
struct waiting {
	uint64_t nr;
	uint32_t nr_oldest;
	uint32_t oldest[OLDEST]; /* indexes in records, longest wait first */
	uint32_t pid;            /* of any of them, to resolve symbols */
};

static uint64_t suspended_of(const struct view *v, uint32_t place)
{
	return v->records.all[place].suspended;
}

static void add_waiting(const struct view *v, struct waiting *w, uint32_t place)
{
	unsigned at = w->nr_oldest < OLDEST ? w->nr_oldest : OLDEST - 1;

	w->nr++;
	if (w->nr_oldest == OLDEST && suspended_of(v, place) >= suspended_of(v, w->oldest[at]))
		return;
	while (at && suspended_of(v, w->oldest[at - 1]) > suspended_of(v, place)) {
		w->oldest[at] = w->oldest[at - 1];
		at--;
	}
	w->oldest[at] = place;
	w->nr_oldest += w->nr_oldest < OLDEST;
}

static struct waiting *find_waiting(const struct view *v)
{
	size_t nr_places = view_model(v)->nr_places;
	struct waiting *all = calloc(nr_places + 1, sizeof(*all));
	uint32_t i;

	for (i = 0; all && i < v->records.nr; i++) {
		const struct view_record *rec = &v->records.all[i];

		if (rec->site >= nr_places)
			continue;
		if (!all[rec->site].pid)
			all[rec->site].pid = rec->pid;
		if (rec->state == TRACE_STATE_SUSPENDED || rec->state == TRACE_STATE_READY)
			add_waiting(v, &all[rec->site], i);
	}
	return all;
}

static void put_histogram(struct json_writer *j, const char *key, const struct histogram *h)
{
	unsigned i;

	jw_key(j, key);
	jw_object_begin(j);
	jw_field_u64(j, "nr", h->nr);
	jw_field_u64(j, "max", h->max);
	jw_field_u64(j, "p50", histogram_quantile(h, 500));
	jw_field_u64(j, "p90", histogram_quantile(h, 900));
	jw_field_u64(j, "p99", histogram_quantile(h, 990));
	jw_key(j, "steps");
	jw_array_begin(j);
	for (i = 0; h->nr && i < HISTOGRAM_COARSE; i++) {
		uint64_t nr = histogram_coarse(h, i);

		if (!nr)
			continue;
		jw_array_begin(j);
		jw_u64(j, i);
		jw_u64(j, nr);
		jw_array_end(j);
	}
	jw_array_end(j);
	jw_object_end(j);
}

static void put_oldest(struct json_writer *j, const struct view *v, const struct waiting *w)
{
	uint32_t i;

	jw_field_u64(j, "waiting", w->nr);
	jw_key(j, "oldest");
	jw_array_begin(j);
	for (i = 0; i < w->nr_oldest; i++) {
		const struct view_record *rec = &v->records.all[w->oldest[i]];
		char id[24];

		snprintf(id, sizeof(id), "%" PRIu64, rec->probe_id);
		jw_object_begin(j);
		jw_field_u64(j, "nr", rec->number);
		jw_field_string(j, "id", id);
		jw_field_i64(j, "since", view_offset(v, rec->suspended));
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void section_put_where(struct json_writer *j, const struct view *v, size_t place,
			      uint32_t pid)
{
	uint32_t site = view_model(v)->places[place].site;
	uint64_t address = place < v->addresses_room ? v->addresses[place] : 0;
	struct report r = view_report(v);
	struct report_place where;
	char addr[24];

	report_place_of(&r, pid, site, address, &where);
	snprintf(addr, sizeof(addr), "0x%016" PRIx64, address);
	jw_field_string(j, "text", where.text);
	jw_field_string(j, "file", where.file);
	if (where.file)
		jw_field_u64(j, "line", where.line);
	else
		jw_field_null(j, "line");
	jw_field_string(j, "function", where.function);
	jw_field_string(j, "addr", site ? NULL : addr);
}

/* Nothing if it was not measured. */
static void section_put_cpu(struct json_writer *j, const struct view *v, size_t place)
{
	struct cpu_sums sums = slice_cpu_place(v, place);

	if (!sums.slices)
		return;
	jw_key(j, "cpu");
	jw_object_begin(j);
	jw_field_u64(j, "slices", sums.slices);
	jw_field_u64(j, "measured", sums.ns);
	jw_field_u64(j, "queued", sums.queued_ns);
	jw_field_u64(j, "blocked", sums.blocked_ns);
	jw_object_end(j);
}

static void section_put_site(struct json_writer *j, const struct view *v, size_t i,
			     const struct waiting *w)
{
	const struct wait_place *p = &view_model(v)->places[i];

	jw_object_begin(j);
	if (i) {
		section_put_where(j, v, i, w->pid);
	} else {
		jw_field_string(j, "text", "(not told)");
		jw_field_null(j, "file");
		jw_field_null(j, "line");
		jw_field_null(j, "function");
		jw_field_null(j, "addr");
	}
	put_histogram(j, "waits", &p->waits);
	put_histogram(j, "ready", &p->ready);
	put_histogram(j, "slices", &p->slices);
	section_put_cpu(j, v, i);
	put_oldest(j, v, w);
	jw_field_u64(j, "findings", i < v->nr_site_findings ? v->site_findings[i] : 0);
	jw_object_end(j);
}

static void section_put_kind(struct json_writer *j, const struct view *v, size_t i)
{
	const struct spawn *s = &view_model(v)->spawns[i];
	struct report r = view_report(v);
	struct report_place where;
	char text[640] = "(not told)";

	if (i)
		report_spawn(&r, (uint32_t)i, text, sizeof(text));
	jw_object_begin(j);
	jw_field_string(j, "text", text);
	jw_key(j, "site");
	if (s->site) {
		report_place_of(&r, 0, s->site, 0, &where);
		jw_string(j, where.text);
	} else {
		jw_null(j);
	}
	jw_field_u64(j, "born", s->born);
	jw_field_u64(j, "ended", s->ended);
	jw_field_u64(j, "destroyed", s->destroyed);
	jw_field_u64(j, "alive", s->alive);
	jw_object_end(j);
}

int section_sites(struct view *v, struct bytes *out)
{
	const struct model *m = view_model(v);
	struct waiting *waiting = find_waiting(v);
	struct json_writer j;
	size_t i;

	if (!waiting)
		return -ENOMEM;
	jw_init_buffer(&j);
	jw_object_begin(&j);
	jw_key(&j, "sites");
	jw_array_begin(&j);
	for (i = 0; i < m->nr_places; i++)
		section_put_site(&j, v, i, &waiting[i]);
	jw_array_end(&j);
	jw_key(&j, "kinds");
	jw_array_begin(&j);
	for (i = 0; i < m->nr_spawns; i++)
		section_put_kind(&j, v, i);
	jw_array_end(&j);
	jw_object_end(&j);
	free(waiting);
	return view_take_json(&j, out);
}
