/* SPDX-License-Identifier: MIT */
/* site_predictor.c - sites for accesses without a code address. */
#include "memory/format/site_predictor.h"

#include <string.h>

#define NEAR 2048u /* bytes: longest step of a walk */

void guess_begin(struct guess *g)
{
	memset(g, 0, sizeof(*g));
}

static uint64_t guess_distance(uint64_t a, uint64_t b)
{
	uint64_t d = a - b;

	return d >> 63 ? 0 - d : d;
}

static struct guess_group *guess_group_of(struct guess *g, uint32_t how)
{
	uint32_t i = (how * 2654435761u) >> 26; /* 6 bits: GUESS_GROUPS */
	uint32_t tries;

	for (tries = 0; tries < GUESS_GROUPS; tries++, i = (i + 1) % GUESS_GROUPS) {
		if (g->groups[i].nr && g->groups[i].how != how)
			continue;
		g->groups[i].how = how;
		return &g->groups[i];
	}
	return NULL;
}

/* The walk that predicts @address, else the nearest one; NULL: none is near. */
static struct cray_pack_site *guess_best(const struct guess_group *group, const struct cray_pack *p,
					 uint64_t address)
{
	struct cray_pack_site *found = NULL;
	uint64_t least = NEAR;
	uint32_t i;

	for (i = 0; i < group->nr; i++) {
		struct cray_pack_site *w = group->walks[i];
		uint64_t d = guess_distance(address, w->last);

		if (address == w->last + w->stride || address == p->before + w->distance)
			return w;
		if (d < least) {
			least = d;
			found = w;
		}
	}
	return found;
}

/* No walk is near: a new site while the limit allows, else reuse the oldest. */
static struct cray_pack_site *guess_other(struct guess_group *group, struct cray_pack *p,
					  uint32_t how)
{
	struct cray_pack_site *site;
	uint32_t who; /* unused: site->number has the same information */

	if (group->nr < GUESS_WALKS)
		return group->walks[group->nr++] = cray_pack_another(p, 0, how, &who);
	site = group->walks[group->oldest];
	group->oldest = (group->oldest + 1) % GUESS_WALKS;
	return site;
}

void guess_access(struct guess *g, struct cray_pack *p, uint64_t address, uint32_t how)
{
	struct cray_pack_site *site = p->here->next;
	struct guess_group *group;

	if (site->how == how && site->pc == 0 &&
	    (address == site->last + site->stride || address == p->before + site->distance)) {
		cray_pack_at(p, site, CRAY_NEXT, address);
		return;
	}
	group = guess_group_of(g, how);
	if (!group) {
		cray_pack_access(p, 0, address, how);
		return;
	}
	site = guess_best(group, p, address);
	if (!site)
		site = guess_other(group, p, how);
	cray_pack_at(p, site, site == p->here->next ? CRAY_NEXT : site->number + CRAY_SITE,
		     address);
}
