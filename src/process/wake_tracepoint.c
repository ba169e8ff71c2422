/* SPDX-License-Identifier: MIT */
/* wake_tracepoint.c - the kernel's tracepoint sched:sched_waking: a thread is woken. */
#include "process/wake_tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

void wake_tracepoint_explain(int why, struct err *err)
{
	errno = why;
	err_errno(err, "cannot record wake-ups");
	if (why == ENOENT)
		err_hint(err, "mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing");
	else if (why == EACCES || why == EPERM)
		err_hint(err, "run as root, or with CAP_PERFMON and read access to "
			      "/sys/kernel/tracing");
	else if (why == EMFILE)
		err_hint(err, "raise the limit of open files (ulimit -n)");
}

bool wake_tracepoint_parse(struct wake_tracepoint *w, const char *text)
{
	const char *id = strstr(text, "\nID: "), *field = strstr(text, " pid;");
	const char *offset = field ? strstr(field, "offset:") : NULL;

	if (!id || !offset)
		return false;
	w->number = strtoull(id + 5, NULL, 10);
	w->tid_at = (uint32_t)strtoul(offset + 7, NULL, 10);
	return w->number != 0;
}

/* 0 or -errno. */
static int tracepoint_read(const char *root, struct wake_tracepoint *w)
{
	char path[128], text[4096];
	ssize_t size;
	int fd, why;

	snprintf(path, sizeof(path), "%s/events/sched/sched_waking/format", root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = read(fd, text, sizeof(text) - 1);
	why = size < 0 ? errno : 0;
	close(fd);
	if (why)
		return -why;
	text[size] = '\0';
	return wake_tracepoint_parse(w, text) ? 0 : -EINVAL;
}

int wake_tracepoint_find(struct wake_tracepoint *w, struct err *err)
{
	int rc = -ENOENT, best = -ENOENT;
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		*w = (struct wake_tracepoint){ 0 };
		rc = tracepoint_read(roots[i], w);
		if (rc == 0)
			return 0;
		if (rc != -ENOENT)
			best = rc;
	}
	*w = (struct wake_tracepoint){ 0 };
	wake_tracepoint_explain(-best, err);
	return best;
}

int wake_tracepoint_open(const struct wake_tracepoint *w, unsigned cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = w->number,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX, /* the reader looks by itself */
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}
