// SPDX-License-Identifier: MIT
/*
 * bug_editor_plugins.c - an editor with plugins in the style of libco: create, switch, one thread,
 * no reasons.  The editor calls its plugins from a list; when a plugin is disabled, the one that
 * moves into its place is skipped from then on.
 *
 * corpus: bug
 * class: lost-wakeup|long-suspended
 * victims: plugin-9
 * never: deadlock, leak, double-resume
 */
#include <corotracer/corotracer.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PLUGINS 10

struct co {
	struct corotracer_coro trace;
	ucontext_t ctx;
	char stack[32 * 1024];
	void (*entry)(struct co *);
	int interval_ms;
	long next;
};

static struct co *current, editor;

static void co_switch(struct co *to)
{
	struct co *from = current;

	current = to;
	corotracer_switch(&from->trace, __builtin_return_address(0), &to->trace);
	swapcontext(&from->ctx, &to->ctx);
}

static void co_main(unsigned high, unsigned low)
{
	struct co *self = (struct co *)((uintptr_t)high << 32 | low);

	self->entry(self);
}

static struct co *co_create(const char *name, void (*entry)(struct co *))
{
	struct co *co = calloc(1, sizeof(*co));

	co->entry = entry;
	getcontext(&co->ctx);
	co->ctx.uc_stack.ss_sp = co->stack;
	co->ctx.uc_stack.ss_size = sizeof(co->stack);
	makecontext(&co->ctx, (void (*)(void))co_main, 2, (unsigned)((uintptr_t)co >> 32),
		    (unsigned)(uintptr_t)co);
	corotracer_begin(&co->trace, name);
	return co;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void plugin(struct co *self)
{
	for (;;) {
		self->next = now_ms() + self->interval_ms;
		co_switch(&editor);
	}
}

int main(void)
{
	const char *extra = getenv("CORPUS_EXTRA_MS");
	struct co *plugins[PLUGINS];
	int nr = PLUGINS, seen = PLUGINS;
	char name[24];

	corotracer_init();
	corotracer_begin(&editor.trace, "editor");
	corotracer_resume(&editor.trace);
	current = &editor;
	for (int i = 0; i < PLUGINS; i++) {
		snprintf(name, sizeof(name), "plugin-%d", i);
		plugins[i] = co_create(name, plugin);
		plugins[i]->interval_ms = 15 + 3 * i;
	}
	for (long start = now_ms(), end = start + 2500 + (extra ? atoi(extra) : 0);
	     now_ms() < end;) {
		for (int i = 0; i < seen; i++)
			if (now_ms() >= plugins[i]->next)
				co_switch(plugins[i]);
		if (nr == PLUGINS && now_ms() > start + 700) {
			/* Plugin 4 is disabled and ends. */
			corotracer_finish(&plugins[4]->trace, CTP_END_CANCELLED);
			corotracer_end(&plugins[4]->trace);
			free(plugins[4]);
			plugins[4] = plugins[--nr];
			/* The bug: the editor looks at one fewer, and the last one was moved to 4
			 * and back by the undo list. */
			plugins[nr] = plugins[4];
			plugins[4] = plugins[3];
			seen = nr;
		}
		usleep(1000);
	}
	return 0;
}
