/* SPDX-License-Identifier: MIT */
/* system_calls.c - names of the system calls that block. */
#include "process/system_calls.h"

#include <stddef.h>
#include <sys/syscall.h>

struct call_name {
	long number;
	const char *name;
};

#define CALL(name)                \
	{                         \
		SYS_##name, #name \
	}

/* Calls that block; not every architecture has all of them. */
static const struct call_name call_names[] = {
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(futex),
	CALL(read),
	CALL(write),
	CALL(readv),
	CALL(writev),
	CALL(pread64),
	CALL(pwrite64),
	CALL(preadv),
	CALL(pwritev),
	CALL(fsync),
	CALL(fdatasync),
	CALL(sync),
	CALL(syncfs),
	CALL(msync),
	CALL(ppoll),
	CALL(pselect6),
	CALL(epoll_pwait),
	CALL(recvfrom),
	CALL(sendto),
	CALL(recvmsg),
	CALL(sendmsg),
	CALL(connect),
	CALL(accept),
	CALL(accept4),
	CALL(wait4),
	CALL(waitid),
	CALL(flock),
	CALL(fcntl),
	CALL(openat),
	CALL(getdents64),
	CALL(sendfile),
	CALL(splice),
	CALL(fallocate),
	CALL(ftruncate),
	CALL(mmap),
	CALL(munmap),
	CALL(mprotect),
	CALL(madvise),
	CALL(rt_sigsuspend),
	CALL(rt_sigtimedwait),
	CALL(clone),
	CALL(execve),
	CALL(unlinkat),
	CALL(ioctl),
	CALL(semtimedop),
	CALL(msgrcv),
#ifdef SYS_poll
	CALL(poll),
	CALL(select),
	CALL(epoll_wait),
	CALL(pause),
	CALL(open),
	CALL(rename),
#endif
#ifdef SYS_membarrier
	CALL(membarrier),
#endif
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2),
#endif
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter),
#endif
#ifdef SYS_copy_file_range
	CALL(copy_file_range),
#endif
};

const char *system_call_name(int64_t number)
{
	size_t i;

	for (i = 0; i < sizeof(call_names) / sizeof(call_names[0]); i++) {
		if (call_names[i].number == number)
			return call_names[i].name;
	}
	return "another system call";
}
