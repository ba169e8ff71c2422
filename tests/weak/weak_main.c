/* SPDX-License-Identifier: MIT */
/*
 * weak_main.c - run the tests of this program.
 *
 * usage: PROGRAM [--full] [--sites] [--weaken ADDRESS,...] [--keep BITS] [TEST...]
 *
 * --sites prints the ordered accesses that were executed: address, kind, order.  --weaken makes
 * those at the addresses weaker: only the orders in BITS are kept (default 0: relaxed, no fence).
 * Exit 0: every property holds; 1: one is violated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weak_machine.h"
#include "weak_sites.h"
#include "weak_tests.h"

#define SITES 512u

struct site {
	const void *at;
	char kind;
	unsigned order;
	bool is_weakened;
};

static struct site sites[SITES];
static unsigned nr_sites, keep;

static struct site *site_find(const void *at)
{
	unsigned i;

	for (i = 0; i < nr_sites; i++) {
		if (sites[i].at == at)
			return &sites[i];
	}
	return nr_sites < SITES
		       ? memcpy(&sites[nr_sites++], &(struct site){ .at = at }, sizeof(struct site))
		       : NULL;
}

unsigned weak_site(const void *at, char kind, unsigned order)
{
	struct site *s = order ? site_find(at) : NULL;

	if (!s)
		return order;
	s->kind = kind;
	s->order = order;
	return s->is_weakened ? order & keep : order;
}

unsigned weak_failed_site(const void *at, unsigned order)
{
	const struct site *s = order ? site_find(at) : NULL;

	return s && s->is_weakened ? order & keep : order;
}

static void weaken_list(char *list)
{
	char *at = strtok(list, ",");

	for (; at; at = strtok(NULL, ",")) {
		struct site *s = site_find((const void *)(uintptr_t)strtoull(at, NULL, 16));

		if (s)
			s->is_weakened = true;
	}
}

static bool run_test(const struct weak_test *test)
{
	struct weak_result result;

	weak_search(test, &result);
	if (result.failed)
		return false;
	printf("%-24s %9llu states %9llu executions  %s\n", test->name,
	       (unsigned long long)result.states, (unsigned long long)result.executions,
	       test->what);
	fflush(stdout);
	return true;
}

static bool is_wanted(const char *name, char **names, bool is_full, const struct weak_test *test)
{
	if (!*names)
		return is_full || !test->full_only;
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	bool is_full = false, shows_sites = false, is_good = true;
	unsigned i;
	int at;

	for (at = 1; at < argc && argv[at][0] == '-'; at++) {
		if (strcmp(argv[at], "--full") == 0)
			is_full = true;
		else if (strcmp(argv[at], "--sites") == 0)
			shows_sites = true;
		else if (strcmp(argv[at], "--weaken") == 0 && at + 1 < argc)
			weaken_list(argv[++at]);
		else if (strcmp(argv[at], "--keep") == 0 && at + 1 < argc)
			keep = (unsigned)strtoul(argv[++at], NULL, 0);
	}
	for (i = 0; weak_tests[i].name && is_good; i++) {
		if (is_wanted(weak_tests[i].name, argv + at, is_full, &weak_tests[i]))
			is_good = run_test(&weak_tests[i]);
	}
	for (i = 0; i < nr_sites && shows_sites; i++)
		printf("site %p %c %u\n", sites[i].at, sites[i].kind, sites[i].order);
	return is_good ? 0 : 1;
}
