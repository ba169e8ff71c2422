/* SPDX-License-Identifier: MIT */
/*
 * test_resize_asked.c - another process asks the attached collector for another number of slots:
 * it follows, or it does not; and how often a session looks at its ring.
 */
#include "ppt-Busy.h"
#include "ppt-Fixed.h"
#include "session_bed.h"

/* ---- the program ----------------------------------------------------------- */

static void program_main(int fd)
{
	struct ppt_Busy_tick tick = { .n = 1 };
	struct ppt_Fixed_work work = { .n = 1 };
	char letter;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(100);
	while (read(fd, &letter, 1) == 1) {
		if (letter == 'b')
			ppt_Busy_tick_save(&tick);
		if (letter == 'f')
			ppt_Fixed_work_save(&work);
		if (write(fd, &letter, 1) != 1)
			break;
	}
	_exit(0);
}

/* ---- the collector ----------------------------------------------------------- */

static int collector_begin(struct attach *a, struct err *err)
{
	struct attach_config config = config_of("Busy", 4);

	config.is_hosted = false;
	config.sink.say = NULL;
	session = a;
	return attach_open(a, &config, err) < 0 || attach_start(a, err) < 0;
}

/* A collector in its own process; @runs: it follows what it is asked for. */
static pid_t collector_start(bool runs)
{
	struct err err = { 0 };
	struct attach a;
	int up[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(up), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (collector_begin(&a, &err) || write(up[1], "", 1) != 1)
			_exit(1);
		if (runs)
			attach_run(&a, &err);
		pause();
		_exit(0);
	}
	close(up[1]);
	CHECK_EQ(read(up[0], &byte, 1), 1);
	close(up[0]);
	return pid;
}

/* The program saves a frame again and again: it follows at the next one. */
static pid_t saver_start(void)
{
	pid_t pid = fork();
	int i;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < 20000; i++) {
		program_does('b', 1);
		usleep(500);
	}
	_exit(0);
}

static void process_end(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- tests ------------------------------------------------------------------- */

static void a_collector_that_follows_is_waited_for(void)
{
	struct live_buffer live;
	struct err err = { 0 };
	pid_t collector, saver;
	unsigned before;
	int rc = -ETIMEDOUT, i;

	program_start();
	collector = collector_start(true);
	saver = saver_start();
	before = count_fds();
	for (i = 0; i < 10 && rc == -ETIMEDOUT; i++) /* on a busy machine it takes longer */
		rc = attach_ask_resize(program.pid, "Busy", 50, &err);
	CHECK_EQ(rc, 0);
	CHECK_EQ(count_fds(), before);
	CHECK_EQ(attach_ask_resize(program.pid, NULL, 50, &err), -ENOENT); /* there are two */
	CHECK_EQ(live_open(&live, program.pid, "Busy", &err), 0);
	CHECK(live_is_attached(&live, collector));
	live_release(&live);
	process_end(saver);
	process_end(collector);
	program_end();
}

/* Nothing is saved: two seconds later the answer is that it did not happen yet. */
static void a_program_that_saves_nothing_does_not_follow(void)
{
	struct err err = { 0 };
	uint64_t start;
	pid_t collector;

	program_start();
	collector = collector_start(true);
	program_does('b', 1);
	start = clock_now_ns();
	CHECK_EQ(attach_ask_resize(program.pid, "Busy", 8, &err), -ETIMEDOUT);
	CHECK(clock_now_ns() - start >= 2 * NS_PER_SEC);
	CHECK_STR(err.text, "the collector was asked, and the program did not follow yet");
	CHECK_STR(err.hint, "it does so when it next saves a frame; the collector says why not");
	process_end(collector);
	program_end();
}

/* It has the name of a collector, and the program's owner is it; but there is no ring. */
static void a_collector_without_a_ring_cannot_resize(void)
{
	struct err err = { 0 };
	struct live_buffer live;
	int32_t owner;
	sigset_t set;
	pid_t pid;

	program_start();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
	CHECK_EQ(live_open(&live, program.pid, "Busy", &err), 0);
	owner = pid;
	CHECK_EQ(target_write(&live.target, live.place->stat, &owner, sizeof(owner), &err), 0);
	CHECK_EQ(attach_ask_resize(program.pid, "Busy", 8, &err), -ESRCH); /* no collector */
	CHECK_STR(err.text, "no collector is attached to 'Busy'");
	live_release(&live);
	process_end(pid);
	prctl(PR_SET_NAME, "ppt");
	CHECK_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	CHECK_EQ(live_open(&live, program.pid, "Busy", &err), 0);
	owner = getpid();
	CHECK_EQ(target_write(&live.target, live.place->stat, &owner, sizeof(owner), &err), 0);
	errno = 0;
	CHECK_EQ(attach_ask_resize(program.pid, "Busy", 8, &err), -ESRCH);
	CHECK_STR(err.text, "the collector of 'Busy' has no ring yet, or no longer");
	live_release(&live);
	program_end();
}

/* @nr frames wait at the next look; the time until then was @before. */
static uint64_t delay_after(struct attach *a, unsigned nr, uint64_t before)
{
	struct err err;

	program_does('f', nr);
	a->delay_ns = before;
	CHECK_EQ(session_step(a, &err), 0);
	noted();
	return a->delay_ns;
}

/* The more of the ring is full, the sooner it is looked at again. */
static void the_time_between_two_looks_follows_the_frames(void)
{
	struct attach_config config;
	struct attach a;

	program_start();
	config = config_of("Fixed", 64);
	session_start(&a, &config);
	CHECK_EQ(a.delay_ns, 500000);
	CHECK_EQ(delay_after(&a, 0, 400000), 500000); /* for the first frame */
	CHECK_EQ(delay_after(&a, 0, 4000000), 5000000);
	CHECK_EQ(delay_after(&a, 0, 4900000), 5000000);
	CHECK_EQ(delay_after(&a, 1, 400000), 500000);
	CHECK(a.ring_open);
	delay_after(&a, 0, 1);
	CHECK_EQ(delay_after(&a, 17, 400000), 100000);
	CHECK_EQ(delay_after(&a, 16, 400000), 200000);
	CHECK_EQ(delay_after(&a, 9, 400000), 200000);
	CHECK_EQ(delay_after(&a, 8, 400000), 800000);
	CHECK_EQ(delay_after(&a, 1, 999999), 1999998);
	CHECK_EQ(delay_after(&a, 1, 1500000), 1500000);
	CHECK_EQ(delay_after(&a, 1, 3000000), 2000000);
	CHECK_EQ(delay_after(&a, 0, 400000), 500000);
	CHECK_EQ(delay_after(&a, 0, 15999999), 19999998);
	CHECK_EQ(delay_after(&a, 0, 18000000), 20000000);
	CHECK_EQ(delay_after(&a, 17, 40000), 20000); /* not more often */
	CHECK_EQ(a.stats.fullest, 17);
	session_end(&a);
}

int main(void)
{
	RUN(the_time_between_two_looks_follows_the_frames);
	RUN(a_collector_that_follows_is_waited_for);
	RUN(a_program_that_saves_nothing_does_not_follow);
	RUN(a_collector_without_a_ring_cannot_resize);
	return 0;
}
