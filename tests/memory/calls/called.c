/* SPDX-License-Identifier: MIT */
/*
 * called.c - functions that call each other in all ways: from two lines, themselves, in a circle,
 * through the C library, by a jump out of them, and in another thread.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#define CELLS ((size_t)1 << 16)

static long cells[CELLS];
static volatile long sink;
static jmp_buf out;

__attribute__((noinline)) static long read_far(size_t from, size_t nr)
{
	long sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += cells[(from + i * 97) % CELLS];
	return sum;
}

__attribute__((noinline)) static void write_near(size_t from, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		cells[(from + i) % CELLS] = (long)i;
}

__attribute__((noinline)) static void work_twice(size_t at)
{
	sink += read_far(at, 400);
	write_near(at, 100);
	sink += read_far(at + 50, 200);
}

__attribute__((noinline)) static long recurse(unsigned depth)
{
	long sum = read_far((size_t)depth * 977, 50);

	if (depth)
		sum += recurse(depth - 1);
	cells[depth] = sum;
	return sum;
}

__attribute__((noinline)) static long odd(unsigned n);

__attribute__((noinline)) static long even(unsigned n)
{
	cells[n * 64 % CELLS]++;
	return n ? odd(n - 1) + 1 : 0;
}

__attribute__((noinline)) static long odd(unsigned n)
{
	cells[(n * 64 + 8) % CELLS]++;
	return n ? even(n - 1) + 1 : 0;
}

static int compare(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

__attribute__((noinline)) static void jump_out(unsigned depth)
{
	cells[depth * 512 % CELLS]++;
	if (!depth)
		longjmp(out, 1);
	jump_out(depth - 1);
	sink++;
}

__attribute__((noinline)) static void after_jump(void)
{
	sink += read_far(11, 300);
}

__attribute__((noinline)) static void sort_some(void)
{
	qsort(cells, 500, sizeof(cells[0]), compare);
}

static void *other_thread(void *unused)
{
	(void)unused;
	write_near(1000, 5000);
	return NULL;
}

__attribute__((noinline)) static void run_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
}

/* With an argument: without the thread. */
int main(int argc, char **argv)
{
	unsigned i;

	for (i = 0; i < 20; i++)
		work_twice((size_t)i * 3001);
	sink += recurse(30);
	sink += even(101);
	sort_some();
	if (!setjmp(out))
		jump_out(10);
	after_jump();
	(void)argv;
	if (argc == 1)
		run_thread();
	return 0;
}
