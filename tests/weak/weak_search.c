/* SPDX-License-Identifier: MIT */
/* weak_search.c - all executions of a test: depth first over its choices, without known states. */
#include "weak_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES 8192u /* of an execution */
#define LEARN   400u  /* executions by chance, before the search */

struct choice {
	uint8_t made, of;
};

static struct choice choices[CHOICES];
static unsigned nr_choices, at_choice;
static uint64_t *known; /* a hash table of states; 0: empty */
static size_t known_size, nr_known;
static struct weak_result *result;
static unsigned nr_learned;
static bool is_learning;
static uint32_t chance;
static jmp_buf back;
static char reason[256];

/* Mostly the first option: go on, read the newest value. */
static unsigned choose_by_chance(unsigned nr)
{
	chance = chance * 1664525u + 1013904223u;
	return chance >> 29 ? 0 : (chance >> 16 & 0xfff) % nr;
}

unsigned weak_choose(unsigned nr)
{
	struct choice *c = &choices[at_choice];

	if (nr <= 1)
		return 0;
	result->steps++;
	if (at_choice == CHOICES)
		weak_fail("an execution does not end");
	if (is_learning) {
		at_choice++;
		return choose_by_chance(nr);
	}
	if (at_choice++ == nr_choices) {
		*c = (struct choice){ 0, (uint8_t)nr };
		nr_choices++;
	}
	return c->made;
}

static bool known_add(uint64_t hash)
{
	size_t i = hash & (known_size - 1);

	for (; known[i]; i = (i + 1) & (known_size - 1)) {
		if (known[i] == hash)
			return true;
	}
	known[i] = hash;
	nr_known++;
	return false;
}

static void known_grow(void)
{
	size_t old_size = known_size, i;
	uint64_t *old = known;

	known_size = known_size ? known_size * 2 : 1 << 16;
	known = calloc(known_size, sizeof(*known));
	if (!known)
		abort();
	nr_known = 0;
	for (i = 0; i < old_size; i++) {
		if (old[i])
			known_add(old[i]);
	}
	free(old);
}

bool weak_is_repeating(void)
{
	return is_learning || at_choice < nr_choices;
}

bool weak_is_learning(void)
{
	return is_learning;
}

bool weak_is_known(uint64_t hash)
{
	hash += !hash;
	if (2 * nr_known >= known_size)
		known_grow();
	return known_add(hash);
}

/* The next execution: the last choice that has another option.  False: none has. */
static bool next_execution(void)
{
	while (nr_choices && choices[nr_choices - 1].made + 1u == choices[nr_choices - 1].of)
		nr_choices--;
	if (!nr_choices)
		return false;
	choices[nr_choices - 1].made++;
	return true;
}

void weak_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	if (!result) {
		fprintf(stderr, "%s\n", reason);
		exit(2);
	}
	weak_abort(true);
}

void weak_abort(bool failed)
{
	longjmp(back, failed ? 2 : 1);
}

static void search_again(void)
{
	memset(known, 0, known_size * sizeof(*known));
	nr_known = nr_choices = 0;
	result->states = result->executions = 0;
}

static void execute(const struct weak_test *test)
{
	at_choice = 0;
	result->executions++;
	weak_memory_begin(test);
	weak_threads_begin(test);
	if (weak_threads_run()) {
		weak_memory_settle();
		test->check();
	}
}

/* Which locations are shared: the search starts again for each that it learns itself. */
static void learn(const struct weak_test *test)
{
	is_learning = true;
	while (nr_learned++ < LEARN)
		execute(test);
	is_learning = false;
	search_again();
}

void weak_search(const struct weak_test *test, struct weak_result *out)
{
	memset(out, 0, sizeof(*out));
	weak_memory_open(test);
	result = out;
	nr_learned = 0;
	chance = 1;
	is_learning = false;
	if (!known)
		known_grow();
	search_again();
	switch (setjmp(back)) {
	case 0:
	case 1:
		weak_threads_begin(test);
		search_again();
		break;
	default:
		out->failed = true;
		printf("%s: %s\n", test->name, reason);
		weak_memory_print();
		result = NULL;
		return;
	}
	if (nr_learned <= LEARN)
		learn(test);
	do
		execute(test);
	while (next_execution());
	out->states = nr_known;
	if (test->finish)
		test->finish(test->name);
	result = NULL;
}
