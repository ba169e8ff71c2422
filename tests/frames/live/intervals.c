/* SPDX-License-Identifier: MIT */
/*
 * intervals.c - intervals that nest, and intervals that end in another thread than they began.
 *
 *	intervals_BUFFER nest THREADS	frames are saved inside of another frame's interval
 *	intervals_BUFFER move		every other interval ends in a second thread
 *	intervals_BUFFER fresh		every interval in a thread of its own
 *
 * Until SIGTERM.  Between start and end it uses BURN_NS of processor time, by its own clock; wall
 *is the time around the counters, in nanoseconds. The set-up calls of generated code take 20 ms
 *each here, and at the end it prints when they happened, as {"windows": [[thread, call, from, to],
 *...]}.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)
#define NAME(what)      PASTE(PASTE(ppt_, BUFFER, _), what, )

#include HEADER

#define BURN_NS             200000
#define WINDOWS_MAX         1000
#define NO_THREAD           99
#define MEMBARRIER_REGISTER 16

static atomic_int stop;
static atomic_ulong next_n;
static __thread uint32_t thread = NO_THREAD;

/* ---- slow calls ---------------------------------------------------------- */

static struct {
	uint32_t thread;
	const char *call;
	uint64_t from, to;
} windows[WINDOWS_MAX];
static atomic_uint nr_windows;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t window_begin(void)
{
	struct timespec wait = { 0, 20000000 };
	uint64_t from = now(CLOCK_MONOTONIC);

	nanosleep(&wait, NULL);
	return from;
}

static void window_end(const char *call, uint64_t from)
{
	unsigned i = atomic_fetch_add(&nr_windows, 1);

	if (i >= WINDOWS_MAX)
		return;
	windows[i].thread = thread;
	windows[i].call = call;
	windows[i].from = from;
	windows[i].to = now(CLOCK_MONOTONIC);
}

/* The program's definition takes precedence over libc's. */
void *shmat(int id, const void *addr, int flags)
{
	void *(*real)(int, const void *, int);
	void *next = dlsym(RTLD_NEXT, "shmat"), *map;
	uint64_t from = window_begin();

	memcpy(&real, &next, sizeof(real));
	map = real(id, addr, flags);
	window_end("shmat", from);
	return map;
}

long syscall(long nr, ...)
{
	long (*real)(long, ...);
	void *next = dlsym(RTLD_NEXT, "syscall");
	long args[5], rc;
	uint64_t from = 0;
	va_list ap;
	int i, slow;

	va_start(ap, nr);
	for (i = 0; i < 5; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	memcpy(&real, &next, sizeof(real));
	slow = nr == SYS_perf_event_open ||
	       (nr == SYS_membarrier && (int)args[0] == MEMBARRIER_REGISTER);
	if (slow)
		from = window_begin();
	rc = real(nr, args[0], args[1], args[2], args[3], args[4]);
	if (slow)
		window_end(nr == SYS_membarrier ? "membarrier" : "perf_event_open", from);
	return rc;
}

/* ---- frames -------------------------------------------------------------- */

static void burn(void)
{
	uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void begin(struct NAME(work) * w)
{
	memset(w, 0, sizeof(*w));
	w->n = atomic_fetch_add(&next_n, 1);
	w->thread = thread;
	NAME(work_snapshot_took_start)(w);
	w->wall = now(CLOCK_MONOTONIC);
	NAME(work_snapshot_cpu_start)(w);
}

static void finish(struct NAME(work) * w)
{
	NAME(work_snapshot_cpu_end)(w);
	w->wall = now(CLOCK_MONOTONIC) - w->wall;
	NAME(work_snapshot_took_end)(w);
	NAME(work_save)(w);
}

static void save_bare(void)
{
	struct NAME(bare) b;

	memset(&b, 0, sizeof(b));
	b.n = atomic_fetch_add(&next_n, 1);
	NAME(bare_save)(&b);
}

static void save_one(void)
{
	struct NAME(work) w;

	begin(&w);
	burn();
	finish(&w);
}

/* ---- nest ---------------------------------------------------------------- */

static void *nest(void *arg)
{
	struct timespec pause = { 0, 1000000 };
	struct NAME(work) outer;

	thread = *(const uint32_t *)arg;
	while (!stop) {
		begin(&outer);
		outer.outer = true;
		nanosleep(&pause, NULL);
		save_one();
		save_bare();
		nanosleep(&pause, NULL);
		finish(&outer);
	}
	return NULL;
}

/* ---- move ---------------------------------------------------------------- */

static sem_t handed_over, finished;
static atomic_int done;
static struct NAME(work) moving;

static void *finish_others(void *arg)
{
	(void)arg;
	thread = 1;
	for (;;) {
		sem_wait(&handed_over);
		if (done)
			return NULL;
		burn();
		finish(&moving);
		sem_post(&finished);
	}
}

static void move(void)
{
	pthread_t other;

	thread = 0;
	sem_init(&handed_over, 0, 0);
	sem_init(&finished, 0, 0);
	pthread_create(&other, NULL, finish_others, NULL);
	while (!stop) {
		save_one();
		begin(&moving);
		burn();
		moving.moved = true;
		sem_post(&handed_over);
		sem_wait(&finished);
	}
	done = 1;
	sem_post(&handed_over);
	pthread_join(other, NULL);
}

/* ---- fresh --------------------------------------------------------------- */

static void *one_frame(void *arg)
{
	(void)arg;
	thread = 0;
	save_one();
	return NULL;
}

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void print_windows(void)
{
	unsigned i, nr = nr_windows < WINDOWS_MAX ? nr_windows : WINDOWS_MAX;

	printf("{\"windows\":[");
	for (i = 0; i < nr; i++)
		printf("%s[%u,\"%s\",%llu,%llu]", i ? "," : "", windows[i].thread, windows[i].call,
		       (unsigned long long)windows[i].from, (unsigned long long)windows[i].to);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "nest";
	unsigned nr = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1, i;
	uint32_t numbers[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	pthread_t threads[8];

	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	if (!strcmp(mode, "move"))
		move();
	while (!strcmp(mode, "fresh") && !stop) {
		pthread_create(&threads[0], NULL, one_frame, NULL);
		pthread_join(threads[0], NULL);
	}
	for (i = 0; !strcmp(mode, "nest") && i < nr && i < 8; i++)
		pthread_create(&threads[i], NULL, nest, &numbers[i]);
	while (i-- > 0)
		pthread_join(threads[i], NULL);
	print_windows();
	return 0;
}
