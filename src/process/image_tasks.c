/* SPDX-License-Identifier: MIT */
/* image_tasks.c - the threads of a running process, read from /proc/PID/task. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/image_backend.h"
#include "base/io.h"

/* The beginning of a file of a thread, as a string. */
static bool task_file(int dir, const char *tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%.20s/%s", tid, name);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = io_pread(fd, text, size - 1, 0);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* The number behind @key in the text of "status". */
static uint64_t task_status_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/*
 * Processor time, and how often the thread has been given a processor.  A kernel without schedstat
 * counts context switches instead.
 */
static void task_read_counters(int dir, const char *tid, struct image_thread *t)
{
	char text[4096];

	if (task_file(dir, tid, "schedstat", text, sizeof(text)) &&
	    sscanf(text, "%" SCNu64 " %*u %" SCNu64, &t->cpu_ns, &t->switches) == 2 && t->switches)
		return;
	if (task_file(dir, tid, "status", text, sizeof(text)))
		t->switches = task_status_number(text, "\nvoluntary_ctxt_switches:") +
			      task_status_number(text, "\nnonvoluntary_ctxt_switches:");
}

/* "12 (name) S ...": the name may contain any byte. */
static bool task_read_state(int dir, const char *tid, struct image_thread *t)
{
	char text[512], *name, *behind;

	if (!task_file(dir, tid, "stat", text, sizeof(text)))
		return false;
	name = strchr(text, '(');
	behind = strrchr(text, ')');
	if (!name || !behind || behind < name || behind[1] != ' ' || !behind[2])
		return false;
	*behind = '\0';
	snprintf(t->name, sizeof(t->name), "%s", name + 1);
	t->state = behind[2];
	return true;
}

/* "running"; or "-1 SP PC" outside system calls; or "NR A B C D E F SP PC". */
static void task_read_syscall(int dir, const char *tid, struct image_thread *t)
{
	uint64_t numbers[8];
	char text[256], *at, *end;
	long long nr;
	size_t i;

	t->syscall_nr = -1;
	if (!task_file(dir, tid, "syscall", text, sizeof(text)))
		return;
	nr = strtoll(text, &at, 10);
	if (at == text)
		return;
	for (i = 0; i < 8; i++, at = end) {
		numbers[i] = strtoull(at, &end, 16);
		if (end == at)
			break;
	}
	if (i < 2)
		return;
	t->sp = numbers[i - 2];
	t->pc = numbers[i - 1];
	if (nr < 0 || i < 8)
		return;
	t->has_syscall = true;
	t->syscall_nr = nr;
	memcpy(t->args, numbers, sizeof(t->args));
}

/*
 * The counters are read before the state: a thread that is blocked when its state is read, and has
 * the same counters in the next list, has not run in between.
 */
static bool task_read(int dir, const char *tid, struct image_thread *t)
{
	*t = (struct image_thread){ .tid = (pid_t)strtol(tid, NULL, 10) };
	task_read_counters(dir, tid, t);
	if (!task_read_state(dir, tid, t))
		return false;
	task_read_syscall(dir, tid, t);
	return true;
}

static ssize_t tasks_read_all(DIR *dir, struct image_thread **threads)
{
	struct image_thread *list = NULL;
	struct dirent *entry;
	size_t nr = 0, alive = 0;

	while ((entry = readdir(dir))) {
		if (*entry->d_name < '1' || *entry->d_name > '9')
			continue;
		if (!(nr & (nr - 1))) { /* full at every power of two */
			struct image_thread *more = realloc(list,
							    (nr ? 2 * nr : 1) * sizeof(*list));

			if (!more) {
				free(list);
				return -ENOMEM;
			}
			list = more;
		}
		if (task_read(dirfd(dir), entry->d_name, &list[nr])) {
			alive += list[nr].state != 'Z' && list[nr].state != 'X';
			nr++;
		}
	}
	if (!alive) {
		free(list);
		return -ESRCH;
	}
	*threads = list;
	return (ssize_t)nr;
}

bool image_read_task(pid_t pid, pid_t tid, struct image_thread *thread)
{
	char path[64], name[16];
	bool is_read;
	int dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	snprintf(name, sizeof(name), "%d", (int)tid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	is_read = task_read(dir, name, thread);
	close(dir);
	return is_read;
}

ssize_t image_read_tasks(pid_t pid, struct image_thread **threads)
{
	char path[64];
	ssize_t nr;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	nr = tasks_read_all(dir, threads);
	closedir(dir);
	return nr;
}
