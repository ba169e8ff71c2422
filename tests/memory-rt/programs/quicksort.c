/* SPDX-License-Identifier: MIT */
/* quicksort.c - sort NR numbers that are pseudo-random: quicksort NR */
#include <stdio.h>
#include <stdlib.h>

static void sort_range(int *a, long from, long to)
{
	long i = from, j = to;
	int pivot = a[(from + to) / 2];

	while (i <= j) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i <= j) {
			int held = a[i];

			a[i++] = a[j];
			a[j--] = held;
		}
	}
	if (from < j)
		sort_range(a, from, j);
	if (i < to)
		sort_range(a, i, to);
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 1000, i;
	int *a = calloc((size_t)nr, sizeof(*a));
	unsigned state = 1;

	for (i = 0; i < nr; i++) {
		state = state * 1103515245u + 12345u;
		a[i] = (int)(state >> 8);
	}
	sort_range(a, 0, nr - 1);
	printf("%d\n", a[nr / 2]);
	free(a);
	return 0;
}
