/* SPDX-License-Identifier: MIT */
/*
 * switched.c - coroutines with stacks of their own, below and above the stack of the thread that
 * runs them; one is given up in the middle, and its stack is used again.
 *
 * Built with -DBY_HAND, the stacks are switched by a few instructions instead of ucontext.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define CELLS 4096u
#define STACK (64u << 10)
#define TURNS 20u

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noipa))
#endif

static volatile long cells[CELLS];
static char *volatile kept;

/* ---- switching ------------------------------------------------------------- */

#if defined(BY_HAND) && defined(__x86_64__)

struct context {
	void *sp;
};

void switch_stacks(struct context *from, const struct context *to);
void start_stack(void);
__asm__(".text\n.globl switch_stacks\nswitch_stacks:\n"
	"push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, (%rdi)\nmov (%rsi), %rsp\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\nret\n"
	".globl start_stack\nstart_stack:\ncall *%rbx\nud2\n");

static void context_make(struct context *c, char *stack, void (*body)(void))
{
	void **sp = (void **)(stack + STACK - 64);

	*--sp = (void *)start_stack;
	*--sp = NULL;          /* rbp */
	*--sp = (void *)body;  /* rbx */
	memset(sp - 4, 0, 32); /* r12 to r15 */
	c->sp = sp - 4;
}

#define context_switch(from, to) switch_stacks(from, to)

#else

struct context {
	ucontext_t u;
};

static void context_make(struct context *c, char *stack, void (*body)(void))
{
	getcontext(&c->u);
	c->u.uc_stack.ss_sp = stack;
	c->u.uc_stack.ss_size = STACK;
	c->u.uc_link = NULL;
	makecontext(&c->u, body, 0);
}

#define context_switch(from, to) swapcontext(&(from)->u, &(to)->u)

#endif

/* ---- coroutines ------------------------------------------------------------- */

enum { A, B, C, D, NR };
static struct context scheduler, coroutines[NR];
static int running, is_done[NR];

KEEP static void yield_now(void)
{
	context_switch(&coroutines[running], &scheduler);
}

KEEP static void leaf(unsigned from)
{
	unsigned i;

	for (i = 0; i < 50; i++)
		cells[(from + i) % CELLS]++;
	kept = malloc(8 + from % 8);
	*kept = 1;
	free(kept);
}

#define COROUTINE(x, number, turns)                   \
	KEEP static void inner_##x(unsigned i)        \
	{                                             \
		leaf(i);                              \
		yield_now();                          \
		leaf(i + 7);                          \
	}                                             \
	KEEP static void outer_##x(unsigned i)        \
	{                                             \
		inner_##x(i);                         \
		cells[i % CELLS]++;                   \
	}                                             \
	KEEP static void body_##x(void)               \
	{                                             \
		unsigned i;                           \
                                                      \
		for (i = 0; i < (turns); i++)         \
			outer_##x(i * 11 + (number)); \
		is_done[number] = 1;                  \
		for (;;)                              \
			yield_now();                  \
	}

COROUTINE(a, A, TURNS)
COROUTINE(b, B, TURNS)
COROUTINE(c, C, UINT32_MAX) /* given up after TURNS turns */
COROUTINE(d, D, TURNS)      /* on the stack of c */

/* ---- the scheduler ---------------------------------------------------------- */

KEEP static void tick(unsigned i)
{
	cells[i % CELLS] += 2;
	kept = malloc(24);
	*kept = 1;
	free(kept);
}

KEEP static void resume(int number)
{
	running = number;
	context_switch(&scheduler, &coroutines[number]);
}

KEEP static void schedule(int last)
{
	unsigned turn;
	int i;

	for (turn = 0; turn <= TURNS; turn++) {
		for (i = A; i <= last; i++) {
			if (is_done[i] || (last == D && i == C))
				continue;
			tick(turn);
			resume(i);
		}
	}
}

KEEP static char *stack_new(void)
{
	return mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static char *stacks[3];

static void *run(void *arg)
{
	(void)arg;
	stacks[2] = stack_new();
	context_make(&coroutines[A], stacks[0], body_a);
	context_make(&coroutines[B], stacks[1], body_b);
	context_make(&coroutines[C], stacks[2], body_c);
	schedule(C);
	context_make(&coroutines[D], stacks[2], body_d);
	schedule(D);
	tick(1);
	return NULL;
}

int main(void)
{
	static char below[STACK] __attribute__((aligned(64)));
	pthread_t thread;

	stacks[0] = below;
	stacks[1] = stack_new(); /* above the stack of the thread */
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	printf("%d %d %d\n", is_done[A], is_done[B], is_done[D]);
	return 0;
}
