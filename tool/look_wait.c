/* SPDX-License-Identifier: MIT */
/* look_wait.c - wait for a process that looks at the program, as long as it makes progress. */
#include "look_wait.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/monotonic.h"

#define LOOK_STEP_MS  10
#define LOOK_STILL_NS (5 * NS_PER_SEC)  /* without progress */
#define LOOK_MOST_NS  (60 * NS_PER_SEC) /* in all */

/* Processor time of all threads of a process. */
static uint64_t look_process_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
}

/*
 * Processor time of a process and its children: debug information is read in a child.  The sum
 * shrinks when one ends; any change is progress.
 */
static uint64_t look_used_ns(pid_t pid)
{
	uint64_t sum = look_process_ns(pid);
	char path[64];
	FILE *list;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	list = fopen(path, "re");
	while (list && fscanf(list, "%d", &child) == 1)
		sum += look_process_ns(child);
	if (list)
		fclose(list);
	return sum;
}

/* The result is not needed any more, or a signal asks this process to stop; they are blocked. */
static bool look_is_unwanted(const bool *is_unwanted)
{
	sigset_t pending;

	if (is_unwanted && __atomic_load_n(is_unwanted, __ATOMIC_RELAXED))
		return true;
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) > 0 || sigismember(&pending, SIGTERM) > 0 ||
		sigismember(&pending, SIGHUP) > 0);
}

static bool look_has_succeeded(const siginfo_t *info, char *why, size_t size)
{
	if (info->si_code != CLD_EXITED)
		snprintf(why, size, "the look at the program was ended by signal %d",
			 info->si_status);
	else if (info->si_status)
		snprintf(why, size, "the look at the program failed with exit status %d",
			 info->si_status);
	return info->si_code == CLD_EXITED && !info->si_status;
}

bool look_wait(pid_t child, const bool *is_unwanted, char *why, size_t size)
{
	uint64_t start = clock_now_ns(), moved = start, now = start, used = 0, last = 0;
	siginfo_t info = { 0 };

	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
		if (info.si_pid)
			return look_has_succeeded(&info, why, size);
		now = clock_now_ns();
		used = look_used_ns(child);
		moved = used != last ? now : moved;
		last = used;
		if (look_is_unwanted(is_unwanted) || now - moved > LOOK_STILL_NS ||
		    now - start > LOOK_MOST_NS)
			break;
		poll(NULL, 0, LOOK_STEP_MS);
	}
	if (look_is_unwanted(is_unwanted))
		snprintf(why, size, "a signal ended the wait for the look at the program");
	else if (now - start > LOOK_MOST_NS)
		snprintf(why, size, "the look at the program took longer than a minute");
	else
		snprintf(why, size, "the look at the program made no progress for 5 seconds");
	return false;
}
