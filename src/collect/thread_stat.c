/* SPDX-License-Identifier: MIT */
/* thread_stat.c - what the kernel says of a thread, read from /proc/PID/task/TID. */
#include "collect/thread_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/item.h"

/* ---- names of system calls ----------------------------------------------------- */

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

static const char *call_name(long number)
{
	size_t i;

	for (i = 0; i < sizeof(call_names) / sizeof(call_names[0]); i++) {
		if (call_names[i].number == number)
			return call_names[i].name;
	}
	return "another system call";
}

/* ---- files ----------------------------------------------------------------------- */

/* The beginning of a file of a thread, as a string.  False: it cannot be read. */
static bool stat_file(uint32_t pid, uint64_t tid, const char *name, char *text, size_t size)
{
	char path[96];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu64 "/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* The state letter; '?': not readable.  The name of the program may contain anything. */
static char stat_letter(uint32_t pid, uint64_t tid)
{
	char text[128];
	const char *behind;

	if (!stat_file(pid, tid, "stat", text, sizeof(text)))
		return '?';
	behind = strrchr(text, ')');
	return behind && behind[1] == ' ' ? behind[2] : '?';
}

static bool letter_is_stopped(char letter)
{
	return letter == 'T' || letter == 't';
}

/*
 * What a sleeping thread waits for.  The file says "running", or the number of the system call and
 * its arguments; the number is -1 for a thread that sleeps outside of system calls: in a page
 * fault.
 */
static void stat_wait(uint32_t pid, uint64_t tid, struct thread_stat *out)
{
	char text[64], *end;
	long number;

	out->state = TRACE_CPU_BLOCKED;
	if (!stat_file(pid, tid, "syscall", text, sizeof(text)))
		return;
	number = strtol(text, &end, 10);
	if (end == text) {
		out->state = TRACE_CPU_RUNNING;
		return;
	}
	if (number < 0)
		out->state = TRACE_CPU_PAGE;
	else
		out->call = call_name(number);
}

bool thread_stat_read(uint32_t pid, uint64_t tid, struct thread_stat *out)
{
	char text[96], letter;

	*out = (struct thread_stat){ .state = TRACE_CPU_RUNNING };
	if (!stat_file(pid, tid, "schedstat", text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &out->cpu_ns, &out->queued_ns) != 2)
		return false;
	letter = stat_letter(pid, tid);
	if (letter_is_stopped(letter))
		out->state = TRACE_CPU_STOPPED;
	else if (letter == 'S' || letter == 'D')
		stat_wait(pid, tid, out);
	return letter != '?';
}

bool thread_stat_is_stopped(uint32_t pid)
{
	return letter_is_stopped(stat_letter(pid, pid));
}
