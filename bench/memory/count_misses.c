/* SPDX-License-Identifier: MIT */
/*
 * count_misses.c - run a program and print what the processor's counters say of its loads.
 *
 *	count_misses FILE PROGRAM [ARGUMENTS]
 *
 * Writes lines "loads N", "l1 N" and "last N" to FILE: loads, and loads that missed the first and
 * the last level of the caches, in user mode.  Exits with 3 and says why if the counters cannot be
 * read.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define READS(cache, result)                                              \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct {
	const char *name;
	uint64_t config;
} counters[] = {
	{ "loads", READS(L1D, ACCESS) },
	{ "l1", READS(L1D, MISS) },
	{ "last", READS(LL, MISS) },
};
#define NR (sizeof(counters) / sizeof(counters[0]))

static int counter_open(uint64_t config, pid_t pid)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HW_CACHE,
					.size = sizeof(attr),
					.config = config,
					.disabled = 1,
					.inherit = 1,
					.enable_on_exec = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						       PERF_FORMAT_TOTAL_TIME_RUNNING };

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The count, scaled if the counter ran a part of the time only; negative: it never ran. */
static double counter_read(int fd)
{
	uint64_t v[3] = { 0 };

	if (read(fd, v, sizeof(v)) != (ssize_t)sizeof(v) || !v[2])
		return -1;
	return (double)v[0] * (double)v[1] / (double)v[2];
}

static int cannot_read(const char *why)
{
	fprintf(stderr, "cannot read hardware counters: %s\n", why);
	return 3;
}

int main(int argc, char **argv)
{
	int go[2], fd[NR], status = 0, rc = 0;
	double value;
	FILE *out;
	pid_t pid;
	size_t i;
	char c;

	if (argc < 3 || pipe(go) < 0) {
		fputs("usage: count_misses FILE PROGRAM [ARGUMENTS]\n", stderr);
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1) /* the counters cannot be opened */
			_exit(0);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	for (i = 0; i < NR; i++) {
		fd[i] = counter_open(counters[i].config, pid);
		if (fd[i] < 0)
			rc = cannot_read(errno == ENOENT || errno == EOPNOTSUPP
						 ? "this computer has none (a virtual machine?)"
						 : strerror(errno));
		if (rc)
			break;
	}
	if (!rc && write(go[1], "x", 1) != 1)
		rc = 1;
	close(go[1]);
	waitpid(pid, &status, 0);
	if (rc || status)
		return rc ? rc : 1;
	out = fopen(argv[1], "w");
	for (i = 0; out && i < NR; i++) {
		value = counter_read(fd[i]);
		if (value < 0)
			return cannot_read("they did not run");
		fprintf(out, "%s %.0f\n", counters[i].name, value);
	}
	return !out || fclose(out) != 0;
}
