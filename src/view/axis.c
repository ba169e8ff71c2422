/* SPDX-License-Identifier: MIT */
/* axis.c - a time axis with a bounded number of equal buckets. */
#include "view/axis.h"

void axis_merge(struct axis *ax, const struct axis_owner *owner)
{
	owner->merge(owner->arg);
	ax->nr = ax->nr ? axis_merged(ax, ax->nr - 1) + 1 : 0;
	ax->first >>= 1;
	ax->shift++;
}

void axis_stretch(struct axis *ax, uint64_t ts, const struct axis_owner *owner)
{
	uint64_t bucket = ts >> ax->shift;

	if (!ax->nr) {
		ax->first = bucket;
		ax->nr = 1;
		return;
	}
	while (bucket < ax->first ? ax->first + ax->nr - bucket > ax->max
				  : bucket - ax->first >= ax->max) {
		axis_merge(ax, owner);
		bucket = ts >> ax->shift;
	}
	if (bucket < ax->first) {
		size_t by = (size_t)(ax->first - bucket);

		owner->move(owner->arg, by);
		ax->first = bucket;
		ax->nr += by;
	} else if (bucket - ax->first >= ax->nr) {
		ax->nr = (size_t)(bucket - ax->first) + 1;
	}
}
