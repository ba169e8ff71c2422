/* SPDX-License-Identifier: MIT */
/* hot_cold.c - an array of records of which a loop uses a few fields, far apart. */
#include <stdio.h>

#ifndef STEPS
#define STEPS 5
#endif

/* layout */
struct particle {
	char name[40];
	double x, y, z;
	char note[64];
	double vx, vy, vz;
	int id;
	long created;
};
/* end */

static struct particle table[3000];

int main(void)
{
	double sum = 0;

	for (int i = 0; i < 3000; i++) {
		table[i].vx = i;
		table[i].vy = 2;
		table[i].vz = 3;
		table[i].id = i;
	}
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < 3000; i++) {
			table[i].x += table[i].vx;
			table[i].y += table[i].vy;
			table[i].z += table[i].vz;
			sum += table[i].x;
		}
	}
	printf("%g\n", sum);
	return 0;
}
