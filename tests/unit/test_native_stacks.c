/* SPDX-License-Identifier: MIT */
/* test_native_stacks.c - stacks of threads that ran while they were copied are not known. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_memory.h"
#include "inspect/native_stacks.h"

#define MARK UINT64_C(0x1234567887654321)

static pid_t child;
static struct process_image image;
static struct native_stacks stacks;
static volatile uint64_t *marked; /* in the stack of the child */

/* A child that sleeps, with a mark in its stack. */
static void child_start(void)
{
	volatile uint64_t mark = MARK;
	struct err err = { 0 };

	marked = &mark;
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	CHECK_EQ(image_open_process(&image, child, &err), 0);
	do {
		usleep(1000);
		CHECK_EQ(image_read_threads(&image, &err), 0);
	} while (image.threads[0].state != 'S');
	image.threads[0].sp = (uintptr_t)marked;
	image.threads[0].has_registers = true;
	image.threads[0].nr_registers = 3;
	image.threads[0].registers[2] = MARK;
}

static void child_end(void)
{
	image_close(&image);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void a_thread_that_sleeps_has_a_stack(void)
{
	const struct native_stack *s;

	child_start();
	CHECK_EQ(native_stacks_copy(&stacks, &image), 0);
	CHECK_EQ(stacks.nr, 1);
	s = native_stacks_find(&stacks, child);
	CHECK(s && s->bytes && s->size >= sizeof(uint64_t));
	CHECK_EQ(*(const uint64_t *)(const void *)s->bytes, MARK);
	CHECK(!native_stacks_find(&stacks, getpid()));
	/* What was read before the second look is kept. */
	CHECK(image.threads[0].has_registers);
	CHECK_EQ(image.threads[0].nr_registers, 3);
	CHECK_EQ(image.threads[0].registers[2], MARK);
	native_stacks_forget(&stacks);
	CHECK_EQ(stacks.nr, 0);
	child_end();
}

/* Copied, and dropped when the second look differs. */
static void expect_no_stack(void)
{
	CHECK_EQ(native_stacks_copy(&stacks, &image), 0);
	CHECK_EQ(stacks.nr, 1);
	CHECK(!stacks.stacks[0].bytes);
	CHECK_EQ(stacks.stacks[0].size, 0);
	CHECK(!image.threads[0].has_registers);
	native_stacks_forget(&stacks);
	child_end();
}

static void a_thread_that_ran_meanwhile_has_none(void)
{
	child_start();
	image.threads[0].switches--;
	expect_no_stack();
	child_start();
	image.threads[0].state = 'R';
	expect_no_stack();
	child_start();
	image.threads[0].tid++; /* another one ended */
	expect_no_stack();
}

static void copy_and_forget(void)
{
	image.threads[0].sp = (uintptr_t)marked;
	CHECK_EQ(native_stacks_copy(&stacks, &image), 0);
	CHECK(stacks.stacks[0].bytes != NULL);
	native_stacks_forget(&stacks);
}

static void nothing_is_kept(void)
{
	child_start();
	check_keeps_no_memory(copy_and_forget);
	child_end();
}

int main(void)
{
	RUN(a_thread_that_sleeps_has_a_stack);
	RUN(a_thread_that_ran_meanwhile_has_none);
	RUN(nothing_is_kept);
	return 0;
}
