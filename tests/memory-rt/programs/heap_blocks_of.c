/* SPDX-License-Identifier: MIT */
/*
 * heap_blocks_of.c - allocations whose number, size and call stack are known.  heap_blocks_of HOW
 * [PLUGIN]
 *
 * Each function counts its allocations; at the end "FUNCTION BLOCKS BYTES" is printed for each.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

struct count {
	const char *function;
	unsigned long blocks, bytes;
};
static struct count counts[64];
static unsigned nr_counts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *function, size_t bytes)
{
	unsigned i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_counts && strcmp(counts[i].function, function) != 0; i++)
		;
	counts[i].function = function;
	counts[i].blocks++;
	counts[i].bytes += bytes;
	if (i == nr_counts)
		nr_counts++;
	pthread_mutex_unlock(&lock);
}

struct node {
	struct node *next;
	long value[5];
};

/* Wrappers: the place of an allocation is their caller. */
NOINLINE static void *my_malloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		abort();
	return p;
}

NOINLINE static void *checked_alloc(size_t size)
{
	void *p = my_malloc(size);

	*(volatile char *)p = 1;
	return p;
}

NOINLINE struct node *node_new(long value)
{
	struct node *n = checked_alloc(sizeof(*n));

	note(__func__, sizeof(*n));
	n->next = NULL;
	n->value[0] = value;
	return n;
}

NOINLINE long *zeros_new(void)
{
	long *p = calloc(7, sizeof(*p));

	note(__func__, 7 * sizeof(*p));
	p[3] = 1;
	return p;
}

NOINLINE char *line_new(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 200) != 0)
		abort();
	note(__func__, 200);
	((volatile char *)p)[199] = 1;
	return p;
}

NOINLINE char *page_new(void)
{
	volatile char *p = aligned_alloc(4096, 8192), *q = memalign(256, 100);

	note(__func__, 8192);
	note(__func__, 100);
	p[0] = q[0] = 1;
	free((void *)q);
	return (char *)p;
}

NOINLINE char *text_new(void)
{
	char *volatile p = strdup("a text of 19 bytes");

	note(__func__, 19);
	p[0] = 'A';
	return p;
}

/* A block that grows: each step is the end of a block and a new one. */
NOINLINE char *grow(unsigned steps)
{
	char *volatile p = NULL;
	unsigned i;

	for (i = 1; i <= steps; i++) {
		p = realloc(p, (size_t)i * 100);
		note(__func__, (size_t)i * 100);
		p[(size_t)i * 100 - 1] = 1;
	}
	p = reallocarray(p, 30, 50);
	note(__func__, 1500);
	return p;
}

static void plain(void)
{
	struct node *list = NULL, *n;
	unsigned i;

	for (i = 0; i < 100; i++) {
		n = node_new(i);
		n->next = list;
		list = n;
	}
	while (list) {
		n = list->next;
		free(list);
		list = n;
	}
	free(zeros_new());
	free(line_new());
	free(page_new());
	free(text_new());
	free(grow(20));
	free(NULL);
}

/* ---- before main, in libraries, in a child ------------------------------------ */

static struct node *early;

__attribute__((constructor)) NOINLINE static void before_main(void)
{
	early = node_new(1);
}

static void library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *(*make)(unsigned) = handle ? (void *(*)(unsigned))dlsym(handle, "plugin_block")
					 : NULL;
	unsigned i;

	if (!make) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	for (i = 0; i < 5; i++) {
		free(make(321));
		note("plugin_block", 321);
	}
}

NOINLINE static void in_child(void)
{
	unsigned i;

	for (i = 0; i < 10; i++)
		free(node_new(i));
}

static void forking(void)
{
	free(node_new(0));
	fflush(stdout);
	if (fork() == 0) {
		nr_counts = 0;
		memset(counts, 0, sizeof(counts));
		in_child();
		printf("child %d\n", (int)getpid());
	} else {
		wait(NULL);
	}
}

/* ---- longjmp, deep recursion ---------------------------------------------------- */

static jmp_buf back;

NOINLINE static int leave(int depth)
{
	volatile int mark = depth;

	if (depth == 0)
		longjmp(back, 1);
	return leave(depth - 1) + mark;
}

NOINLINE static struct node *after_jump(void)
{
	return node_new(2);
}

static void jumping(void)
{
	volatile int i;

	for (i = 0; i < 20; i++) {
		if (!setjmp(back))
			leave(i);
		free(after_jump());
	}
}

NOINLINE static long deep(int depth)
{
	volatile long mark = depth;

	if (depth == 0)
		free(node_new(3));
	else
		mark += deep(depth - 1);
	return mark;
}

NOINLINE static struct node *after_depth(void)
{
	return node_new(4);
}

NOINLINE static long with_array(int n)
{
	volatile long array[n];
	struct node *node;

	array[n - 1] = n;
	node = node_new(array[n - 1]);
	free(node);
	return array[n - 1];
}

static void nesting(void)
{
	deep(20000);
	free(after_depth());
	with_array(10);
	with_array(1000);
	free(after_depth());
}

/* ---- threads ---------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  300

static struct node *slots[THREADS];
static pthread_barrier_t barrier;

/* Each thread frees what another one allocated. */
static void *exchange(void *arg)
{
	unsigned self = (unsigned)(size_t)arg, i;

	for (i = 0; i < ROUNDS; i++) {
		struct node *n;

		__atomic_store_n(&slots[self], node_new(i), __ATOMIC_RELEASE);
		pthread_barrier_wait(&barrier);
		n = __atomic_load_n(&slots[(self + 1) % THREADS], __ATOMIC_ACQUIRE);
		n->value[1] += n->value[0];
		free(n);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	unsigned i;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, exchange, (void *)(size_t)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* ---- signals ------------------------------------------------------------------------ */

static volatile long ticks;

NOINLINE static void tick(int signal)
{
	volatile long local[4];

	(void)signal;
	local[1] = ticks;
	ticks = local[1] + 1;
}

static void *storm(void *arg)
{
	unsigned i;

	for (i = 0; i < 20000 || ticks < 50; i++) {
		void *volatile p = malloc(32 + i % 64);

		free(p);
		if (i % 64 == 0)
			free(grow(3));
	}
	return arg;
}

static void signals(void)
{
	struct itimerval every = { { 0, 500 }, { 0, 500 } }, none = { { 0, 0 }, { 0, 0 } };
	pthread_t thread[2];

	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	pthread_create(&thread[0], NULL, storm, NULL);
	pthread_create(&thread[1], NULL, storm, NULL);
	storm(NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	setitimer(ITIMER_REAL, &none, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "plain";
	unsigned i;

	if (!strcmp(how, "plain"))
		plain();
	else if (!strcmp(how, "library"))
		library(argv[2]);
	else if (!strcmp(how, "fork"))
		forking();
	else if (!strcmp(how, "jump"))
		jumping();
	else if (!strcmp(how, "deep"))
		nesting();
	else if (!strcmp(how, "threads"))
		threads();
	else
		signals();
	for (i = 0; i < nr_counts; i++)
		printf("%s %lu %lu\n", counts[i].function, counts[i].blocks, counts[i].bytes);
	free(early);
	return 0;
}
