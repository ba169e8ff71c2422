/* SPDX-License-Identifier: MIT */
/* places.c - coroutines that wait at sites given by name, by address, and by both. */
#include "places.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static struct corotracer_coro coros[16];
static pthread_barrier_t barrier;

void start(struct corotracer_coro *co, const char *name)
{
	corotracer_begin(co, name);
	corotracer_resume(co);
}

__attribute__((noinline)) static void by_address(struct corotracer_coro *co)
{
	wait_by_address(co);
	SAY("by_address", __LINE__ - 1);
}

static inline __attribute__((always_inline)) void inlined(struct corotracer_coro *co)
{
	wait_by_address(co);
	SAY("inlined", __LINE__ - 1);
}

/* clang-format off */
__attribute__((noinline)) static void both_ways(struct corotracer_coro *co, int told)
{
	if (told) corotracer_suspend_at(co, NULL, COROTRACER_HERE, CTP_REASON_UNKNOWN); else wait_by_address(co);
	SAY(told ? "told" : "untold", __LINE__ - 1);
}
/* clang-format on */

/* Two threads register the same site at almost the same time. */
static void *racer(void *arg)
{
	struct corotracer_coro *co = arg;

	start(co, "header");
	pthread_barrier_wait(&barrier);
	wait_in_header(co, "racer");
	return NULL;
}

static void race(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, racer, &coros[4]);
	racer(&coros[5]);
	pthread_join(thread, NULL);
}

/* A child registers its sites again, under numbers of its own. */
static void child(const char *self)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl(self, self, "child", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	start(&coros[0], "by_address");
	by_address(&coros[0]);
	start(&coros[1], "inlined");
	inlined(&coros[1]);
	start(&coros[2], "both");
	both_ways(&coros[2], 1);
	start(&coros[3], "both");
	both_ways(&coros[3], 0);
	race();
	other_file();
	if (argc < 2)
		child(argv[0]);
	/* The collector lists the modules of a process that connects; it must find it alive. */
	usleep(300000);
	return 0;
}
