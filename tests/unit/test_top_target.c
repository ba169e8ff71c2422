/* SPDX-License-Identifier: MIT */
/*
 * test_top_target.c - a program that `top` starts under a collector of its own: what the view hears
 * of it, and that it ends with the view.
 *
 * The collector is the test's; processes, pipes and signals are real, and time passes while the
 * view sleeps.
 */
#include "top_target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "captured.h"
#include "collect/region_list.h"
#include "count_open.h"
#include "run_collector.h"

/* Shared with the collector's process. */
static struct {
	int rc; /* of collector_run() */
	bool begins, waits, ignores_term, is_live;
	bool hurries; /* time passes faster: a process that does not end is waited for */
	int exit_status, signal;
	uint64_t now, killed_at;
	unsigned nr_removed;
	char output[64], tool[32], first[32], in[64], out[64], err[64];
	pid_t group;
	int death_signal;
} * world;

static char own_region[64];
const struct command command_run = { .name = "run" };

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ (time_t)(world->now / NS_PER_SEC),
				(long)(world->now % NS_PER_SEC) };
	return 0;
}

int __real_nanosleep(const struct timespec *t, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	struct timespec real = { .tv_nsec = world->hurries ? 100000 : t->tv_nsec };

	CHECK_EQ(t->tv_sec, 0);
	world->now += (uint64_t)t->tv_nsec * (world->hurries ? 20 : 1);
	(void)rest;
	return __real_nanosleep(&real, NULL);
}

int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig)
{
	if (sig == SIGKILL)
		world->killed_at = world->now;
	return __real_kill(pid, sig);
}

void session_init(struct session *s, const struct command *cmd)
{
	CHECK(cmd == &command_run);
	memset(s, 0, sizeof(*s));
}

static void read_name(int fd, char *buf, size_t size)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
}

int collector_run(const struct collector_config *config, struct collector_result *result,
		  struct err *err)
{
	memset(result, 0, sizeof(*result));
	snprintf(world->output, sizeof(world->output), "%s", config->output);
	snprintf(world->tool, sizeof(world->tool), "%s", config->tool);
	snprintf(world->first, sizeof(world->first), "%s", config->argv[0]);
	read_name(0, world->in, sizeof(world->in));
	read_name(1, world->out, sizeof(world->out));
	read_name(2, world->err, sizeof(world->err));
	world->group = getpgid(0);
	prctl(PR_GET_PDEATHSIG, &world->death_signal);
	if (world->ignores_term)
		signal(SIGTERM, SIG_IGN);
	if (world->begins) {
		CHECK_EQ(config->ready(own_region, "/sock", 1, err), 0);
		config->started();
	}
	while (world->waits)
		pause();
	if (world->rc)
		return err_set(err, world->rc, "the collector failed");
	result->exit_status = world->exit_status;
	result->signal = world->signal;
	return 0;
}

bool region_is_live(int fd)
{
	CHECK(fd >= 0);
	return world->is_live;
}

int region_remove(const char *path, struct err *err)
{
	(void)err;
	CHECK_STR(path, own_region);
	world->nr_removed++;
	return 0;
}

/* ---- tests ------------------------------------------------------------------------------- */

static struct top_target t;
static struct err err;
static char program[] = "program";
static char *const argv[] = { program, NULL };

static void world_new(void)
{
	memset(world, 0, sizeof(*world));
	memset(&err, 0, sizeof(err));
	world->now = 100 * NS_PER_SEC;
	world->begins = world->is_live = true;
}

static void check_none_left(void)
{
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

static void the_view_hears_of_the_region_and_the_end(void)
{
	unsigned before = count_open();
	siginfo_t info;

	world_new();
	world->exit_status = 3;
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), 0);
	CHECK(t.collector > 0);
	CHECK_STR(t.region, own_region);
	CHECK_EQ(waitid(P_PID, (id_t)t.collector, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(world->group, t.collector);
	CHECK_EQ(world->death_signal, SIGTERM);
	CHECK_STR(world->output, "/dev/null");
	CHECK_STR(world->tool, "corotracer top");
	CHECK_STR(world->first, "program");
	CHECK_STR(world->in, "/dev/null");
	CHECK_STR(world->out, "/dev/null");
	CHECK_STR(world->err, "/dev/null");
	CHECK_EQ(top_target_end(&t, &err), 3);
	CHECK_EQ(err.code, 0);
	CHECK(!t.region);
	check_none_left();
	CHECK_EQ(count_open(), before);
	world_new();
	world->signal = SIGSEGV;
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), 0);
	CHECK_EQ(waitid(P_PID, (id_t)t.collector, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(top_target_end(&t, &err), 128 + SIGSEGV);
}

static void output_goes_to_the_log(void)
{
	char log[64];
	struct stat st;
	siginfo_t info;

	snprintf(log, sizeof(log), "/tmp/corotracer-test-log-%d", (int)getpid());
	world_new();
	CHECK_EQ(top_target_start(&t, argv, "trace.jsonl", log, &err), 0);
	CHECK_EQ(waitid(P_PID, (id_t)t.collector, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(top_target_end(&t, &err), 0);
	CHECK_STR(world->output, "trace.jsonl");
	CHECK_STR(world->in, "/dev/null");
	CHECK_STR(world->out, log);
	CHECK_STR(world->err, log);
	CHECK_EQ(stat(log, &st), 0);
	CHECK_EQ(unlink(log), 0);
	world_new();
	CHECK_EQ(top_target_start(&t, argv, NULL, "/nonexistent/log", &err), -ENOENT);
	CHECK_STR(err.text, "cannot write to '/nonexistent/log': No such file or directory");
	CHECK_STR(world->output, ""); /* nothing was started */
	check_none_left();
}

static void a_program_that_cannot_be_started_is_an_error(void)
{
	unsigned before = count_open();

	world_new();
	world->begins = false;
	world->rc = -ENOENT;
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), -ENOENT);
	CHECK_STR(err.text, "the collector failed");
	CHECK(!t.region);
	world_new();
	world->begins = false; /* it ends without a word */
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), -ECHILD);
	CHECK_STR(err.text, "the collector ended before it began");
	check_none_left();
	CHECK_EQ(count_open(), before);
	/* It began, and failed later: heard at the end. */
	world_new();
	world->rc = -EIO;
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), 0);
	world->is_live = false;
	CHECK_EQ(top_target_end(&t, &err), EXIT_FAILED);
	CHECK_EQ(err.code, -EIO);
	CHECK_STR(err.text, "the collector failed");
}

static void the_view_ends_the_program(void)
{
	world_new();
	world->waits = true;
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), 0);
	CHECK_EQ(top_target_end(&t, &err), EXIT_OK); /* as intended */
	CHECK_EQ(world->killed_at, 0);
	CHECK_EQ(world->nr_removed, 0);
	check_none_left();
	/* One that does not want to. */
	world_new();
	world->waits = world->ignores_term = world->hurries = true;
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), 0);
	captured_begin(stderr);
	CHECK_EQ(top_target_end(&t, &err), EXIT_OK);
	CHECK_STR(captured_end(), "corotracer top: the program does not exit: it is killed\n");
	CHECK(world->killed_at > 105 * NS_PER_SEC); /* five seconds */
	CHECK(world->killed_at <= 105 * NS_PER_SEC + 200 * NS_PER_MS);
	CHECK_EQ(world->nr_removed, 1);
	check_none_left();
}

/* A collector that has released its region ends by itself: it is not asked to. */
static void a_program_that_ends_is_left_alone(void)
{
	world_new();
	world->is_live = false;
	world->exit_status = 9;
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), 0);
	CHECK_EQ(top_target_end(&t, &err), 9);
	check_none_left();
	world_new();
	world->is_live = false;
	world->waits = world->hurries = true; /* and if it does not */
	CHECK_EQ(top_target_start(&t, argv, NULL, NULL, &err), 0);
	captured_begin(stderr);
	CHECK_EQ(top_target_end(&t, &err), EXIT_OK);
	captured_end();
	CHECK_EQ(world->nr_removed, 1);
	CHECK(world->killed_at > 105 * NS_PER_SEC);
	check_none_left();
}

int main(void)
{
	alarm(60);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	snprintf(own_region, sizeof(own_region), "/tmp/corotracer-test-XXXXXX");
	CHECK_EQ(close(mkstemp(own_region)), 0);
	RUN(the_view_hears_of_the_region_and_the_end);
	RUN(output_goes_to_the_log);
	RUN(a_program_that_cannot_be_started_is_an_error);
	RUN(the_view_ends_the_program);
	RUN(a_program_that_ends_is_left_alone);
	CHECK_EQ(unlink(own_region), 0);
	return 0;
}
