/* SPDX-License-Identifier: MIT */
/* records.c - one record per coroutine of the trace. */
#include "view/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores ----------------------------------------------------------------- */

#define SCORE_FINDING (UINT64_C(1) << 63)
#define SCORE_ALIVE   (UINT64_C(1) << 62)

static uint64_t score_of(const struct view_record *rec)
{
	uint64_t score = rec->longest < SCORE_ALIVE ? rec->longest : SCORE_ALIVE - 1;

	if (rec->findings | rec->findings_now)
		score |= SCORE_FINDING;
	if (rec->state != TRACE_STATE_ENDED)
		score |= SCORE_ALIVE;
	return score;
}

static int highest_first(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x > *y ? -1 : *x < *y;
}

/* The lowest score among the best @max records, and how many with exactly that score to take. */
static int records_limit_of(const struct records *r, size_t max, uint64_t *limit, size_t *ties)
{
	uint64_t *scores = malloc((r->nr + 1) * sizeof(*scores));
	size_t i;

	if (!scores)
		return -ENOMEM;
	for (i = 0; i < r->nr; i++)
		scores[i] = score_of(&r->all[i]);
	qsort(scores, r->nr, sizeof(*scores), highest_first);
	*limit = scores[max - 1];
	for (*ties = 1; *ties < max && scores[max - 1 - *ties] == *limit;)
		++*ties;
	free(scores);
	return 0;
}

int64_t records_select(const struct records *r, size_t max, uint32_t **kept)
{
	uint64_t limit = 0;
	size_t ties = SIZE_MAX, nr = 0, i;

	*kept = malloc((r->nr + 1) * sizeof(**kept));
	if (!*kept)
		return -ENOMEM;
	if (max && r->nr > max && records_limit_of(r, max, &limit, &ties) < 0) {
		free(*kept);
		return -ENOMEM;
	}
	for (i = 0; max && i < r->nr; i++) {
		uint64_t score = score_of(&r->all[i]);

		if (score < limit || (score == limit && !ties))
			continue;
		ties -= score == limit;
		(*kept)[nr++] = (uint32_t)i;
	}
	return (int64_t)nr;
}

/* ---- the table ------------------------------------------------------------- */

static uint64_t records_key(uint64_t probe_id, uint32_t station)
{
	return probe_id ^ (uint64_t)station << 32;
}

static int records_list(struct records *r, struct view_record *rec)
{
	uint64_t *last = u64map_at(&r->by_id, records_key(rec->probe_id, rec->station));

	if (!last)
		return -ENOMEM;
	rec->earlier = (uint32_t)*last;
	*last = (uint64_t)rec->number + 1;
	return 0;
}

static int records_list_all(struct records *r)
{
	size_t i;

	u64map_release(&r->by_id);
	for (i = 0; i < r->nr; i++) {
		if (records_list(r, &r->all[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Drop destroyed coroutines whose score is not among the best r->max. */
static int records_thin_out(struct records *r)
{
	uint64_t limit;
	size_t ties, to = 0, i;

	if (records_limit_of(r, r->max, &limit, &ties) < 0)
		return -ENOMEM;
	for (i = 0; i < r->nr; i++) {
		struct view_record *rec = &r->all[i];

		bool is_listed = r->of_model[rec->model_number] == i + 1;

		if (rec->gone && score_of(rec) <= limit) {
			if (is_listed)
				r->of_model[rec->model_number] = 0;
			continue;
		}
		if (is_listed)
			r->of_model[rec->model_number] = (uint32_t)to + 1;
		r->all[to++] = *rec;
	}
	r->nr = to;
	return records_list_all(r);
}

static int records_make_room(struct records *r)
{
	size_t room = r->room ? r->room * 2 : 64;
	struct view_record *all;

	if (r->nr < r->room)
		return 0;
	if (r->room >= 2 * r->max) {
		if (records_thin_out(r) < 0)
			return -ENOMEM;
		/* Otherwise most coroutines are alive and must stay: grow. */
		if (r->nr <= r->room / 4 * 3)
			return 0;
	} else if (room > 2 * r->max) {
		room = 2 * r->max;
	}
	all = reallocarray(r->all, room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	r->all = all;
	r->room = room;
	return 0;
}

static int records_make_room_for(struct records *r, size_t model_number)
{
	size_t room = r->of_model_room ? r->of_model_room : 64;
	uint32_t *of_model;

	if (model_number < r->of_model_room)
		return 0;
	while (room <= model_number)
		room *= 2;
	of_model = reallocarray(r->of_model, room, sizeof(*of_model));
	if (!of_model)
		return -ENOMEM;
	memset(of_model + r->of_model_room, 0, (room - r->of_model_room) * sizeof(*of_model));
	r->of_model = of_model;
	r->of_model_room = room;
	return 0;
}

/* The last one with the id of @copy that was there when the copy was made. */
static struct view_record *record_of_copy(const struct records *r, const struct coro *copy)
{
	uint64_t ts = copy->since_ts > copy->birth_ts ? copy->since_ts : copy->birth_ts, at = 0;
	struct view_record *rec = NULL;

	u64map_get(&r->by_id, records_key(copy->probe_id, copy->station), &at);
	for (; at; at = rec->earlier) {
		rec = records_find(r, at - 1);
		if (!rec || (rec->probe_id == copy->probe_id && rec->station == copy->station &&
			     rec->first <= ts))
			return rec;
	}
	return NULL;
}

struct view_record *records_of(const struct records *r, const struct model *m,
			       const struct coro *co)
{
	uintptr_t at = (uintptr_t)co, first = (uintptr_t)m->coros;
	size_t number;

	if (at < first || at >= (uintptr_t)(m->coros + m->nr_coros))
		return record_of_copy(r, co);
	number = (size_t)(co - m->coros);
	if (number >= r->of_model_room || !r->of_model[number])
		return NULL;
	return &r->all[r->of_model[number] - 1];
}

struct view_record *records_enter(struct records *r, const struct model *m, const struct coro *co,
				  bool *is_new)
{
	size_t number = (size_t)(co - m->coros);
	struct view_record *rec = records_of(r, m, co);

	/* The model reuses the number of a destroyed coroutine. */
	*is_new = !rec || rec->gone;
	if (!*is_new)
		return rec;
	if (r->next >= UINT32_MAX || records_make_room_for(r, number) < 0 ||
	    records_make_room(r) < 0)
		return NULL;
	rec = &r->all[r->nr];
	memset(rec, 0, sizeof(*rec));
	rec->number = (uint32_t)r->next++;
	rec->model_number = (uint32_t)number;
	rec->probe_id = co->probe_id;
	rec->station = co->station;
	if (records_list(r, rec) < 0)
		return NULL;
	r->nr++;
	r->of_model[number] = (uint32_t)r->nr;
	return rec;
}

struct view_record *records_find(const struct records *r, uint64_t number)
{
	size_t low = 0, high = r->nr;

	/* No record was dropped: the index is the number. */
	if (r->nr == r->next)
		return number < r->nr ? &r->all[number] : NULL;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->all[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->nr && r->all[low].number == number ? &r->all[low] : NULL;
}

void records_release(struct records *r)
{
	free(r->all);
	free(r->of_model);
	u64map_release(&r->by_id);
	*r = (struct records){ 0 };
}
