/* SPDX-License-Identifier: MIT */
/* config.c - the default machine, and the checks of a configuration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/sim/config.h"

static const char *const policies[] = { "lru", "plru", "fifo", "lifo", "random" };
static const char *const inclusions[] = { "non-inclusive", "inclusive", "exclusive" };
static const char *const prefetches[] = { "none", "next-line", "tagged" };

const char *sim_policy_name(enum sim_policy policy)
{
	return policies[policy];
}

const char *sim_inclusion_name(enum sim_inclusion inclusion)
{
	return inclusions[inclusion];
}

const char *sim_prefetch_name(enum sim_prefetch prefetch)
{
	return prefetches[prefetch];
}

static int sim_find_name(const char *const *names, int nr, const char *text)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(names[i], text))
			return i;
	}
	return -1;
}

int sim_policy_find(const char *text)
{
	return sim_find_name(policies, 5, text);
}

int sim_inclusion_find(const char *text)
{
	return sim_find_name(inclusions, 3, text);
}

int sim_prefetch_find(const char *text)
{
	return sim_find_name(prefetches, 3, text);
}

bool sim_size_of(const char *text, uint64_t *out)
{
	static const char units[] = "kKmMgG";
	const char *unit;
	unsigned shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit)
		shift = 10 * ((unsigned)(unit - units) / 2 + 1);
	if (errno || end[unit ? 1 : 0] || *out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return true;
}

void sim_config_finish(struct sim_config *c)
{
	uint32_t k;

	for (k = 0; k < c->nr_levels; k++) {
		if (c->level[k].share == SIM_SHARE_DEFAULT)
			c->level[k].share = k && k + 1 == c->nr_levels ? 0 : 1;
	}
}

static void set_level(struct sim_level_config *l, const char *name, uint64_t size, uint32_t ways)
{
	memset(l, 0, sizeof(*l));
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->size = size;
	l->ways = ways;
	l->line = 64;
	l->share = 1;
}

void sim_config_default(struct sim_config *c)
{
	memset(c, 0, sizeof(*c));
	set_level(&c->level[0], "L1", 32 << 10, 8);
	set_level(&c->level[1], "L2", 256 << 10, 8);
	set_level(&c->level[2], "L3", 8 << 20, 16);
	c->level[2].share = 0;
	c->nr_levels = 3;
	c->page = 4096;
}

/* ---- one level ------------------------------------------------------------- */

static bool is_power(uint64_t v)
{
	return v && !(v & (v - 1));
}

static int check_size(const struct sim_level_config *l, struct err *err)
{
	uint64_t lines, ways;

	if (!is_power(l->line) || l->line < SIM_LINE_MIN || l->line > SIM_LINE_MAX)
		return err_set(err, -EINVAL,
			       "%s: invalid line size %u: expected a power of two from %u to %u",
			       l->name, l->line, SIM_LINE_MIN, SIM_LINE_MAX);
	if (l->size < l->line || l->size > SIM_CACHE_MAX)
		return err_set(err, -EINVAL, "%s: a size of %llu bytes: from one line to %llu GiB",
			       l->name, (unsigned long long)l->size, SIM_CACHE_MAX >> 30);
	if (l->size % l->line)
		return err_set(err, -EINVAL,
			       "%s: %llu bytes are not a multiple of the line size %u", l->name,
			       (unsigned long long)l->size, l->line);
	lines = l->size / l->line;
	ways = l->ways ? l->ways : lines;
	if (ways > lines)
		return err_set(err, -EINVAL, "%s: %u ways, but only %llu lines", l->name, l->ways,
			       (unsigned long long)lines);
	if (lines % ways)
		return err_set(err, -EINVAL,
			       "%s: %llu lines cannot be spread over sets of %llu ways", l->name,
			       (unsigned long long)lines, (unsigned long long)ways);
	if (ways > SIM_WAYS_MAX && ways != lines)
		return err_set(err, -EINVAL,
			       "%s: %llu ways: at most %u, or 0 for fully associative", l->name,
			       (unsigned long long)ways, SIM_WAYS_MAX);
	if (l->policy == SIM_PLRU && (!is_power(ways) || ways > SIM_WAYS_MAX)) {
		err_set(err, -EINVAL, "%s: plru needs a power of two of ways, up to %u", l->name,
			SIM_WAYS_MAX);
		err_hint(err, "take lru: it is what such hardware tries to come near to");
		return err->code;
	}
	return 0;
}

static int check_level(const struct sim_config *c, uint32_t k, struct err *err)
{
	const struct sim_level_config *l = &c->level[k], *above = k ? l - 1 : NULL;
	uint32_t j;

	if (check_size(l, err) < 0)
		return err->code;
	if (!above) {
		if (l->inclusion != SIM_NON_INCLUSIVE)
			return err_set(err, -EINVAL,
				       "%s: the first level has none above to be %s of", l->name,
				       sim_inclusion_name(l->inclusion));
		return 0;
	}
	if (l->line < above->line)
		return err_set(err, -EINVAL, "%s: its line is shorter than that of %s", l->name,
			       above->name);
	if (above->share == 0 ? l->share != 0 : l->share && l->share % above->share)
		return err_set(err, -EINVAL,
			       "%s: it must be shared by all the cores that share one %s", l->name,
			       above->name);
	if (l->inclusion != SIM_EXCLUSIVE)
		return 0;
	if (l->line != above->line)
		return err_set(err, -EINVAL, "%s: exclusive needs the line size of %s", l->name,
			       above->name);
	if (l->prefetch != SIM_PREFETCH_NONE)
		return err_set(err, -EINVAL,
			       "%s: exclusive, it has what %s lost and nothing else: no prefetch",
			       l->name, above->name);
	for (j = 0; j < k; j++) {
		if (c->level[j].write_through || c->level[j].no_allocate)
			return err_set(err, -EINVAL,
				       "%s: exclusive needs write-back and allocate in the level "
				       "above, %s has not",
				       l->name, c->level[j].name);
	}
	return 0;
}

/* ---- the whole machine ------------------------------------------------------- */

static int check_tlb(const struct sim_tlb_config *t, struct err *err)
{
	uint32_t ways = t->ways ? t->ways : t->entries;

	if (!t->entries || t->entries > SIM_TLB_MAX)
		return err_set(err, -EINVAL, "%s: %u entries: 1 to %u go there", t->name,
			       t->entries, SIM_TLB_MAX);
	if (ways > t->entries || t->entries % ways)
		return err_set(err, -EINVAL, "%s: %u entries cannot be spread over sets of %u ways",
			       t->name, t->entries, ways);
	if (ways > SIM_WAYS_MAX && ways != t->entries)
		return err_set(err, -EINVAL, "%s: %u ways: at most %u, or 0 for fully associative",
			       t->name, ways, SIM_WAYS_MAX);
	return 0;
}

/* Caches that are not shared by all cores need one line size: coherence works line by line. */
static int check_coherence(const struct sim_config *c, struct err *err)
{
	uint32_t k;

	for (k = 1; c->cores != 1 && k < c->nr_levels && c->level[k].share != 0; k++) {
		if (c->level[k].line != c->level[0].line) {
			err_set(err, -EINVAL,
				"%s: its line is longer than that of %s, and cores have their own",
				c->level[k].name, c->level[0].name);
			err_hint(err,
				 "share it (\"share\": \"all\"), or take one core (--cores 1)");
			return err->code;
		}
	}
	return 0;
}

int sim_config_check(const struct sim_config *c, struct err *err)
{
	uint32_t k;

	if (c->nr_levels < 1 || c->nr_levels > SIM_LEVELS_MAX)
		return err_set(err, -EINVAL, "%u levels of caches: 1 to %u are possible",
			       c->nr_levels, SIM_LEVELS_MAX);
	if (c->nr_tlbs > SIM_TLBS_MAX)
		return err_set(err, -EINVAL, "%u levels of TLBs: at most %u are possible",
			       c->nr_tlbs, SIM_TLBS_MAX);
	if (!is_power(c->page) || c->page < SIM_PAGE_MIN || c->page > SIM_PAGE_MAX)
		return err_set(err, -EINVAL, "a page of %u bytes: a power of two from %u to %u",
			       c->page, SIM_PAGE_MIN, SIM_PAGE_MAX);
	if (c->cores > SIM_CORES_MAX)
		return err_set(err, -EINVAL, "%u cores: at most %u are possible", c->cores,
			       SIM_CORES_MAX);
	for (k = 0; k < c->nr_levels; k++) {
		if (check_level(c, k, err) < 0)
			return err->code;
	}
	for (k = 0; k < c->nr_tlbs; k++) {
		if (check_tlb(&c->tlb[k], err) < 0)
			return err->code;
	}
	return check_coherence(c, err);
}
