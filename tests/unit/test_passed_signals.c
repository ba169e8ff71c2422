/* SPDX-License-Identifier: MIT */
/*
 * test_passed_signals.c - a signal of the user reaches the program once: the collector passes it
 * on, unless the witness says that the whole group received it.
 */
#include "process/signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"

#define MS UINT64_C(1000000)

static struct signals s;
static struct err err;

static void open_with(bool with_witness)
{
	CHECK_EQ(signals_open(&s, with_witness, &err), 0);
	CHECK_EQ(s.witness.pid > 0, with_witness);
}

/* A program that ends by the first signal, in the group of this process or not. */
static pid_t program_start(bool in_group)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		signals_restore_in_child(&s);
		pause();
		_exit(0);
	}
	if (!in_group)
		setpgid(pid, pid);
	return pid;
}

/* The signal that ended it, at the latest SIGKILL after some seconds. */
static int program_ended_by(pid_t pid)
{
	int status, looks = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (++looks == 10000)
			kill(pid, SIGKILL);
		usleep(500);
	}
	return WTERMSIG(status);
}

static void program_end(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_EQ(program_ended_by(pid), SIGKILL);
}

/* ---- requests --------------------------------------------------------------------- */

static void int_term_and_hup_ask_to_stop(void)
{
	static const struct {
		int sig;
		bool asks;
	} signals[] = { { SIGINT, true },   { SIGTERM, true },  { SIGHUP, true },
			{ SIGQUIT, false }, { SIGUSR1, false }, { SIGUSR2, false } };
	size_t i;

	CHECK(!signals_stop_was_read());
	for (i = 6; i-- > 0;) {
		open_with(false);
		CHECK_EQ(signals_stop_was_read(), i < 2);
		raise(signals[i].sig);
		CHECK(!s.asked_to_stop);
		signals_serve(&s, 5);
		CHECK_EQ(s.asked_to_stop, signals[i].asks);
		CHECK_EQ(s.nr_stops, signals[i].asks);
		CHECK_EQ(s.stop_signal, signals[i].asks ? signals[i].sig : 0);
		CHECK_EQ(s.due_ns[signals[i].sig], 5 + 30 * MS);
		/* A second one before it is passed on does not defer it. */
		raise(signals[i].sig);
		signals_serve(&s, 6);
		CHECK_EQ(s.due_ns[signals[i].sig], 5 + 30 * MS);
		CHECK_EQ(s.nr_stops, 2 * signals[i].asks);
		signals_close(&s);
		CHECK_EQ(s.fd, -1);
	}
	CHECK(signals_stop_was_read());
}

static void a_signal_that_was_ignored_does_not_stop(void)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	open_with(false);
	/* Ignored signals do not arrive by themselves: the handler decides later. */
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	raise(SIGHUP);
	signals_serve(&s, 1);
	CHECK(!s.asked_to_stop);
	CHECK(s.due_ns[SIGHUP]);
	raise(SIGINT); /* a shell without job control ignores it in the background */
	signals_serve(&s, 1);
	CHECK(s.asked_to_stop);
	CHECK_EQ(s.stop_signal, SIGINT);
	CHECK_EQ(s.nr_stops, 1);
	signals_close(&s);
}

static void a_kept_signal_is_not_passed_on(void)
{
	open_with(false);
	signals_keep(&s, SIGUSR1);
	CHECK(!signals_kept(&s));
	raise(SIGUSR1);
	signals_serve(&s, 1);
	CHECK_EQ(s.due_ns[SIGUSR1], 0);
	CHECK(signals_kept(&s));
	CHECK(!signals_kept(&s));
	raise(SIGUSR2);
	signals_serve(&s, 1);
	CHECK(!signals_kept(&s));
	CHECK(s.due_ns[SIGUSR2]);
	signals_close(&s);
}

static void the_end_of_a_child_is_not_a_request(void)
{
	pid_t pid;

	open_with(false);
	pid = program_start(true);
	program_end(pid);
	signals_serve(&s, 1);
	CHECK(!s.asked_to_stop);
	CHECK_EQ(s.due_ns[SIGCHLD], 0);
	CHECK_EQ(signals_pass_on(&s, 0, UINT64_MAX - 1), UINT64_MAX);
	signals_close(&s);
}

/* ---- passed on -------------------------------------------------------------------- */

static void a_signal_is_passed_on_when_it_is_due(void)
{
	pid_t pid;

	open_with(false);
	pid = program_start(false);
	raise(SIGUSR2);
	signals_serve(&s, 1000);
	raise(SIGUSR1);
	signals_serve(&s, 900);
	CHECK_EQ(signals_pass_on(&s, pid, 0), 900 + 30 * MS); /* the first one */
	CHECK_EQ(signals_pass_on(&s, pid, 900 + 30 * MS - 1), 900 + 30 * MS);
	CHECK(s.due_ns[SIGUSR1] && s.due_ns[SIGUSR2]);
	CHECK_EQ(signals_pass_on(&s, pid, 900 + 30 * MS), 1000 + 30 * MS);
	CHECK_EQ(s.due_ns[SIGUSR1], 0);
	CHECK_EQ(s.handled_ns[SIGUSR1], 900 + 30 * MS);
	CHECK_EQ(s.handled_ns[SIGUSR2], 0);
	CHECK_EQ(program_ended_by(pid), SIGUSR1);
	CHECK_EQ(signals_pass_on(&s, 0, 1000 + 30 * MS), UINT64_MAX); /* no program: dropped */
	CHECK_EQ(s.due_ns[SIGUSR2], 0);
	signals_close(&s);
}

/* As the collector does, until it is known who received the signal. */
static void pass_on_when_known(pid_t pid, int sig, uint64_t now)
{
	for (; s.due_ns[sig]; now += 2 * MS) {
		signals_pass_on(&s, pid, now);
		usleep(2000);
	}
}

/* The witness gets the signal as a member of the group would. */
static void group_signal(int sig)
{
	raise(sig);
	kill(s.witness.pid, sig);
	while (!s.noted_ns[sig])
		signals_hear_witness(&s);
}

static void a_signal_of_the_group_is_not_passed_on(void)
{
	uint64_t now;
	pid_t pid;

	open_with(true);
	pid = program_start(true);
	group_signal(SIGUSR1);
	now = clock_now_ns();
	CHECK(s.noted_ns[SIGUSR1] <= now && s.noted_ns[SIGUSR1] > now - 60000 * MS);
	signals_serve(&s, now);
	CHECK_EQ(signals_pass_on(&s, pid, now + 30 * MS), UINT64_MAX);
	CHECK_EQ(s.handled_ns[SIGUSR1], now + 30 * MS);
	kill(pid, SIGUSR2); /* the first one that it gets */
	CHECK_EQ(program_ended_by(pid), SIGUSR2);
	/* A later one goes to the collector alone: the note is of the one before. */
	pid = program_start(true);
	raise(SIGUSR1);
	signals_serve(&s, now + 40 * MS);
	pass_on_when_known(pid, SIGUSR1, now + 70 * MS);
	CHECK_EQ(program_ended_by(pid), SIGUSR1);
	signals_close(&s);
	CHECK_EQ(s.witness.pid, 0);
}

static void a_program_outside_of_the_group_did_not_get_its_signal(void)
{
	uint64_t now;
	pid_t pid;

	open_with(true);
	pid = program_start(false);
	group_signal(SIGUSR2);
	now = clock_now_ns();
	signals_serve(&s, now);
	pass_on_when_known(pid, SIGUSR2, now + 30 * MS);
	CHECK_EQ(program_ended_by(pid), SIGUSR2);
	signals_close(&s);
}

static void a_witness_that_is_late_is_waited_for(void)
{
	uint64_t now = clock_now_ns();
	pid_t pid;

	open_with(true);
	pid = program_start(true);
	kill(s.witness.pid, SIGSTOP);
	raise(SIGUSR1);
	kill(s.witness.pid, SIGUSR1);
	signals_serve(&s, now);
	CHECK_EQ(signals_pass_on(&s, pid, now + 30 * MS), now + 32 * MS);
	CHECK_EQ(signals_pass_on(&s, pid, now + 2030 * MS), now + 2032 * MS);
	CHECK(s.due_ns[SIGUSR1]);
	kill(s.witness.pid, SIGCONT);
	while (!s.nr_answered)
		signals_hear_witness(&s);
	CHECK(s.noted_ns[SIGUSR1]); /* before the answer */
	CHECK_EQ(signals_pass_on(&s, pid, now + 2040 * MS), UINT64_MAX);
	CHECK_EQ(s.due_ns[SIGUSR1], 0);
	kill(pid, SIGUSR2); /* the first one that it gets */
	CHECK_EQ(program_ended_by(pid), SIGUSR2);
	signals_close(&s);
}

static void a_witness_that_does_not_answer_is_not_waited_for_long(void)
{
	uint64_t now = clock_now_ns();
	pid_t pid;

	open_with(true);
	pid = program_start(false);
	kill(s.witness.pid, SIGSTOP);
	raise(SIGUSR1);
	signals_serve(&s, now);
	CHECK_EQ(signals_pass_on(&s, pid, now + 30 * MS), now + 32 * MS);
	CHECK_EQ(signals_pass_on(&s, pid, now + 2031 * MS), UINT64_MAX);
	CHECK_EQ(program_ended_by(pid), SIGUSR1);
	signals_close(&s);
}

/* ---- ends ------------------------------------------------------------------------- */

static void the_witness_notes_when_a_process_ends(void)
{
	uint64_t before, end;
	pid_t pid, gone;

	open_with(true);
	pid = program_start(true);
	gone = program_start(true);
	program_end(gone);
	signals_watch(&s, pid);
	CHECK_EQ(signals_end_of(&s, pid, 0), 0); /* it runs, and there is no time to wait */
	before = clock_now_ns();
	program_end(pid);
	end = signals_end_of(&s, pid, before + 60000 * MS);
	CHECK(end >= before && end <= clock_now_ns());
	CHECK_EQ(signals_end_of(&s, pid, 0), end);
	signals_watch(&s, gone); /* it ended before it was watched */
	end = signals_end_of(&s, gone, before + 60000 * MS);
	CHECK(end >= before && end <= clock_now_ns());
	signals_close(&s);
}

static void without_a_witness_no_end_is_known(void)
{
	uint64_t before;

	open_with(false);
	signals_watch(&s, getpid());
	before = clock_now_ns();
	CHECK_EQ(signals_end_of(&s, getpid(), before + 60000 * MS), 0);
	CHECK(clock_now_ns() < before + 30000 * MS);
	signals_close(&s);
}

/* ---- the user's signals ----------------------------------------------------------- */

static void closing_restores_what_was_before(void)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD };
	struct sigaction action;
	sigset_t mask;
	size_t i;

	signal(SIGCHLD, SIG_IGN);
	open_with(false);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (i = 0; i < 7; i++)
		CHECK_EQ(sigismember(&mask, ours[i]), 1);
	CHECK_EQ(sigismember(&mask, SIGPIPE), 0);
	sigaction(SIGPIPE, NULL, &action);
	CHECK(action.sa_handler == SIG_IGN);
	sigaction(SIGXFSZ, NULL, &action);
	CHECK(action.sa_handler == SIG_IGN);
	sigaction(SIGCHLD, NULL, &action);
	CHECK(action.sa_handler == SIG_DFL); /* or a child could not be waited for */
	raise(SIGTERM);                      /* comes too late, and ends nothing */
	signals_close(&s);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (i = 0; i < 7; i++)
		CHECK_EQ(sigismember(&mask, ours[i]), 0);
	sigaction(SIGPIPE, NULL, &action);
	CHECK(action.sa_handler == SIG_DFL);
	sigaction(SIGXFSZ, NULL, &action);
	CHECK(action.sa_handler == SIG_DFL);
	sigaction(SIGCHLD, NULL, &action);
	CHECK(action.sa_handler == SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signals_close(&s); /* a second time: nothing */
}

int main(void)
{
	RUN(int_term_and_hup_ask_to_stop);
	RUN(a_signal_that_was_ignored_does_not_stop);
	RUN(a_kept_signal_is_not_passed_on);
	RUN(the_end_of_a_child_is_not_a_request);
	RUN(a_signal_is_passed_on_when_it_is_due);
	RUN(a_signal_of_the_group_is_not_passed_on);
	RUN(a_program_outside_of_the_group_did_not_get_its_signal);
	RUN(a_witness_that_is_late_is_waited_for);
	RUN(a_witness_that_does_not_answer_is_not_waited_for_long);
	RUN(the_witness_notes_when_a_process_ends);
	RUN(without_a_witness_no_end_is_known);
	RUN(closing_restores_what_was_before);
	return 0;
}
