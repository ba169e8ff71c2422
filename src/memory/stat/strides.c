/* SPDX-License-Identifier: MIT */
/* strides.c - the strides of the accesses of each site. */
#include "memory/stat/strides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The index of the site of @r; -1: ignored; -ENOMEM. */
static int64_t strides_site_of(struct strides *s, const struct mem_record *r, bool *is_new)
{
	uint64_t key = (r->pc ? r->pc : r->kind) ^ (uint64_t)r->thread << 48, *at, known;
	struct strides_recent *recent = &s->recent[(key ^ key >> 11) & (STRIDES_RECENT - 1)];

	*is_new = false;
	if (recent->index && recent->key == key)
		return (int64_t)recent->index - 1;
	if (u64map_get(&s->sites, key, &known)) {
		*recent = (struct strides_recent){ key, (uint32_t)known };
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

static int strides_count(struct strides *s, struct strides_site *site, int64_t stride)
{
	uint64_t index;
	int ret = 0;

	if (site->walks && site->stride == stride && site->times == s->times) {
		s->kept[site->kept].count++;
		return 0;
	}
	if (u64map_get(&s->by_stride, (uint64_t)stride, &index)) {
		s->kept[--index].count++;
	} else {
		if (s->nr_kept == STRIDES_KEPT && drop_the_rare_half(s) < 0)
			return -ENOMEM;
		index = s->nr_kept;
		s->kept[s->nr_kept++] = (struct stride){ stride, 1 };
		ret = u64map_put(&s->by_stride, (uint64_t)stride, s->nr_kept);
	}
	site->kept = (uint32_t)index;
	site->times = s->times;
	return ret;
}

int strides_access(struct strides *s, const struct mem_record *r)
{
	bool is_new;
	int64_t i = strides_site_of(s, r, &is_new), stride;
	struct strides_site *site;
	int ret = 0;

	if (i < 0) {
		s->unknown++;
		return i == -ENOMEM ? -ENOMEM : 0;
	}
	site = &s->site[i];
	if (is_new) {
		*site = (struct strides_site){ .last = r->address };
		return 0;
	}
	stride = (int64_t)(r->address - site->last);
	s->all++;
	s->same += site->walks && stride == site->stride;
	s->zero += stride == 0;
	s->next += stride == r->size && stride != 0;
	ret = strides_count(s, site, stride);
	site->last = r->address;
	site->stride = stride;
	site->walks = true;
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
