/* SPDX-License-Identifier: MIT */
/* strides.c - the strides of the accesses of each site. */
#include "memory/stat/strides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t strides_slot(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - STRIDES_BITS));
}

/* The index of a site that is not among the recent ones; -1: ignored; -ENOMEM. */
static int64_t strides_find_site(struct strides *s, uint64_t key, bool *is_new)
{
	uint64_t *at, known;

	if (u64map_get(&s->sites, key, &known)) {
		s->recent[strides_slot(key)] = (uint32_t)known;
		return (int64_t)known - 1;
	}
	if (s->nr_sites == STRIDES_SITES)
		return -1;
	if (s->nr_sites == s->sites_size) {
		size_t more = s->sites_size ? s->sites_size * 2 : 256;
		void *bigger = realloc(s->site, more * sizeof(*s->site));

		if (!bigger)
			return -ENOMEM;
		s->site = bigger;
		s->sites_size = more;
	}
	at = u64map_at(&s->sites, key);
	if (!at)
		return -ENOMEM;
	*at = ++s->nr_sites;
	*is_new = true;
	return (int64_t)s->nr_sites - 1;
}

static int by_count(const void *a, const void *b)
{
	const struct stride *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

static int drop_the_rare_half(struct strides *s)
{
	size_t i;

	qsort(s->kept, s->nr_kept, sizeof(s->kept[0]), by_count);
	s->nr_kept = STRIDES_KEPT / 2;
	s->times++;
	s->under += s->kept[s->nr_kept].count;
	u64map_release(&s->by_stride);
	for (i = 0; i < s->nr_kept; i++) {
		if (u64map_put(&s->by_stride, (uint64_t)s->kept[i].stride, i + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Count a stride that is not that of the site's last walk. */
static int strides_count(struct strides *s, struct strides_site *site, int64_t stride)
{
	struct strides_kept *found = &s->found[strides_slot((uint64_t)stride)];
	uint64_t index;
	int ret = 0;

	if (found->kept && found->stride == stride && found->times == s->times) {
		index = found->kept - 1;
		s->kept[index].count++;
	} else if (u64map_get(&s->by_stride, (uint64_t)stride, &index)) {
		s->kept[--index].count++;
	} else {
		if (s->nr_kept == STRIDES_KEPT && drop_the_rare_half(s) < 0)
			return -ENOMEM;
		index = s->nr_kept;
		s->kept[s->nr_kept++] = (struct stride){ stride, 1 };
		ret = u64map_put(&s->by_stride, (uint64_t)stride, s->nr_kept);
	}
	*found = (struct strides_kept){ stride, (uint32_t)index + 1, s->times };
	site->kept = (uint32_t)index;
	site->times = s->times;
	return ret;
}

/* Sums of a run. */
struct strides_run_sums {
	uint64_t all, same, zero, next;
};

static inline int strides_walk(struct strides *s, struct strides_site *site,
			       const struct mem_access *a, struct strides_run_sums *sums)
{
	int64_t stride = (int64_t)(a->address - site->last);
	bool is_same = site->walks && stride == site->stride;

	sums->all++;
	sums->same += is_same;
	sums->zero += stride == 0;
	sums->next += stride == a->size && stride != 0;
	site->last = a->address;
	if (is_same && site->times == s->times) {
		s->kept[site->kept].count++;
		return 0;
	}
	site->stride = stride;
	site->walks = true;
	return strides_count(s, site, stride);
}

/* The index of a site, as strides_find_site(). */
static inline int64_t strides_site_of(struct strides *s, uint64_t key, bool *is_new)
{
	uint32_t recent = s->recent[strides_slot(key)];

	if (recent && s->site[recent - 1].key == key)
		return (int64_t)recent - 1;
	return strides_find_site(s, key, is_new);
}

int strides_run(struct strides *s, uint32_t thread, const struct mem_access *access, size_t nr)
{
	const struct mem_access *a = access, *end = access + nr;
	struct strides_run_sums sums = { 0 };
	int ret = 0;

	for (; ret == 0 && a < end; a++) {
		uint64_t key = (a->pc ? a->pc : a->is_write) ^ (uint64_t)thread << 48;
		bool is_new = false;
		int64_t i = strides_site_of(s, key, &is_new);

		if (i < 0) {
			s->unknown++;
			ret = i == -ENOMEM ? -ENOMEM : 0;
		} else if (is_new) {
			s->site[i] = (struct strides_site){ .key = key, .last = a->address };
		} else {
			ret = strides_walk(s, &s->site[i], a, &sums);
		}
	}
	s->all += sums.all;
	s->same += sums.same;
	s->zero += sums.zero;
	s->next += sums.next;
	return ret;
}

void strides_sort(struct strides *s)
{
	qsort(s->kept, s->nr_kept, sizeof(s->kept[0]), by_count);
	u64map_release(&s->by_stride); /* its indices are no longer valid */
}

void strides_release(struct strides *s)
{
	free(s->site);
	u64map_release(&s->sites);
	u64map_release(&s->by_stride);
	memset(s, 0, sizeof(*s));
}
