/* SPDX-License-Identifier: MIT */
/* array_lengths.c - arrays whose last index has the highest bit of a byte or of two bytes. */
#define LENGTHS(X) X(100) X(128) X(200) X(256) X(257) X(32768) X(40000) X(65536) X(65537)

#define DEFINE(n)  static volatile long of_##n[n];
LENGTHS(DEFINE)

static void touch(volatile long *array, long n)
{
	array[0] = 1;
	array[n / 2] = 2;
	array[n - 1] = 3;
}

int main(void)
{
#define TOUCH(n) touch(of_##n, n);
	LENGTHS(TOUCH)
	return 0;
}
