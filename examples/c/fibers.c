/* SPDX-License-Identifier: MIT */
/*
 * fibers.c - coroutines with stacks of their own that are switched by hand, to be traced.
 *
 *	corotracer run -o trace.jsonl -- fibers
 *	corotracer run -o trace.jsonl -- fibers --drop
 *
 * Libraries such as libco, minicoro and Boost.Context offer this: create a fiber, resume it, yield.
 * All tracing is in these functions of the library, fiber_new() to fiber_free(); the fibers below
 * them do not know of it.  With --drop one consumer is never resumed again: a bug of a scheduler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <corotracer/corotracer.h>

#define STACK_SIZE 65536
#define NR_VALUES  10

/* ---- the library ------------------------------------------------------------ */

struct fiber {
	struct corotracer_coro trace;
	ucontext_t context;
	ucontext_t resumer; /* where fiber_yield() continues */
	struct fiber *resumed_by;
	void (*function)(void *argument);
	void *argument;
	int has_ended;
	char stack[STACK_SIZE];
};

static struct fiber *fiber_running; /* NULL: main() runs */

static void fiber_main(void)
{
	struct fiber *f = fiber_running;

	f->function(f->argument);
	f->has_ended = 1;
	corotracer_done(&f->trace);
	fiber_running = f->resumed_by;
	swapcontext(&f->context, &f->resumer);
}

static struct fiber *fiber_new(const char *name, void (*function)(void *), void *argument)
{
	struct fiber *f = calloc(1, sizeof(*f));

	if (!f || getcontext(&f->context))
		exit(1);
	f->function = function;
	f->argument = argument;
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = sizeof(f->stack);
	makecontext(&f->context, fiber_main, 0);
	corotracer_spawn(&f->trace, name, fiber_running ? &fiber_running->trace : NULL);
	corotracer_suspend(&f->trace, (const void *)(uintptr_t)function);
	return f;
}

/* Run @f until it yields or ends. */
static void fiber_resume(struct fiber *f)
{
	f->resumed_by = fiber_running;
	fiber_running = f;
	corotracer_wake(&f->trace, f->resumed_by ? &f->resumed_by->trace : NULL);
	corotracer_resume(&f->trace);
	swapcontext(&f->resumer, &f->context);
}

/* Return to where the running fiber was resumed.  @site: of the call. */
static void fiber_yield_at(struct corotracer_site *site)
{
	struct fiber *f = fiber_running;

	corotracer_suspend_at(&f->trace, __builtin_return_address(0), site, CTP_REASON_YIELD);
	fiber_running = f->resumed_by;
	swapcontext(&f->context, &f->resumer);
}
#define fiber_yield() fiber_yield_at(COROTRACER_HERE)

static void fiber_free(struct fiber *f)
{
	corotracer_end(&f->trace);
	free(f);
}

/* ---- a program --------------------------------------------------------------- */

struct pipe {
	struct fiber *producer;
	int value;
	int sum;
};

static void produce(void *argument)
{
	struct pipe *p = argument;

	for (int i = 1; i <= NR_VALUES; i++) {
		p->value = i;
		fiber_yield();
	}
	p->value = 0;
}

/* Each value is taken from the producer, which the consumer resumes, in a turn of main(). */
static void consume(void *argument)
{
	struct pipe *p = argument;

	for (;;) {
		fiber_resume(p->producer);
		if (!p->value)
			return;
		p->sum += p->value;
		fiber_yield();
	}
}

int main(int argc, char **argv)
{
	int drops = argc == 2 && !strcmp(argv[1], "--drop"), sum = 0;
	struct fiber *consumers[3];
	struct pipe pipes[3] = { { 0 } };

	if (argc > 1 && !drops) {
		fputs("usage: fibers [--drop]\n", stderr);
		return 2;
	}
	corotracer_init();
	for (int i = 0; i < 3; i++) {
		pipes[i].producer = fiber_new("producer", produce, &pipes[i]);
		consumers[i] = fiber_new("consumer", consume, &pipes[i]);
	}
	for (int turn = 0; turn <= NR_VALUES; turn++)
		for (int i = 0; i < 3; i++)
			if (!drops || i || turn < 5)
				fiber_resume(consumers[i]);
	for (int i = 0; i < 3; i++) {
		sum += pipes[i].sum;
		if (consumers[i]->has_ended) {
			fiber_free(pipes[i].producer);
			fiber_free(consumers[i]);
		}
	}
	if (drops)
		usleep(20000); /* the program goes on without it */
	printf("sum %d\n", sum);
	return 0;
}
