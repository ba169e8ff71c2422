/* SPDX-License-Identifier: MIT */
/*
 * test_launch.c - a program is started with the user's signals, files and environment, and its end
 * is reported as a shell does.
 */
#include "process/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "process/exec_stop.h"

static const struct launch_env no_env[] = { { NULL, NULL, 0 } };
static struct signals signals; /* as they were when the test began */
static struct err err;
static char folder[64];

static void start(struct launch *l, const char *script, const struct launch_env *env)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };

	err = (struct err){ 0 };
	CHECK_EQ(launch_start(l, argv, env, &signals, false, &err), 0);
	CHECK(l->pid > 0);
}

static void await_end(struct launch *l)
{
	while (!launch_ended(l))
		usleep(500);
}

static int status_of(const char *script, const struct launch_env *env)
{
	struct launch l;

	start(&l, script, env);
	await_end(&l);
	return launch_exit_status(&l);
}

/* ---- its end --------------------------------------------------------------------- */

static void the_exit_status_is_that_of_the_program(void)
{
	uint64_t before = clock_now_ns();
	struct launch l;

	start(&l, "exit 7", no_env);
	await_end(&l);
	CHECK_EQ(launch_exit_status(&l), 7);
	CHECK_EQ(launch_signal(&l), 0);
	CHECK(l.ended_ns >= before && l.ended_ns <= clock_now_ns());
	CHECK(launch_ended(&l));
	CHECK_EQ(status_of("exit 0", no_env), 0);
	CHECK_EQ(status_of("exit 255", no_env), 255);
}

static void a_signal_adds_128(void)
{
	struct launch l;

	start(&l, "kill -9 $$", no_env);
	await_end(&l);
	CHECK_EQ(launch_exit_status(&l), 137);
	CHECK_EQ(launch_signal(&l), 9);
}

static void a_program_that_runs_has_no_status(void)
{
	struct launch l;

	start(&l, "exec sleep 100", no_env);
	CHECK(!launch_ended(&l));
	CHECK_EQ(launch_exit_status(&l), 0);
	CHECK_EQ(launch_signal(&l), 0);
	CHECK_EQ(l.ended_ns, 0);
	launch_abort(&l);
	CHECK(l.ended);
	CHECK_EQ(launch_signal(&l), SIGKILL);
	CHECK_EQ(waitpid(l.pid, NULL, WNOHANG), -1); /* it was waited for */
	launch_abort(&l);                            /* nothing is left to do */
}

/* ---- what it gets ---------------------------------------------------------------- */

static void variables_are_set_and_removed(void)
{
	const struct launch_env env[] = { { "LAUNCH_A", "one two", 0 },
					  { "LAUNCH_B", NULL, 0 },
					  { "LAUNCH_C", "new", 0 },
					  { NULL, NULL, 0 } };

	setenv("LAUNCH_B", "is here", 1);
	setenv("LAUNCH_C", "old", 1);
	CHECK_EQ(status_of("test \"$LAUNCH_A\" = 'one two'", env), 0);
	CHECK_EQ(status_of("test -z \"${LAUNCH_B+set}\"", env), 0);
	CHECK_EQ(status_of("test \"$LAUNCH_C\" = new", env), 0);
	CHECK_EQ(status_of("test \"$LAUNCH_B\" = 'is here'", no_env), 0);
	CHECK_STR(getenv("LAUNCH_C"), "old"); /* only in the program */
}

static void only_the_named_descriptor_stays_open(void)
{
	int kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char script[64], number[16];
	struct launch_env env[] = { { "LAUNCH_FD", number, kept }, { NULL, NULL, 0 } };

	snprintf(number, sizeof(number), "%d", kept);
	CHECK_EQ(status_of("test -e /proc/self/fd/$LAUNCH_FD", env), 0);
	snprintf(script, sizeof(script), "test -e /proc/self/fd/%d", closed);
	CHECK_EQ(status_of(script, env), 1);
	close(kept);
	close(closed);
}

/* Standard error of this process goes to a file meanwhile. */
static void standard_output_can_go_to_standard_error(void)
{
	char *argv[] = { "echo", "out", NULL }, path[128], text[16] = "";
	int saved = dup(STDERR_FILENO), fd;
	struct launch l;

	snprintf(path, sizeof(path), "%s/err", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	dup2(fd, STDERR_FILENO);
	CHECK_EQ(launch_start(&l, argv, no_env, &signals, true, &err), 0);
	await_end(&l);
	dup2(saved, STDERR_FILENO);
	CHECK_EQ(pread(fd, text, sizeof(text) - 1, 0), 4);
	CHECK_STR(text, "out\n");
	close(saved);
	close(fd);
	unlink(path);
}

static void the_program_has_the_signals_of_the_user(void)
{
	struct signals own;

	CHECK_EQ(signals_open(&own, false, &err), 0);
	signals = own;
	/* Signals 1 to 31: SIGPIPE and SIGXFSZ are not ignored, none is blocked. */
	CHECK_EQ(status_of("grep -q 'SigBlk:.0000000000000000' /proc/self/status", no_env), 0);
	CHECK_EQ(status_of("grep -q 'SigIgn:.0000000000000000' /proc/self/status", no_env), 0);
	signals_close(&own);
}

/* ---- programs that cannot be run ------------------------------------------------- */

static void check_refused(const char *name, int code, int status, const char *hint)
{
	char *argv[] = { (char *)name, NULL }, text[256];
	struct launch l;

	err = (struct err){ 0 };
	CHECK_EQ(launch_start(&l, argv, no_env, &signals, false, &err), code);
	snprintf(text, sizeof(text), "cannot run '%s': %s", name, strerror(-code));
	CHECK_STR(err.text, text);
	CHECK_STR(err.hint, hint);
	CHECK_EQ(err.exit_status, status);
	CHECK_EQ(l.pid, 0);
	CHECK(!launch_ended(&l));
	launch_abort(&l); /* does nothing */
	CHECK(!l.ended);
}

static void a_failure_says_what_to_do(void)
{
	char file[128], hint[192], below[160];
	int fd;

	snprintf(file, sizeof(file), "%s/file", folder);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0);
	close(fd);
	snprintf(hint, sizeof(hint), "is it executable?  'chmod +x %s'", file);
	check_refused(file, -EACCES, 126, hint);
	check_refused(folder, -EACCES, 126, "it is a directory");
	snprintf(below, sizeof(below), "%s/x", file);
	check_refused(below, -ENOTDIR, 127, "");
	check_refused("/no/such/program", -ENOENT, 127, "");
	check_refused("no-such-program", -ENOENT, 127,
		      "it is not in PATH; a program in this folder is './no-such-program'");
	check_refused("./no such", -ENOENT, 127,
		      "the program and its arguments are separate words; without quotes?");
	unlink(file);
}

/* ---- before the first instruction ------------------------------------------------ */

static bool hold(struct launch *l, const char *script)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };

	err = (struct err){ 0 };
	CHECK_EQ(launch_start_held(l, argv, no_env, &signals, false, &err), 0);
	if (!l->is_held)
		printf("not held here: %s\n", l->unheld.text);
	return l->is_held;
}

static void a_held_program_runs_when_it_is_released(void)
{
	char script[160], path[128];
	struct launch l;

	snprintf(path, sizeof(path), "%s/ran", folder);
	snprintf(script, sizeof(script), "> %s; exit 3", path);
	if (hold(&l, script)) {
		CHECK(!launch_ended(&l));
		CHECK(access(path, F_OK) < 0);
		launch_release(&l);
		CHECK(!l.is_held);
	}
	await_end(&l);
	CHECK_EQ(launch_exit_status(&l), 3);
	CHECK_EQ(access(path, F_OK), 0);
	unlink(path);
	if (!hold(&l, script))
		return await_end(&l);
	launch_abort(&l);
	CHECK(l.ended && !l.is_held);
	CHECK_EQ(launch_signal(&l), SIGKILL);
	CHECK(access(path, F_OK) < 0);
}

#if defined(__x86_64__)
/* The file that is mapped at @addr in process @pid. */
static const char *file_at(pid_t pid, unsigned long long addr)
{
	static char line[512];
	unsigned long long from, to;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx", &from, &to) == 2 && addr >= from && addr < to)
			break;
		line[0] = '\0';
	}
	fclose(f);
	return line;
}

static bool is_mapped(pid_t pid, const char *file)
{
	char path[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	CHECK(f != NULL);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, file) != NULL;
	fclose(f);
	return found;
}

/* The loader has mapped and relocated all libraries, and has called none of them. */
static void a_held_program_stops_in_the_loader(void)
{
	struct user_regs_struct regs;
	struct launch l;

	if (!hold(&l, "exit 5"))
		return await_end(&l);
	CHECK_EQ(ptrace(PTRACE_GETREGS, l.pid, NULL, &regs), 0);
	CHECK(strstr(file_at(l.pid, regs.rip), "/ld-") != NULL);
	CHECK(is_mapped(l.pid, "/libc.so"));
	launch_release(&l);
	await_end(&l);
	CHECK_EQ(launch_exit_status(&l), 5);
}
#endif

/* The program has a trap of its own before it can be held: it runs, without the breakpoint. */
static void a_program_that_cannot_be_held_runs(void)
{
	int status = 0, rc;
	siginfo_t info;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		if (!exec_stop_allow())
			_exit(9);
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(1);
	}
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT), 0);
	if (info.si_code == CLD_EXITED) {
		CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
		return; /* no tracing here */
	}
	CHECK_EQ(kill(pid, SIGTRAP), 0);
	err = (struct err){ 0 };
	rc = exec_stop_await(pid, &status, &err);
#if defined(__x86_64__)
	CHECK_EQ(rc, -EFAULT);
	CHECK_STR(err.text, "cannot hold the program before it starts: Bad address");
#endif
	if (!rc)
		exec_stop_release(pid);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 5);
}

static void a_held_program_that_is_missing_is_refused(void)
{
	char *argv[] = { "/no/such/program", NULL };
	struct launch l;

	err = (struct err){ 0 };
	CHECK_EQ(launch_start_held(&l, argv, no_env, &signals, false, &err), -ENOENT);
	CHECK(!l.is_held);
	CHECK_EQ(l.pid, 0);
}

int main(void)
{
	snprintf(folder, sizeof(folder), "/tmp/corotracer-launch-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	setenv("PATH", "/usr/bin:/bin", 1); /* all of it can be searched */
	sigaction(SIGPIPE, NULL, &signals.inherited[0]);
	sigaction(SIGXFSZ, NULL, &signals.inherited[1]);
	sigaction(SIGCHLD, NULL, &signals.inherited[2]);
	sigprocmask(SIG_SETMASK, NULL, &signals.inherited_mask);
	signal(SIGINT, SIG_DFL); /* a shell ignores them for jobs in the background */
	signal(SIGQUIT, SIG_DFL);
	RUN(the_exit_status_is_that_of_the_program);
	RUN(a_signal_adds_128);
	RUN(a_program_that_runs_has_no_status);
	RUN(variables_are_set_and_removed);
	RUN(only_the_named_descriptor_stays_open);
	RUN(standard_output_can_go_to_standard_error);
	RUN(a_failure_says_what_to_do);
	RUN(a_held_program_runs_when_it_is_released);
#if defined(__x86_64__)
	RUN(a_held_program_stops_in_the_loader);
#endif
	RUN(a_program_that_cannot_be_held_runs);
	RUN(a_held_program_that_is_missing_is_refused);
	RUN(the_program_has_the_signals_of_the_user);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
