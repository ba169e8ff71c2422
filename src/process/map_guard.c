/* SPDX-License-Identifier: MIT */
/* map_guard.c - survive truncation of a mapped file: map zeros on SIGBUS. */
#include "process/map_guard.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Global, because the signal handler has no other access to it. */
static struct {
	struct {
		char *map;
		uint64_t size;
		int prot;
	} part[4];
	size_t nr_parts;
	long page;
	volatile sig_atomic_t shrunk;
} guard;

/* Map a page of zeros where the file ended; the scan continues and finds nothing there. */
static bool map_guard_mend(char *addr)
{
	char *page = addr - (uintptr_t)addr % (uintptr_t)guard.page;
	size_t i;

	for (i = 0; i < guard.nr_parts; i++) {
		if (!guard.part[i].map || addr < guard.part[i].map ||
		    addr >= guard.part[i].map + guard.part[i].size)
			continue;
		return mmap(page, (size_t)guard.page, guard.part[i].prot,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
	}
	return false;
}

static void map_guard_on_sigbus(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (map_guard_mend(info->si_addr))
		guard.shrunk = 1;
	else
		signal(sig, SIG_DFL); /* not a guarded mapping: let the fault kill the process */
}

void map_guard_add(void *map, uint64_t size, int prot)
{
	struct sigaction act;

	if (guard.nr_parts >= sizeof(guard.part) / sizeof(guard.part[0]))
		return;
	guard.part[guard.nr_parts].map = map;
	guard.part[guard.nr_parts].size = size;
	guard.part[guard.nr_parts++].prot = prot;
	guard.page = sysconf(_SC_PAGESIZE);
	memset(&act, 0, sizeof(act));
	act.sa_sigaction = map_guard_on_sigbus;
	act.sa_flags = SA_SIGINFO;
	sigaction(SIGBUS, &act, NULL);
}

void map_guard_remove(void *map)
{
	unsigned i;

	for (i = 0; i < guard.nr_parts && guard.part[i].map != map; i++)
		;
	if (i < guard.nr_parts)
		guard.part[i] = guard.part[--guard.nr_parts];
}

bool map_guard_shrunk(void)
{
	return guard.shrunk;
}
