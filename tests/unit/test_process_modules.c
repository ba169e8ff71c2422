/* SPDX-License-Identifier: MIT */
/*
 * test_process_modules.c - more programs and libraries than the list of modules holds.
 *
 * Two files are mapped in turn, page by page: each page is a module of its own.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "collect/mapped_modules.h"

#define PAGE       4096u
#define NR_MAPPED  (MODULES_PER_PROCESS + 100)
#define NR_FURTHER 8

static int own_fd, other_fd;
static char *pages;

static void map_more(unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; i++)
		CHECK(mmap(pages + (size_t)i * PAGE, PAGE, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_FIXED, i % 2 ? own_fd : other_fd, 0) != MAP_FAILED);
}

static void map_pages(void)
{
	own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	other_fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	CHECK(own_fd >= 0 && other_fd >= 0);
	pages = mmap(NULL, (size_t)(NR_MAPPED + NR_FURTHER) * PAGE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	map_more(0, NR_MAPPED);
}

/* All of this process: the pages, the program and its libraries. */
static size_t nr_all(const struct modules *m)
{
	return m->nr + m->nr_left_out;
}

static void modules_beyond_those_of_a_process_are_counted_once(void)
{
	struct modules m = { 0 };
	size_t all;

	CHECK_EQ(modules_read(&m, (uint32_t)getpid()), MODULES_PER_PROCESS);
	CHECK(m.nr_left_out >= NR_MAPPED - MODULES_PER_PROCESS);
	all = nr_all(&m);
	CHECK_EQ(modules_read(&m, (uint32_t)getpid()), MODULES_PER_PROCESS);
	CHECK_EQ(nr_all(&m), all);
	map_more(NR_MAPPED, NR_MAPPED + NR_FURTHER);
	CHECK_EQ(modules_read(&m, (uint32_t)getpid()), MODULES_PER_PROCESS);
	CHECK_EQ(nr_all(&m), all + NR_FURTHER);
	modules_release(&m);
	CHECK_EQ(m.nr_left_out, 0);
}

/* Read a child with the mappings of this process. */
static void read_child(struct modules *m)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		for (;;)
			pause();
	}
	modules_read(m, (uint32_t)child);
	kill(child, SIGKILL);
	CHECK(waitpid(child, NULL, 0) == child);
}

static void modules_beyond_those_of_all_processes_are_counted(void)
{
	struct modules m = { 0 };
	size_t of_one, i, nr = MODULES_MAX / MODULES_PER_PROCESS;

	read_child(&m);
	of_one = nr_all(&m);
	for (i = 1; i < nr; i++)
		read_child(&m);
	CHECK_EQ(m.nr, MODULES_MAX);
	CHECK_EQ(nr_all(&m), nr * of_one);
	read_child(&m);
	CHECK_EQ(m.nr, MODULES_MAX);
	CHECK_EQ(nr_all(&m), (nr + 1) * of_one);
	modules_release(&m);
}

int main(void)
{
	map_pages();
	RUN(modules_beyond_those_of_a_process_are_counted_once);
	RUN(modules_beyond_those_of_all_processes_are_counted);
	return 0;
}
