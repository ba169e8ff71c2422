/* SPDX-License-Identifier: MIT */
/* traced.c - "traced COROUTINES": coroutines of the C SDK that wait for descriptor 1000 and so on.
 */
#include <corotracer/corotracer.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NR_MAX 1000

int main(int argc, char **argv)
{
	static struct corotracer_coro parent, all[NR_MAX];
	int nr = argc > 1 ? atoi(argv[1]) : 5, i;
	char name[32];

	corotracer_begin(&parent, "parent");
	corotracer_resume(&parent);
	for (i = 0; i < nr && i < NR_MAX; i++) {
		snprintf(name, sizeof(name), "client %d", i);
		corotracer_spawn(&all[i], name, &parent); /* @spawn */
		corotracer_resume(&all[i]);
		corotracer_await(&all[i], CTP_REASON_IO_READ, 1000 + i); /* @await */
		corotracer_wake(&all[i], &parent);
	}
	printf("waker_id %llu\nready\n", (unsigned long long)corotracer_id(&parent));
	fflush(stdout);
	pause();
	return 0;
}
