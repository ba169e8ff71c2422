/* SPDX-License-Identifier: MIT */
/* thread_stat.c - what the kernel says of a thread, read from /proc/PID/task/TID. */
#include "collect/thread_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/system_calls.h"
#include "trace/item.h"

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
		out->call = system_call_name(number);
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
