/* SPDX-License-Identifier: MIT */
/* process_check.c - whether a process or thread that shared memory names still exists. */
#include "process/process_check.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool process_thread_ended(uint32_t pid, uint32_t tid)
{
	char path[64], text[512];
	const char *end;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	got = io_pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	if (got <= 0)
		return got < 0 && errno == ESRCH;
	text[got] = '\0';
	end = strrchr(text, ')'); /* the name may contain anything */
	return end && (end[2] == 'Z' || end[2] == 'X');
}
