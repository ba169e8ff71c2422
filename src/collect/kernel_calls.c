/* SPDX-License-Identifier: MIT */
/* kernel_calls.c - ask the kernel for newer system calls, without an effect. */
#include "collect/kernel_calls.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Called with arguments that are not valid: the error shows whether the call is known. */
static bool kernel_knows(long result)
{
	return result >= 0 || (errno != ENOSYS && errno != EPERM);
}

static bool kernel_populates(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = page != MAP_FAILED && madvise(page, size, MADV_POPULATE_WRITE) == 0;

	if (page != MAP_FAILED)
		munmap(page, size);
	return works;
}

static bool kernel_closes_range(void)
{
	return kernel_knows(syscall(SYS_close_range, 1, 0, 0));
}

static bool kernel_opens_in_root(void)
{
	return kernel_knows(syscall(SYS_openat2, -1, NULL, NULL, 0));
}

static bool kernel_copies_descriptors(void)
{
	return kernel_knows(syscall(SYS_pidfd_getfd, -1, 0, 0));
}

static bool kernel_opens_processes(void)
{
	return kernel_knows(syscall(SYS_pidfd_open, -1, 0));
}

static bool kernel_has_barrier(void)
{
	/* (ctp-C) pairs with ctp_wake_if_asleep(): only queried here, executed in sleep_announce().
	 */
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

const struct kernel_call kernel_calls[] = {
	{ "madvise(MADV_POPULATE_WRITE)", "5.14", kernel_populates },
	{ "close_range", "5.9", kernel_closes_range },
	{ "openat2", "5.6", kernel_opens_in_root },
	{ "pidfd_getfd", "5.6", kernel_copies_descriptors },
	{ "pidfd_open", "5.3", kernel_opens_processes },
	{ "membarrier(GLOBAL_EXPEDITED)", "4.16", kernel_has_barrier },
	{ NULL, NULL, NULL },
};
