/* SPDX-License-Identifier: MIT */
/* test_niceness.c - a process becomes nicer, and never less nice. */
#include "base/niceness.h"

#include "check.h"

static void it_only_rises(void)
{
	int usual = getpriority(PRIO_PROCESS, 0);

	niceness_at_least(usual);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), usual);
	niceness_at_least(usual - 3);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), usual);
	if (usual > 16)
		return; /* 19 is the highest one */
	niceness_at_least(usual + 3);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), usual + 3);
	niceness_at_least(usual + 1);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), usual + 3);
}

int main(void)
{
	RUN(it_only_rises);
	return 0;
}
