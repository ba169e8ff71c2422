/* SPDX-License-Identifier: MIT */
/* pid_alias.c - a table of pids in another pid namespace. */
#include "process/pid_alias.h"

#include <stddef.h>

#include "process/file_owner.h"

void pid_alias_add(struct pid_aliases *a, uint32_t outer)
{
	struct file_owner owner;
	struct err ignored;
	uint32_t i;

	if (file_owner_of((pid_t)outer, &owner, &ignored) < 0 || owner.inner == outer)
		return;
	for (i = 0; i < a->nr && a->inner[i] != owner.inner; i++)
		;
	/* A number that is used again belongs to the newest process. */
	if (i == PID_ALIASES)
		i = outer % PID_ALIASES;
	a->inner[i] = owner.inner;
	a->outer[i] = outer;
	if (i >= a->nr)
		a->nr = i + 1;
}

uint32_t pid_alias_outer(const struct pid_aliases *a, uint32_t inner)
{
	uint32_t i;

	for (i = 0; a && i < a->nr; i++) {
		if (a->inner[i] == inner)
			return a->outer[i];
	}
	return inner;
}
