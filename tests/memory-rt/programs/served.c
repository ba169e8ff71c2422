/* SPDX-License-Identifier: MIT */
/* served.c - prints its pid; then writes 1,000 words of 2 bytes for each byte that it reads. */
#include <stdio.h>
#include <unistd.h>

static short table[1000];

/* One byte of @c each: reading must not access 2 bytes. */
static void work(char c)
{
	int i;

	for (i = 0; i < 1000; i++)
		*(volatile short *)&table[i] = c;
}

int main(void)
{
	char c;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &c, 1) == 1) {
		work(c);
		if (write(1, &c, 1) != 1)
			return 1;
	}
	return 0;
}
