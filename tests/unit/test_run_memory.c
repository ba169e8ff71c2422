/* SPDX-License-Identifier: MIT */
/*
 * test_run_memory.c - the process of `run --mem`: its names, its life, what is said of its
 * failures.
 *
 * The collector of memory accesses is the test's; the process and its signals are real.
 */
#include "run_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "captured.h"
#include "cmd.h"
#include "count_open.h"
#include "mem.h"
#include "memory/collect/mem_collector.h"
#include "wire.h"

#define REGION "/dev/shm/the-region"

/* Shared with the process. */
static struct {
	int runs, concludes, kills;
	unsigned nr_outputs, nr_open;
	bool has_wrong_signals, is_quiet, is_json, has_heritage, is_released;
	char output[64], program[16], tool[32], command[16];
} * world;

static bool has_no_pipe, has_no_sockets, has_no_process, has_no_environment;
static unsigned nr_opened, nr_closed;
static char facts[512];
static struct run_memory m;

int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags)
{
	errno = EMFILE;
	return has_no_pipe ? -1 : __real_pipe2(fds, flags);
}

int __real_socketpair(int domain, int type, int protocol, int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
	errno = ENFILE;
	return has_no_sockets ? -1 : __real_socketpair(domain, type, protocol, fds);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return has_no_process ? -1 : __real_fork();
}

int __real_setenv(const char *name, const char *value, int replace);
int __wrap_setenv(const char *name, const char *value, int replace);
int __wrap_setenv(const char *name, const char *value, int replace)
{
	errno = ENOMEM;
	return has_no_environment ? -1 : __real_setenv(name, value, replace);
}

bool region_heritage_open(struct region_heritage *h, const char *path)
{
	static char value[] = "7:" REGION;

	CHECK_STR(path, REGION);
	nr_opened++;
	h->fd = dup(STDERR_FILENO);
	h->value = value;
	return world->has_heritage;
}

void region_heritage_close(struct region_heritage *h)
{
	nr_closed++;
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

void run_memory_put_facts(struct trace_writer *writer, const char *trace, const char *path)
{
	size_t used = strlen(facts);

	CHECK((void *)writer == (void *)world);
	snprintf(facts + used, sizeof(facts) - used, "%s:%s ", trace, path);
}

static bool signals_are_ignored(void)
{
	static const int all[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				   SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE };
	bool ok = true;
	size_t i;

	for (i = 0; i < 8; i++)
		ok &= signal(all[i], SIG_IGN) == SIG_IGN;
	return ok;
}

int collect_run(const struct collect_config *config, struct collect_result *result, struct err *err)
{
	static struct output outputs[2] = { { .next = &outputs[1], .path = "a.memory" },
					    { .path = "b.memory" } };
	struct pollfd fd = { .fd = config->until_fd, .events = POLLIN };

	memset(result, 0, sizeof(*result));
	CHECK_EQ(config->level, 1);
	snprintf(world->output, sizeof(world->output), "%s", config->output);
	snprintf(world->program, sizeof(world->program), "%s", config->argv[0]);
	snprintf(world->tool, sizeof(world->tool), "%.10s", config->tool);
	world->nr_open = count_open();
	world->has_wrong_signals = !signals_are_ignored();
	if (world->kills)
		kill(getpid(), world->kills);
	if (world->runs)
		return err_set(err, world->runs, "no region");
	config->ready(REGION);
	CHECK_EQ(poll(&fd, 1, -1), 1);
	result->outputs.first = world->nr_outputs ? &outputs[2 - world->nr_outputs] : NULL;
	return 0;
}

void collect_result_release(struct collect_result *result)
{
	(void)result;
	world->is_released = true;
}

int mem_run_conclude(const char *command, const struct collect_result *r, bool json, bool quiet)
{
	(void)r;
	snprintf(world->command, sizeof(world->command), "%s", command);
	world->is_json = json;
	world->is_quiet = quiet;
	return world->concludes;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static char program[] = "program", *argv[] = { program, NULL };

static void world_new(void)
{
	memset(world, 0, sizeof(*world));
	world->has_heritage = true;
	m = (struct run_memory){ .wanted = true };
	nr_opened = nr_closed = 0;
	facts[0] = '\0';
	unsetenv(CRW_ENV);
	setenv(CRW_ENV_FD, "of another run", 1);
}

static void check_all_is_gone(unsigned before)
{
	CHECK_EQ(count_open(), before);
	CHECK_EQ(m.collector, 0);
	CHECK(!getenv(CRW_ENV));
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

static void the_name_follows_that_of_the_trace(void)
{
	char name[24];

	CHECK(run_memory_name("t.jsonl", name, sizeof(name)));
	CHECK_STR(name, "t.jsonl.memory");
	CHECK(run_memory_name("ctf//", name, sizeof(name)));
	CHECK_STR(name, "ctf.memory");
	CHECK(run_memory_name("/", name, sizeof(name)));
	CHECK_STR(name, "/.memory");
	CHECK(run_memory_name("1234567890123456", name, sizeof(name)));
	CHECK(!run_memory_name("12345678901234567", name, sizeof(name)));
}

static void it_is_started_only_if_wanted(void)
{
	unsigned before = count_open();

	world_new();
	m.wanted = false;
	CHECK(run_memory_begin(&m, "t.jsonl", argv, false, false));
	CHECK_EQ(m.collector, 0);
	CHECK_EQ(run_memory_end(&m, 5), 5);
	check_all_is_gone(before);
}

static void the_program_finds_the_region(void)
{
	unsigned before = count_open();

	world_new();
	CHECK(run_memory_begin(&m, "t.jsonl", argv, false, false));
	CHECK(m.collector > 0);
	CHECK_STR(getenv(CRW_ENV), REGION);
	CHECK_STR(getenv(CRW_ENV_FD), "7:" REGION);
	CHECK_EQ(fcntl(m.heritage.fd, F_GETFD), 0); /* for the program */
	CHECK_EQ(fcntl(m.end_fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(run_memory_end(&m, EXIT_OK), EXIT_OK);
	CHECK_EQ(nr_closed, 1);
	CHECK(!getenv(CRW_ENV_FD));
	check_all_is_gone(before);
	CHECK_STR(world->output, "t.jsonl.memory");
	CHECK_STR(world->program, "program");
	CHECK_STR(world->tool, "corotracer");
	CHECK_STR(world->command, "run");
	CHECK(world->is_released && !world->is_json && !world->is_quiet);
	CHECK(!world->has_wrong_signals);
	CHECK_EQ(world->nr_open, before + 2); /* it sees the end of this process */
	CHECK_EQ(run_memory_end(&m, 3), 3);   /* it has ended */
}

static void without_a_descriptor_there_is_the_path(void)
{
	world_new();
	world->has_heritage = false;
	CHECK(run_memory_begin(&m, "t.jsonl", argv, true, false));
	CHECK_STR(getenv(CRW_ENV), REGION);
	CHECK(!getenv(CRW_ENV_FD));
	CHECK_EQ(run_memory_end(&m, EXIT_OK), EXIT_OK);
	CHECK(world->is_quiet && !world->is_json); /* the summary of the run is JSON */
	world_new();
	m.no_inherit = true;
	m.output = "other";
	CHECK(run_memory_begin(&m, "t.jsonl", argv, false, true));
	CHECK_EQ(nr_opened, 0);
	CHECK(!getenv(CRW_ENV_FD));
	CHECK_EQ(run_memory_end(&m, EXIT_OK), EXIT_OK);
	CHECK_STR(world->output, "other");
	CHECK(world->is_quiet);
}

static void add_facts(unsigned nr_outputs, const char *expected)
{
	unsigned before = count_open();

	world_new();
	world->nr_outputs = nr_outputs;
	CHECK(run_memory_begin(&m, "t.jsonl", argv, false, false));
	run_memory_add_facts((struct trace_writer *)world, 1, false, true);
	CHECK_STR(facts, expected);
	CHECK_EQ(waitpid(m.collector, NULL, WNOHANG), 0); /* it waits for the end */
	CHECK_EQ(run_memory_end(&m, EXIT_OK), EXIT_OK);
	check_all_is_gone(before);
}

static void each_file_becomes_a_fact(void)
{
	add_facts(2, "t.jsonl:a.memory t.jsonl:b.memory ");
	add_facts(1, "t.jsonl:b.memory ");
	add_facts(0, "");
	/* The collector was killed meanwhile. */
	world_new();
	CHECK(run_memory_begin(&m, "t.jsonl", argv, false, false));
	CHECK_EQ(kill(m.collector, SIGKILL), 0);
	run_memory_add_facts((struct trace_writer *)world, 1, false, true);
	CHECK_STR(facts, "");
	captured_begin(stderr);
	CHECK_EQ(run_memory_end(&m, EXIT_OK), EXIT_FAILED);
	CHECK_STR(captured_end(), "corotracer run: signal 9 ended the collector of memory "
				  "accesses: their trace is incomplete\n");
}

static void a_failure_at_the_end_does_not_hide_the_status_of_the_program(void)
{
	world_new();
	world->concludes = EXIT_FAILED;
	CHECK(run_memory_begin(&m, "t.jsonl", argv, false, false));
	CHECK_EQ(run_memory_end(&m, EXIT_OK), EXIT_FAILED);
	world->concludes = 2;
	CHECK(run_memory_begin(&m, "t.jsonl", argv, false, false));
	CHECK_EQ(run_memory_end(&m, 42), 42);
}

static const char *begin_and_fail(const char *trace)
{
	unsigned before = count_open();
	const char *said;

	captured_begin(stderr);
	CHECK(!run_memory_begin(&m, trace, argv, false, false));
	said = captured_end();
	CHECK_EQ(count_open(), before);
	CHECK(m.collector <= 0);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK(!getenv(CRW_ENV));
	return said;
}

static void failures_are_told_once(void)
{
	char trace[PATH_MAX];

	world_new();
	world->runs = -ENOENT;
	CHECK_STR(begin_and_fail("t"), "corotracer run: no region\n");
	world_new();
	world->kills = SIGKILL;
	CHECK_STR(begin_and_fail("t"), "corotracer run: signal 9 ended the collector of memory "
				       "accesses: their trace is incomplete\n");
	world_new();
	has_no_pipe = true;
	CHECK_STR(begin_and_fail("t"), "corotracer run: cannot start the collector of memory "
				       "accesses: Too many open files\n");
	has_no_pipe = false;
	has_no_sockets = true;
	CHECK_STR(begin_and_fail("t"), "corotracer run: cannot start the collector of memory "
				       "accesses: Too many open files in system\n");
	has_no_sockets = false;
	has_no_process = true;
	CHECK_STR(begin_and_fail("t"), "corotracer run: cannot start the collector of memory "
				       "accesses: Resource temporarily unavailable\n");
	has_no_process = false;
	has_no_environment = true;
	CHECK_STR(begin_and_fail("t"), "corotracer run: cannot start the collector of memory "
				       "accesses: Cannot allocate memory\n");
	CHECK_EQ(nr_opened, 1);
	CHECK_EQ(nr_closed, 1);
	has_no_environment = false;
	memset(trace, 'x', sizeof(trace));
	trace[sizeof(trace) - 1] = '\0';
	CHECK_STR(begin_and_fail(trace),
		  "corotracer run: the name of the trace is too long for --mem\n");
}

int main(void)
{
	alarm(20);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	RUN(the_name_follows_that_of_the_trace);
	RUN(it_is_started_only_if_wanted);
	RUN(the_program_finds_the_region);
	RUN(without_a_descriptor_there_is_the_path);
	RUN(each_file_becomes_a_fact);
	RUN(a_failure_at_the_end_does_not_hide_the_status_of_the_program);
	RUN(failures_are_told_once);
	return 0;
}
