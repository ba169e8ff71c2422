/* SPDX-License-Identifier: MIT */
/* touch.c - accesses of known number and place: two walks over an array, and every eighth line. */
#include <stdint.h>
#include <stdio.h>

#define WORDS (1u << 16)

static volatile uint64_t words[WORDS];

int main(void)
{
	unsigned accesses = 0, i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < WORDS; i++, accesses++)
			words[i] = i;
	}
	for (i = 0; i < WORDS; i += 64, accesses++)
		(void)words[i];
	printf("{\"accesses\": %u}\n", accesses);
	return 0;
}
