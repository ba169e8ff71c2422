/* SPDX-License-Identifier: MIT */
/*
 * niceness.h - work beside a program gives way to it.
 */
#ifndef CT_BASE_NICENESS_H
#define CT_BASE_NICENESS_H

#include <sys/resource.h>

/* A process that is nicer already stays so: only root may take it back, which was not asked for. */
static inline void niceness_at_least(int nice)
{
	if (getpriority(PRIO_PROCESS, 0) < nice)
		setpriority(PRIO_PROCESS, 0, nice);
}

#endif
