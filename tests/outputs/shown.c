/* SPDX-License-Identifier: MIT */
/*
 * shown.c - save frames with the same values in every run.
 *
 *	shown FRAMES
 *
 * Saves frames "warm" until a line comes on standard input, so that a collector can attach; then
 * FRAMES frames "value", prints "done", and continues with "warm" until the end of input.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ppt-Shown.h"

static uint64_t roll(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Until there is input: a line or the end. */
static void warm_until_input(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct ppt_Shown_warm w;

	memset(&w, 0, sizeof(w));
	while (poll(&p, 1, 1) == 0) {
		w.n++;
		ppt_Shown_warm_save(&w);
	}
}

static void save_value(uint64_t n, uint64_t *state)
{
	static const int methods[] = { 0, 7, 8, 3 }; /* the last one has no name */
	struct ppt_Shown_value v;

	memset(&v, 0, sizeof(v));
	v.n = n;
	v.latency = 1000 + (roll(state) >> (24 + roll(state) % 38));
	v.load = (double)(roll(state) % 1000000) / 7e6;
	v.balance = (int)(roll(state) % 20001) - 10000;
	v.hit = roll(state) % 10 < 7;
	v.method = methods[roll(state) % 16 < 8 ? 0 : roll(state) % 4];
	snprintf(v.path, sizeof(v.path), "/item/%u",
		 (unsigned)(roll(state) % 4 ? 1 : roll(state) % 50));
	ppt_Shown_value_save(&v);
}

int main(int argc, char **argv)
{
	uint64_t n, nr = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, state = 88172645463325252u;
	char line[16];

	puts("ready");
	fflush(stdout);
	warm_until_input();
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	for (n = 1; n <= nr; n++)
		save_value(n, &state);
	puts("done");
	fflush(stdout);
	warm_until_input();
	return 0;
}
