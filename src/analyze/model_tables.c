/* SPDX-License-Identifier: MIT */
/* model_tables.c - the model's tables: places, kinds, resources, threads, windows. */
#include "analyze/model_tables.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WINDOW_NS (10 * MODEL_MS)
#define NAMES_MAX       (1u << 20)
/* Distinguishes sites from addresses in one map. */
#define KEY_SITE (UINT64_C(1) << 63)

int tables_room_for_one(void **array, size_t nr, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *bigger;

	if (nr < *room)
		return 0;
	bigger = realloc(*array, more * size);
	if (!bigger)
		return -ENOMEM;
	memset((char *)bigger + *room * size, 0, (more - *room) * size);
	*array = bigger;
	*room = more;
	return 0;
}

int tables_init(struct model *m)
{
	int rc = 0;

	if (m->nr_places)
		return 0;
	rc = tables_room_for_one((void **)&m->places, 0, &m->places_room, sizeof(*m->places));
	if (!rc)
		rc = tables_room_for_one((void **)&m->spawns, 0, &m->spawns_room,
					 sizeof(*m->spawns));
	if (rc)
		return rc;
	m->nr_places = m->nr_spawns = 1;
	m->window_ns = FIRST_WINDOW_NS;
	return 0;
}

/* ---- places, kinds, names ------------------------------------------------ */

int64_t tables_place(struct model *m, uint32_t site, uint64_t addr)
{
	uint64_t key = site ? KEY_SITE | site : addr & ~KEY_SITE, *number;

	if (!site && !addr)
		return 0;
	if (m->nr_places >= MODEL_PLACES) {
		uint64_t known;

		return u64map_get(&m->place_numbers, key, &known) ? (int64_t)known : 0;
	}
	number = u64map_at(&m->place_numbers, key);
	if (!number)
		return -ENOMEM;
	if (*number)
		return (int64_t)*number;
	if (tables_room_for_one((void **)&m->places, m->nr_places, &m->places_room,
				sizeof(*m->places)))
		return -ENOMEM;
	m->places[m->nr_places].site = site;
	m->places[m->nr_places].addr = site ? 0 : addr;
	*number = m->nr_places++;
	return (int64_t)*number;
}

int64_t tables_find_site(const struct model *m, uint32_t site)
{
	uint64_t number;

	return u64map_get(&m->place_numbers, KEY_SITE | site, &number) ? (int64_t)number : 0;
}

int64_t tables_name(struct model *m, const char *name, size_t size)
{
	char *copy;
	int64_t number;

	copy = strndup(name, size);
	if (!copy)
		return -ENOMEM;
	number = m->names.nr < NAMES_MAX ? strtab_intern(&m->names, copy)
					 : strtab_find(&m->names, copy);
	if (number == -ENOENT)
		number = strtab_intern(&m->names, "(name not kept: over a million)");
	free(copy);
	return number;
}

/* "worker 12" and "worker-7" are of the same kind, "worker". */
static size_t stem_of(const char *name, size_t size)
{
	size_t end = size;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end == size)
		return size;
	while (end && !isalnum((unsigned char)name[end - 1]))
		end--;
	return end;
}

int64_t tables_spawn(struct model *m, uint32_t site, const char *name, size_t size)
{
	uint64_t key = KEY_SITE | site, *number;
	int64_t stem = -1;

	if (name && size && stem_of(name, size)) {
		stem = tables_name(m, name, stem_of(name, size));
		if (stem < 0)
			return -ENOMEM;
	}
	if (!site && stem < 0)
		return 0;
	/*
	 * One site may create coroutines with several names, and one name may be used at several
	 * sites.
	 */
	key |= (uint64_t)(stem + 1) << 32;
	number = u64map_at(&m->spawn_numbers, key);
	if (!number)
		return -ENOMEM;
	if (*number || m->nr_spawns >= MODEL_SPAWNS)
		return (int64_t)*number;
	if (tables_room_for_one((void **)&m->spawns, m->nr_spawns, &m->spawns_room,
				sizeof(*m->spawns)))
		return -ENOMEM;
	m->spawns[m->nr_spawns].site = site;
	m->spawns[m->nr_spawns].name = (uint32_t)(stem + 1);
	*number = m->nr_spawns++;
	return (int64_t)*number;
}

/* ---- threads ------------------------------------------------------------- */

int tables_thread(struct model *m, const struct trace_event *ev)
{
	uint64_t *number = u64map_at(&m->threads, ev->tid);
	struct thread_count *t;

	if (!number)
		return -ENOMEM;
	if (!*number) {
		if (tables_room_for_one((void **)&m->thread_counts, m->nr_threads, &m->threads_room,
					sizeof(*m->thread_counts)))
			return -ENOMEM;
		m->thread_counts[m->nr_threads++].tid = ev->tid;
		*number = m->nr_threads;
	}
	m->thread_now = (uint32_t)(*number - 1);
	t = &m->thread_counts[*number - 1];
	t->resumes += ev->kind == TRACE_RESUME;
	if (ev->kind == TRACE_RESUME)
		t->current = ev->probe_id;
	else if (t->current == ev->probe_id && (ev->kind == TRACE_SUSPEND || ev->kind == TRACE_END))
		t->current = 0;
	return 0;
}

/* ---- windows ------------------------------------------------------------- */

/* Double the length of the windows and halve their number, so that any run fits. */
static void merge_windows(struct model *m)
{
	uint64_t active = 0;
	size_t i;
	unsigned k;

	for (i = 0; i < m->nr_spawns; i++) {
		for (k = 0; k < MODEL_WINDOWS / 2; k++)
			m->spawns[i].windows[k] = m->spawns[i].windows[2 * k + 1];
	}
	for (k = 0; k < MODEL_WINDOWS / 2; k++)
		active |= (uint64_t)((m->windows_active >> 2 * k & 3) != 0) << k;
	m->windows_active = active;
	m->nr_windows = MODEL_WINDOWS / 2;
	m->window_ns *= 2;
}

static void close_window(struct model *m)
{
	size_t i;

	if (m->nr_windows == MODEL_WINDOWS)
		merge_windows(m);
	for (i = 0; i < m->nr_spawns; i++) {
		uint64_t alive = m->spawns[i].alive;

		m->spawns[i].windows[m->nr_windows] = alive < UINT32_MAX ? (uint32_t)alive
									 : UINT32_MAX;
	}
	if (m->window_has_event)
		m->windows_active |= UINT64_C(1) << m->nr_windows;
	m->window_has_event = false;
	m->nr_windows++;
	m->window_end += m->window_ns;
}

void tables_windows(struct model *m, uint64_t ts)
{
	if (!m->window_end)
		m->window_end = ts + m->window_ns;
	while (ts >= m->window_end && m->window_ns < UINT64_MAX / 4)
		close_window(m);
	m->window_has_event = true;
}

/* ---- runs ---------------------------------------------------------------- */

void tables_next_run(struct model *m)
{
	size_t i;

	coro_ids_release(&m->ids);
	if (m->nr_coros)
		memset(m->coros, 0, m->nr_coros * sizeof(*m->coros));
	u64map_release(&m->place_numbers);
	u64map_release(&m->resource_numbers);
	u64map_release(&m->threads);
	if (m->nr_resources)
		memset(m->resources, 0, m->nr_resources * sizeof(*m->resources));
	if (m->nr_threads)
		memset(m->thread_counts, 0, m->nr_threads * sizeof(*m->thread_counts));
	m->nr_resources = m->nr_threads = 0;
	for (i = 0; i < m->nr_spawns; i++) {
		m->spawns[i].alive = 0;
		memset(m->spawns[i].windows, 0, sizeof(m->spawns[i].windows));
	}
	m->first_ts = m->last_ts = m->end_ts = m->window_end = 0;
	m->nr_windows = 0;
	m->window_ns = FIRST_WINDOW_NS;
}

/* ---- release ------------------------------------------------------------- */

void tables_release(struct model *m)
{
	size_t i;

	for (i = 0; i < m->nr_places; i++) {
		histogram_release(&m->places[i].waits);
		histogram_release(&m->places[i].ready);
		histogram_release(&m->places[i].slices);
		if (i < m->nr_settled)
			histogram_release(&m->settled[i].waits);
	}
	for (i = 0; i < m->nr_spawns; i++)
		histogram_release(&m->spawns[i].lives);
	free(m->places);
	free(m->spawns);
	free(m->resources);
	free(m->uses);
	free(m->thread_counts);
	u64map_release(&m->place_numbers);
	free(m->settled);
	u64map_release(&m->spawn_numbers);
	u64map_release(&m->resource_numbers);
	u64map_release(&m->threads);
	strtab_release(&m->names);
}
