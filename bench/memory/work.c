/* SPDX-License-Identifier: MIT */
/*
 * work.c - the workloads of bench/memory.sh: a matrix product, a quicksort, a hash table.
 *
 *	work matmul|quicksort|hash SCALE
 *
 * Prints the seconds that the work itself took (CLOCK_MONOTONIC), a checksum, which keeps the
 * compiler from removing the work and shows a wrong result, and the CPU time of the process so far.
 * Compiled four times: plain, for ThreadSanitizer, with empty callbacks, with the runtime.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 88172645463325252u;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* n x n doubles, rows times columns: the inner loop has two loads and sums in a register. */
static uint64_t matmul(size_t n)
{
	double *a = malloc(n * n * sizeof(*a)), *b = malloc(n * n * sizeof(*b));
	double *c = malloc(n * n * sizeof(*c));
	size_t i, j, k;
	double sum = 0;

	if (!a || !b || !c)
		exit(1);
	for (i = 0; i < n * n; i++) {
		a[i] = (double)(random64() % 100);
		b[i] = (double)(random64() % 100);
	}
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			double s = 0;

			for (k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
	}
	for (i = 0; i < n * n; i++)
		sum += c[i];
	free(a);
	free(b);
	free(c);
	return (uint64_t)sum;
}

static void sort(int32_t *v, long n)
{
	while (n > 16) {
		int32_t pivot = v[n / 2];
		long i = 0, j = n - 1;

		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				int32_t t = v[i];

				v[i++] = v[j];
				v[j--] = t;
			}
		}
		sort(v, j + 1);
		v += i;
		n -= i;
	}
	for (long i = 1; i < n; i++) {
		int32_t t = v[i];
		long j = i;

		for (; j > 0 && v[j - 1] > t; j--)
			v[j] = v[j - 1];
		v[j] = t;
	}
}

static uint64_t quicksort(size_t n)
{
	int32_t *v = malloc(n * sizeof(*v));
	uint64_t sum = 0;
	size_t i;

	if (!v)
		exit(1);
	for (i = 0; i < n; i++)
		v[i] = (int32_t)random64();
	sort(v, (long)n);
	for (i = 0; i < n; i++)
		sum = sum * 31 + (uint32_t)v[i];
	free(v);
	return sum;
}

struct entry {
	struct entry *next;
	uint64_t key;
	uint64_t value;
};

/* Chains of allocated entries: n insertions, then 3n lookups. */
static uint64_t hash(size_t n)
{
	size_t buckets = 1, i;
	struct entry **table;
	uint64_t sum = 0;

	while (buckets < n)
		buckets *= 2;
	table = calloc(buckets, sizeof(*table));
	if (!table)
		exit(1);
	for (i = 0; i < n; i++) {
		struct entry *e = malloc(sizeof(*e));
		size_t at;

		if (!e)
			exit(1);
		e->key = random64() % (4 * n);
		e->value = i;
		at = e->key * 0x9E3779B97F4A7C15u & (buckets - 1);
		e->next = table[at];
		table[at] = e;
	}
	for (i = 0; i < 3 * n; i++) {
		uint64_t key = random64() % (4 * n);
		struct entry *e = table[key * 0x9E3779B97F4A7C15u & (buckets - 1)];

		for (; e; e = e->next) {
			if (e->key == key) {
				sum += e->value;
				e->value++;
				break;
			}
		}
	}
	return sum; /* the entries are not freed: the process exits */
}

int main(int argc, char **argv)
{
	size_t scale = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t sum = 0;
	double start;

	if (scale == 0) {
		fprintf(stderr, "usage: work matmul|quicksort|hash SCALE\n");
		return 2;
	}
	start = now(CLOCK_MONOTONIC);
	if (strcmp(argv[1], "matmul") == 0)
		sum = matmul(scale);
	else if (strcmp(argv[1], "quicksort") == 0)
		sum = quicksort(scale);
	else if (strcmp(argv[1], "hash") == 0)
		sum = hash(scale);
	printf("%.6f %llu %.6f\n", now(CLOCK_MONOTONIC) - start, (unsigned long long)sum,
	       now(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
