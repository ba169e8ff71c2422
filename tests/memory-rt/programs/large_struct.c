/* SPDX-License-Identifier: MIT */
/* large_struct.c - copies a structure that compilers copy by memcpy, ten times. */
struct large {
	char bytes[65536];
};
static struct large from __attribute__((aligned(64))), to __attribute__((aligned(64)));

int main(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		to = from;
		__asm__ volatile("" : : "r"(&to), "r"(&from) : "memory");
	}
	return 0;
}
