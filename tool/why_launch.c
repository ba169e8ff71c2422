/* SPDX-License-Identifier: MIT */
/*
 * why_launch.c - `corotracer why -- CMD`: start a program and wait until it hangs.
 *
 * The program is in the process group of the tool: Ctrl-C reaches both.
 */
#include "why_launch.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "message.h"
#include "process/process_image.h"

#define POLL_NS  100000000ull
#define GRACE_NS 2000000000ull

extern char **environ;

static void why_sleep(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

static int why_spawn(char **argv, bool stdout_to_stderr, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	if (stdout_to_stderr)
		rc = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!rc)
		rc = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static bool why_has_ended(pid_t pid, int *status)
{
	int wait_status;

	if (waitpid(pid, &wait_status, WNOHANG) != pid)
		return false;
	*status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	return true;
}

/* The threads of the program at one moment. */
struct thread_list {
	struct image_thread *threads;
	size_t nr;
};

static bool why_is_idle(struct process_image *image, struct thread_list *last)
{
	struct err err;
	bool is_idle;

	if (image_read_threads(image, &err) < 0)
		return false;
	is_idle = last->threads &&
		  image_threads_idle(last->threads, last->nr, image->threads, image->nr_threads);
	free(last->threads);
	last->nr = image->nr_threads;
	last->threads = calloc(last->nr + 1, sizeof(*last->threads));
	if (last->threads)
		memcpy(last->threads, image->threads, last->nr * sizeof(*last->threads));
	return is_idle;
}

/* Wait until no thread has run for a while.  An image that is opened again follows an exec. */
static enum why_launch_result why_wait_hang(pid_t pid, uint64_t hang_ns, int *status)
{
	struct thread_list last = { 0 };
	uint64_t since = clock_now_ns();
	enum why_launch_result result = WHY_LAUNCH_HANGS;

	while (clock_now_ns() - since < hang_ns) {
		struct process_image image;
		struct err err;

		why_sleep(POLL_NS);
		if (why_has_ended(pid, status)) {
			result = WHY_LAUNCH_ENDED;
			break;
		}
		if (image_open_process(&image, pid, &err) < 0) {
			since = clock_now_ns();
			continue;
		}
		if (!why_is_idle(&image, &last))
			since = clock_now_ns();
		image_close(&image);
	}
	free(last.threads);
	return result;
}

static enum why_launch_result why_wait_time(pid_t pid, uint64_t after_ns, int *status)
{
	uint64_t start = clock_now_ns();

	while (clock_now_ns() - start < after_ns) {
		if (why_has_ended(pid, status))
			return WHY_LAUNCH_ENDED;
		why_sleep(POLL_NS / 4);
	}
	return WHY_LAUNCH_HANGS;
}

enum why_launch_result why_launch(char **argv, const struct why_launch_options *o, pid_t *pid,
				  int *status)
{
	int rc = why_spawn(argv, o->stdout_to_stderr, pid);

	if (rc) {
		message_print("why", "cannot start '%s': %s", argv[0], strerror(rc));
		return WHY_LAUNCH_FAILED;
	}
	return o->after_ns ? why_wait_time(*pid, o->after_ns, status)
			   : why_wait_hang(*pid, o->hang_ns, status);
}

int why_launch_wait(pid_t pid)
{
	int status;

	while (!why_has_ended(pid, &status))
		why_sleep(POLL_NS / 4);
	return status;
}

void why_launch_end(pid_t pid)
{
	uint64_t start = clock_now_ns();
	int status;

	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
	while (clock_now_ns() - start < GRACE_NS) {
		if (why_has_ended(pid, &status))
			return;
		why_sleep(POLL_NS / 4);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}
