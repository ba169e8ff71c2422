/* SPDX-License-Identifier: MIT */
/* uses_lib.c - a program without frames that uses a library with frames. */
#include <stdio.h>
#include <unistd.h>

void lib_work(unsigned n);

int main(void)
{
	unsigned n;

	puts("ready");
	fflush(stdout);
	for (n = 1;; n++) {
		lib_work(n);
		usleep(200);
	}
}
