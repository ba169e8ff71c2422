/* SPDX-License-Identifier: MIT */
/*
 * clean_direct_switch.c - a generator and its consumer switch to each other directly; at the end of
 * the program the generator is only half consumed.
 *
 * corpus: clean
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include <corotracer/corotracer.h>

#define NR_PAIRS 5

struct side {
	struct corotracer_coro trace;
	ucontext_t context;
	void *stack;
};

static struct pair {
	struct side generator, consumer;
	ucontext_t main;
	int value;
} pairs[NR_PAIRS], *current;

static void side_switch(struct side *from, struct side *to)
{
	corotracer_switch(&from->trace, __builtin_return_address(0), &to->trace);
	swapcontext(&from->context, &to->context);
}

static void generate_values(void)
{
	struct pair *p = current;

	for (p->value = 0;; p->value++)
		side_switch(&p->generator, &p->consumer);
}

/* Take some values, and go back to main for the next pair. */
static void consume_values(void)
{
	struct pair *p = current;
	int i;

	for (;;) {
		for (i = 0; i < 20; i++)
			side_switch(&p->consumer, &p->generator);
		corotracer_suspend(&p->consumer.trace, __builtin_return_address(0));
		swapcontext(&p->consumer.context, &p->main);
	}
}

static void side_start(struct side *s, void (*fn)(void), const char *kind, int number)
{
	char name[32];

	s->stack = malloc(65536);
	if (!s->stack)
		abort();
	getcontext(&s->context);
	s->context.uc_stack.ss_sp = s->stack;
	s->context.uc_stack.ss_size = 65536;
	makecontext(&s->context, fn, 0);
	snprintf(name, sizeof(name), "%s-%d", kind, number);
	corotracer_spawn(&s->trace, name, NULL);
}

int main(void)
{
	int i, round;

	corotracer_init();
	for (i = 0; i < NR_PAIRS; i++) {
		side_start(&pairs[i].generator, generate_values, "generator", i);
		side_start(&pairs[i].consumer, consume_values, "consumer", i);
	}
	for (round = 0; round < 100; round++) {
		/* The first pair has what it needs after ten rounds. */
		for (i = round < 10 ? 0 : 1; i < NR_PAIRS; i++) {
			current = &pairs[i];
			corotracer_resume(&current->consumer.trace);
			swapcontext(&current->main, &current->consumer.context);
		}
		nanosleep(&(struct timespec){ 0, 12000000 }, NULL);
	}
	return 0;
}
