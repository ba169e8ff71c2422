/* SPDX-License-Identifier: MIT */
/*
 * copies_c.c - a program with two copies of the SDK, the C library and the C++ headers in a shared
 * library.  Prints "ready" and works until its standard input ends.
 */
#include <corotracer/corotracer.h>

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

void copies_cpp_begin(void);
void copies_cpp_step(void);

int main(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	struct corotracer_coro co;

	corotracer_spawn(&co, "of the C library", NULL);
	copies_cpp_begin();
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 1) == 0) {
		corotracer_resume(&co);
		corotracer_await(&co, CTP_REASON_TIMER, 1);
		copies_cpp_step();
	}
	corotracer_end(&co);
	return 0;
}
