/* SPDX-License-Identifier: MIT */
/*
 * particles.c - a simulation whose record is in logical order, not in order of use.
 *
 *	corotracer mem cc -O2 -g -o particles particles.c
 *	corotracer mem run -o particles.trace -- ./particles 20000 10
 *	corotracer mem layout particles.trace
 *
 * particles [COUNT [STEPS]] prints the time per step; with -DAFTER it uses the record that
 * `mem layout` printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cacheray.h>

#include "particles.h"

/* In the order of their cells, which is not the order in memory. */
static void step(struct particle *all, const unsigned *order, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		struct particle *p = &all[order[i]];

		p->x += p->vx;
		p->y += p->vy;
		p->z += p->vz;
	}
}

static void shuffle(unsigned *order, size_t nr)
{
	unsigned long random = 1;
	size_t i, other;

	for (i = 0; i < nr; i++)
		order[i] = (unsigned)i;
	for (i = nr; i > 1; i--) {
		unsigned was = order[i - 1];

		random = random * 6364136223846793005ul + 1442695040888963407ul;
		other = (random >> 33) % i;
		order[i - 1] = order[other];
		order[other] = was;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000, i;
	unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 50, n;
	struct particle *all = aligned_alloc(64, nr * sizeof(*all) + 64 - nr * sizeof(*all) % 64);
	unsigned *order = malloc(nr * sizeof(*order));
	double start, sum = 0;

	if (!all || !order)
		return 1;
	shuffle(order, nr);
	cacheray_rtta_add(all, sizeof(*all), nr, "struct particle");
	for (i = 0; i < nr; i++)
		all[i] = (struct particle){ .id = (int)i, .vx = 1, .vy = 0.5, .vz = 2 };
	start = now();
	for (n = 0; n < steps; n++)
		step(all, order, nr);
	fprintf(stderr, "%.3f us per step\n", (now() - start) * 1e6 / (double)steps);
	for (i = 0; i < nr; i++)
		sum += all[i].x + all[i].y + all[i].z;
	printf("%g\n", sum);
	free(all);
	free(order);
	return 0;
}
