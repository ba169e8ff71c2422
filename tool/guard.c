/* SPDX-License-Identifier: MIT */
/*
 * guard.c - run commands that read debug information in a separate process.
 *
 * The files are untrusted, and the libraries that read them have bugs: if the process crashes, the
 * file that it read last is considered damaged.  The tool reports the file and runs the command
 * again without it.  The crashed process has printed nothing: its output is held in memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "cmd.h"
#include "end_signal.h"
#include "json_file.h"
#include "symbols/module.h"

/* A report is much shorter. */
#define OUTPUT_BYTES (8u << 20)

static bool guard_is_crash(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT || sig == SIGFPE || sig == SIGILL;
}

/* Runs in the new process; does not return. */
static void guard_run_apart(const struct command *cmd, int argc, char **argv,
			    struct module_watch *watch, pid_t parent)
{
	const struct rlimit none = { 0, 0 };
	static char *output;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	setrlimit(RLIMIT_CORE, &none);
	output = malloc(OUTPUT_BYTES);
	if (output)
		setvbuf(stdout, output, _IOFBF, OUTPUT_BYTES);
	module_set_watch(watch);
	status = json_file_finish(cmd->run(argc, argv));
	if (status == EXIT_OK && memory_shortage_noted()) {
		message_print(NULL, MEMORY_SHORTAGE_TEXT);
		status = EXIT_FAILED;
	}
	fflush(stdout);
	exit(status);
}

/* Wait for the process to end.  It gets the terminal's signals; its end status is passed on. */
static int guard_wait(pid_t pid)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, intr, quit;
	int status;

	sigaction(SIGINT, &ignore, &intr);
	sigaction(SIGQUIT, &ignore, &quit);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &intr, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return status;
}

/* End in the same way as the process that ran the command. */
static int guard_end_like(int status)
{
	return WIFSIGNALED(status) ? end_by_signal(WTERMSIG(status)) : WEXITSTATUS(status);
}

static bool reads_standard_input(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-"))
			return true;
	}
	return false;
}

/* True: the file read last was recorded as damaged, and is omitted from now on. */
static bool leave_out_last(const struct command *cmd, struct module_watch *watch, int sig)
{
	if (!watch->reading[0] || watch->nr_damaged == MODULE_WATCH_MAX)
		return false;
	watch->reading[sizeof(watch->reading) - 1] = '\0';
	memcpy(watch->damaged[watch->nr_damaged++], watch->reading, sizeof(watch->reading));
	message_print(cmd->name,
		      "cannot read the debug information of '%s': the file is damaged (%s)",
		      watch->reading, strsignal(sig));
	watch->reading[0] = '\0';
	return true;
}

int command_start(const struct command *cmd, int argc, char **argv)
{
	struct module_watch *watch;
	pid_t parent = getpid(), pid;
	int status;

	watch = cmd->reads_debug_info ? mmap(NULL, sizeof(*watch), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0)
				      : MAP_FAILED;
	if (watch == MAP_FAILED)
		return cmd->run(argc, argv);
	for (;;) {
		fflush(NULL);
		pid = fork();
		if (pid < 0)
			return cmd->run(argc, argv);
		if (pid == 0)
			guard_run_apart(cmd, argc, argv, watch, parent);
		status = guard_wait(pid);
		if (!WIFSIGNALED(status) || !guard_is_crash(WTERMSIG(status)) ||
		    !leave_out_last(cmd, watch, WTERMSIG(status)))
			return guard_end_like(status);
		if (reads_standard_input(argc, argv)) {
			fputs("hint: write the trace to a file: it is then read without that "
			      "module\n",
			      stderr);
			return EXIT_FAILED;
		}
	}
}
