/* SPDX-License-Identifier: MIT */
/*
 * test_guard.c - commands that read debug information run apart: a crash names the file, and the
 * command runs again without it.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "captured.h"
#include "cmd.h"
#include "json_file.h"
#include "symbols/module.h"

/* Shared with the processes that run the command. */
static struct {
	unsigned nr_runs;
	unsigned crashes; /* the first runs crash, */
	int signal;       /* by this signal, */
	const char *file; /* while this file is read; NULL: none */
	int status;       /* of the others */
	bool is_short;    /* memory ran out */
	bool fails_json;  /* the file of --json cannot be written */
	pid_t runner;
	unsigned nr_damaged;
	char damaged[256]; /* the last one */
	uint64_t core_limit;
	bool can_be_interrupted;
} * world;

static struct module_watch *watch;
static unsigned nr_finished;
static pid_t own_pid;

void module_set_watch(struct module_watch *w)
{
	watch = w;
}

/* Of the file of --json, and at the end by a signal. */
int json_file_finish(int status)
{
	nr_finished++;
	return world->fails_json ? EXIT_FAILED : status;
}

static int run_command(int argc, char **argv)
{
	struct sigaction action;
	struct rlimit core;

	CHECK(argc >= 1);
	CHECK_STR(argv[0], "report");
	world->runner = getpid();
	world->nr_runs++;
	getrlimit(RLIMIT_CORE, &core);
	world->core_limit = core.rlim_cur;
	sigaction(SIGINT, NULL, &action);
	world->can_be_interrupted = action.sa_handler == SIG_DFL;
	if (watch) {
		world->nr_damaged = watch->nr_damaged;
		if (watch->nr_damaged)
			snprintf(world->damaged, sizeof(world->damaged), "%.200s",
				 watch->damaged[watch->nr_damaged - 1]);
	}
	printf("output %u\n", world->nr_runs);
	if (world->nr_runs <= world->crashes) {
		if (watch && world->file)
			snprintf(watch->reading, sizeof(watch->reading), "%s %u", world->file,
				 world->nr_runs);
		signal(world->signal, SIG_DFL);
		raise(world->signal);
	}
	if (world->is_short)
		memory_shortage_note();
	return world->status;
}

static const struct command apart = { .name = "report",
				      .reads_debug_info = true,
				      .run = run_command };
static const struct command here = { .name = "report", .run = run_command };

static void world_new(void)
{
	memset(world, 0, sizeof(*world));
	world->signal = SIGSEGV;
	world->file = "/lib/x.so";
	watch = NULL;
}

/* In a process of its own, which may end by a signal; returns its status, and what it said. */
static int start(const struct command *cmd, const char *operand, FILE *stream, const char **said)
{
	char name[] = "report", word[64];
	char *argv[] = { name, word, NULL };
	int status;
	pid_t pid;

	snprintf(word, sizeof(word), "%s", operand);
	captured_begin(stream);
	pid = fork();
	if (pid == 0)
		exit(command_start(cmd, 2, argv));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	*said = captured_end();
	return status;
}

/* The first test: standard output has not been used. */
static void what_a_crashed_process_wrote_is_not_shown(void)
{
	const char *said;

	world_new();
	world->crashes = 1;
	CHECK_EQ(start(&apart, "x", stdout, &said), 0);
	CHECK_STR(said, "output 2\n");
}

static void a_command_that_reads_no_files_runs_here(void)
{
	char name[] = "report";
	char *argv[] = { name, NULL };

	world_new();
	world->status = 5;
	captured_begin(stdout);
	CHECK_EQ(command_start(&here, 1, argv), 5);
	captured_end();
	CHECK_EQ(world->runner, own_pid);
	CHECK(!watch);
}

static void its_status_and_output_are_passed_on(void)
{
	const char *said;
	int status;

	world_new();
	world->status = 3;
	status = start(&apart, "x", stdout, &said);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK_STR(said, "output 1\n");
	CHECK_EQ(world->nr_runs, 1);
	CHECK(world->runner != own_pid);
	CHECK_EQ(world->core_limit, 0);
	CHECK(world->can_be_interrupted);
	world_new();
	world->fails_json = true;
	status = start(&apart, "x", stdout, &said);
	CHECK_EQ(WEXITSTATUS(status), EXIT_FAILED);
}

static void a_shortage_of_memory_is_a_failure(void)
{
	const char *said;
	int status;

	world_new();
	world->is_short = true;
	status = start(&apart, "x", stderr, &said);
	CHECK_EQ(WEXITSTATUS(status), EXIT_FAILED);
	CHECK_STR(said, "corotracer: " MEMORY_SHORTAGE_TEXT "\n");
	world_new();
	world->is_short = true;
	world->status = EXIT_USAGE; /* a failure has its own message */
	status = start(&apart, "x", stderr, &said);
	CHECK_EQ(WEXITSTATUS(status), EXIT_USAGE);
	CHECK_STR(said, "");
}

static void a_crash_names_the_file_that_is_left_out(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	char wanted[256];
	const char *said;
	int status;
	size_t i;

	for (i = 0; i < 5; i++) {
		world_new();
		world->crashes = 2;
		world->signal = signals[i];
		status = start(&apart, "x", stderr, &said);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		CHECK_EQ(world->nr_runs, 3);
		CHECK_EQ(world->nr_damaged, 2);
		CHECK_STR(world->damaged, "/lib/x.so 2");
		snprintf(wanted, sizeof(wanted),
			 "corotracer report: cannot read the debug information of '/lib/x.so 1': "
			 "the file is damaged (%s)\n",
			 strsignal(signals[i]));
		CHECK_EQ(strncmp(said, wanted, strlen(wanted)), 0);
	}
}

static void other_ends_are_those_of_the_tool(void)
{
	const char *said;
	int status;

	/* Not while a file was read. */
	world_new();
	world->crashes = 1;
	world->file = NULL;
	status = start(&apart, "x", stderr, &said);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(!WCOREDUMP(status));
	CHECK_STR(said, "");
	CHECK_EQ(world->nr_runs, 1);
	/* A signal that asks it to end. */
	world_new();
	world->crashes = 1;
	world->signal = SIGTERM;
	status = start(&apart, "x", stderr, &said);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CHECK_EQ(world->nr_runs, 1);
	/* There is a limit. */
	world_new();
	world->crashes = MODULE_WATCH_MAX + 1;
	status = start(&apart, "x", stderr, &said);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK_EQ(world->nr_runs, MODULE_WATCH_MAX + 1);
}

static void standard_input_cannot_be_read_again(void)
{
	const char *said;
	int status;

	world_new();
	world->crashes = 1;
	status = start(&apart, "-", stderr, &said);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED);
	CHECK(strstr(said, "hint: write the trace to a file: it is then read without that "
			   "module\n") != NULL);
	CHECK_EQ(world->nr_runs, 1);
}

/* Ctrl-C is for the process that runs the command; the tool is as before afterwards. */
static void signals_of_the_terminal_are_restored(void)
{
	char name[] = "report";
	char *argv[] = { name, NULL };
	struct sigaction action;

	world_new();
	captured_begin(stdout);
	CHECK_EQ(command_start(&apart, 1, argv), 0);
	captured_end();
	sigaction(SIGINT, NULL, &action);
	CHECK(action.sa_handler == SIG_DFL);
	sigaction(SIGQUIT, NULL, &action);
	CHECK(action.sa_handler == SIG_DFL);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

int main(void)
{
	alarm(60);
	own_pid = getpid();
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	RUN(what_a_crashed_process_wrote_is_not_shown);
	signal(SIGINT, SIG_DFL); /* a shell ignores them for jobs in the background */
	signal(SIGQUIT, SIG_DFL);
	RUN(a_command_that_reads_no_files_runs_here);
	RUN(its_status_and_output_are_passed_on);
	RUN(a_shortage_of_memory_is_a_failure);
	RUN(a_crash_names_the_file_that_is_left_out);
	RUN(other_ends_are_those_of_the_tool);
	RUN(standard_input_cannot_be_read_again);
	RUN(signals_of_the_terminal_are_restored);
	return 0;
}
