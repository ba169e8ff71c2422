/* SPDX-License-Identifier: MIT */
/*
 * test_session.c - attach to the buffers of a running program, step by step.
 *
 * The program is a child of this test with the buffers Busy (resizable) and Fixed.  It does one
 * thing for each letter that it gets, and answers, so that nothing here depends on time.
 */
#include <pthread.h>

#include "ppt-Busy.h"
#include "ppt-Fixed.h"
#include "session_bed.h"

/* ---- the program ----------------------------------------------------------- */

static uint64_t saved;

static void save_busy(void)
{
	struct ppt_Busy_tick t = { .n = ++saved, .not_n = ~saved };

	ppt_Busy_tick_save(&t);
}

static void save_fixed(void)
{
	struct ppt_Fixed_work w = { .n = ++saved };

	ppt_Fixed_work_save(&w);
}

static void *save_busy_in_thread(void *arg)
{
	save_busy();
	return arg;
}

static void do_as_asked(char letter, int fd)
{
	pthread_t thread;

	if (letter == 'b')
		save_busy();
	if (letter == 'f')
		save_fixed();
	if (letter == 't' && pthread_create(&thread, NULL, save_busy_in_thread, NULL) == 0)
		pthread_join(thread, NULL);
	if (letter == 'e' && dup2(fd, 0) == 0 && dup2(fd, 1) == 1)
		execlp("cat", "cat", "-u", NULL);
	if (letter == 'x')
		_exit(0);
}

static void program_main(int fd)
{
	char letter;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(100);
	while (read(fd, &letter, 1) == 1) {
		do_as_asked(letter, fd);
		if (write(fd, &letter, 1) != 1)
			break;
	}
	_exit(0);
}

/* The process ends; there is no answer. */
static void program_leaves(void)
{
	char answer;

	CHECK_EQ(write(program.fd, "x", 1), 1);
	CHECK_EQ(read(program.fd, &answer, 1), 0);
}

/* The process executes cat(1), which answers from then on. */
static void program_executes(void)
{
	CHECK_EQ(write(program.fd, "e", 1), 1);
	program_does('!', 1);
}

/* Start the program; the configuration of a session with @buffer. */
static struct attach_config program_with(const char *buffer, uint64_t slots)
{
	program_start();
	return config_of(buffer, slots);
}

/* ---- tests: frames ------------------------------------------------------------- */

static void frames_are_passed_on_with_their_tickets(void)
{
	struct attach_config config = program_with("Fixed", 64);
	struct err err;
	struct attach a;

	session_start(&a, &config);
	CHECK_STR(noted(), "");
	CHECK_EQ(session_step(&a, &err), 0); /* the program has not saved anything */
	CHECK(!a.ring_open && !a.stats.attached);
	program_does('f', 3);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "1: the program has attached 64 slots\nbegin\n");
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "frame 1 work 1\nframe 2 work 2\nframe 3 work 3\n");
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "");
	program_does('f', 2);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "frame 4 work 4\nframe 5 work 5\n");
	CHECK_EQ(a.stats.polls, 3);
	CHECK_EQ(a.stats.fullest, 3);
	program_does('f', 1); /* is read at the end */
	session_detach(&a);
	CHECK_STR(noted(), "frame 6 work 6\n");
	CHECK_EQ(a.stats.issued, 6);
	CHECK_EQ(a.stats.recorded, 6);
	CHECK_EQ(a.stats.lost, 0);
	CHECK_EQ(a.stats.dropped, 0);
	CHECK_EQ(a.stats.threads, 1);
	CHECK(a.stats.attached && a.stats.mapped && !a.stats.parked);
	CHECK_EQ(a.stats.slots, 64);
	CHECK_EQ(a.stats.first_slots, 64);
	CHECK_EQ(a.stats.stops, 0);
	CHECK(a.stats.ran_ns > 0);
	program_does('f', 2); /* without a collector; not counted by the next one */
	session_start(&a, &config);
	CHECK_STR(noted(), "");
	program_does('f', 1);
	a.live.target.stops = 2; /* to read its memory */
	a.live.target.stopped_ns = 77;
	session_end(&a); /* attached between two steps */
	CHECK_EQ(a.stats.stops, 2);
	CHECK_EQ(a.stats.stopped_ns, 77);
	CHECK_STR(noted(), "1: the program has attached 64 slots\nbegin\nframe 1 work 9\n");
	CHECK_EQ(a.stats.issued, 1);
}

static void a_ring_that_is_too_small_loses_frames(void)
{
	struct attach_config config = program_with("Fixed", 3); /* 4 slots */
	struct err err;
	struct attach a;

	session_start(&a, &config);
	CHECK_EQ(a.stats.slots, 4);
	program_does('f', 4);
	CHECK_EQ(session_step(&a, &err), 0);
	noted();
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "frame 1 work 1\nframe 2 work 2\nframe 3 work 3\nframe 4 work 4\n");
	program_does('f', 5);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(),
		  "frame 6 work 6\nframe 7 work 7\nframe 8 work 8\nframe 9 work 9\nlost 1\n");
	session_end(&a);
	CHECK_STR(noted(), "");
	CHECK_EQ(a.stats.issued, 9);
	CHECK_EQ(a.stats.recorded, 8);
	CHECK_EQ(a.stats.lost, 1);
	CHECK_EQ(a.stats.fullest, 5);
	CHECK_EQ(a.stats.resizes, 0);
}

static void no_more_frames_than_wanted_are_passed_on(void)
{
	struct attach_config config = program_with("Fixed", 64);
	struct err err;
	struct attach a;

	config.count = 2;
	session_start(&a, &config);
	program_does('f', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_EQ(session_step(&a, &err), 0);
	noted();
	program_does('f', 3);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "frame 2 work 2\n");
	session_end(&a);
	CHECK_STR(noted(), "");
	CHECK_EQ(a.stats.recorded, 2);
	CHECK_EQ(a.stats.issued, 2); /* what came after them does not count */
	CHECK_EQ(a.stats.lost, 0);
}

/* attach_run() looks at the time, the number of frames and the program. */
static void a_run_ends_for_a_reason(void)
{
	struct attach_config config = program_with("Fixed", 64);
	struct err err = { 0 };
	struct attach a;

	config.is_hosted = false;
	config.duration_ns = 2 * NS_PER_MS;
	session_start(&a, &config);
	CHECK_EQ(attach_run(&a, &err), 0);
	CHECK_EQ(a.stats.end, ATTACH_DURATION);
	session_detach(&a);
	CHECK(a.stats.ran_ns >= 2 * NS_PER_MS);
	CHECK(!a.stats.attached && !a.stats.mapped);
	CHECK_EQ(a.signal_fd, -1);
	config.duration_ns = 0;
	config.count = 1;
	session_start(&a, &config);
	program_does('f', 1);
	CHECK_EQ(attach_run(&a, &err), 0);
	CHECK_EQ(a.stats.end, ATTACH_COUNT);
	session_detach(&a);
	config.count = 0;
	session_start(&a, &config);
	raise(SIGTERM); /* is blocked, and read from the descriptor */
	CHECK_EQ(attach_run(&a, &err), 0);
	CHECK_EQ(a.stats.end, ATTACH_ASKED);
	session_detach(&a);
	session_start(&a, &config);
	program_does('f', 2);
	program_leaves();
	noted();
	CHECK_EQ(attach_run(&a, &err), 0);
	CHECK_EQ(a.stats.end, ATTACH_EXITED);
	session_end(&a);
	CHECK_STR(noted(),
		  "1: the program has attached 64 slots\nbegin\nframe 1 work 2\nframe 2 work 3\n");
}

static void a_failed_write_ends_the_session(void)
{
	struct attach_config config = program_with("Fixed", 64);
	struct err err;
	struct attach a;

	session_start(&a, &config);
	program_does('f', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	flush_fails = 1;
	CHECK_EQ(session_step(&a, &err), -ENOSPC);
	CHECK_STR(err.text, "the disk is full");
	CHECK_EQ(a.stats.end, ATTACH_FAILED);
	flush_fails = 0;
	session_end(&a);
}

/* Steps of a program that ended, or that executed another one, are the end and not a failure. */
static void a_program_that_is_gone_ends_the_session(void)
{
	struct attach_config config = program_with("Fixed", 64);
	struct err err;
	struct attach a;

	session_start(&a, &config);
	program_does('f', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	program_executes();
	a.last_check_ns = 0; /* it looks twice a second */
	CHECK_EQ(session_step(&a, &err), 1);
	CHECK_EQ(a.stats.end, ATTACH_EXEC);
	session_end(&a);
	CHECK_EQ(a.stats.recorded, 1);
}

/* ---- tests: resizable buffers ------------------------------------------------------ */

static void a_resizable_ring_grows_after_a_loss(void)
{
	struct attach_config config = program_with("Busy", 4);
	struct err err;
	struct attach a;

	config.auto_resize = true;
	session_start(&a, &config);
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "1: the program has attached 4 slots\nbegin\nframe 1 tick 1\n");
	program_does('b', 6);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(),
		  "frame 4 tick 4\nframe 5 tick 5\nframe 6 tick 6\nframe 7 tick 7\nlost 2\n"
		  "1: asked the program for 8 slots instead of 4\n");
	CHECK_EQ(a.wanted_slots, 8);
	CHECK_EQ(a.stats.slots, 4);
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "resized 4 to 8\n1: the program uses 8 slots now\n"
			   "frame 8 tick 8\n1: the old slots are no longer in use\n");
	CHECK_EQ(a.wanted_slots, 0);
	CHECK_EQ(a.stats.slots, 8);
	CHECK_EQ(a.stats.first_slots, 4);
	CHECK_EQ(a.stats.resizes, 1);
	program_does('b', 8);
	CHECK_EQ(session_step(&a, &err), 0);
	noted();
	session_end(&a);
	CHECK_EQ(a.stats.issued, 16);
	CHECK_EQ(a.stats.lost, 2);
	CHECK_EQ(a.stats.recorded, 14);
}

static void a_ring_is_resized_on_request(void)
{
	struct attach_config config = program_with("Busy", 4);
	struct err err;
	struct attach a;

	session_start(&a, &config);
	resize_start(&a, 16); /* too early: it waits for the ring */
	CHECK_EQ(a.queued_slots, 16);
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "1: the program has attached 4 slots\nbegin\n"
			   "1: asked the program for 16 slots instead of 4\nframe 1 tick 1\n");
	CHECK_EQ(a.queued_slots, 0);
	resize_start(&a, 5); /* rounded up; after the first */
	CHECK_EQ(a.queued_slots, 8);
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "resized 4 to 16\n1: the program uses 16 slots now\n"
			   "frame 2 tick 2\n1: the old slots are no longer in use\n"
			   "1: asked the program for 8 slots instead of 16\n");
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_STR(noted(), "resized 16 to 8\n1: the program uses 8 slots now\n"
			   "frame 3 tick 3\n1: the old slots are no longer in use\n");
	resize_start(&a, 8); /* it has them */
	CHECK_STR(noted(), "");
	CHECK_EQ(a.wanted_slots + a.queued_slots, 0);
	/* A loss without auto_resize changes nothing. */
	program_does('b', 10);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK(strstr(noted(), "lost 2\n") != NULL);
	CHECK_EQ(a.wanted_slots, 0);
	session_end(&a);
	CHECK_EQ(a.stats.resizes, 2);
	CHECK_EQ(a.stats.lost, 2);
}

static void a_buffer_without_resize_says_so(void)
{
	struct attach_config config = program_with("Fixed", 4);
	struct attach a;

	config.auto_resize = true;
	session_start(&a, &config);
	CHECK_STR(noted(),
		  "0: this buffer cannot be resized: its spec lacks 'option buffer resize on'\n");
	resize_start(&a, 8);
	CHECK_STR(noted(),
		  "0: this buffer cannot be resized: its spec lacks 'option buffer resize on'\n");
	CHECK(!attach_is_resizable(&a));
	CHECK_EQ(a.wanted_slots + a.queued_slots, 0);
	session_end(&a);
}

/* ---- tests: stamps ---------------------------------------------------------------- */

static void stamps_name_the_thread_and_the_time(void)
{
	struct attach_config config = program_with("Busy", 1024);
	uint64_t before = clock_now_ns();
	struct err err;
	struct attach a;

	config.stamp_kind = PPT_STAMP_NS;
	session_start(&a, &config);
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_EQ(a.ring.stamp_tid, program.pid);
	CHECK(a.ring.stamp_time >= before && a.ring.stamp_time <= clock_now_ns());
	program_does('t', 1); /* a block of tickets for another thread */
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK(a.ring.stamp_tid != (uint64_t)program.pid && a.ring.stamp_tid != 0);
	CHECK(attach_has_blocks(&a));
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	session_end(&a);
	CHECK_EQ(a.stats.issued, 3); /* tickets that no thread used are not lost frames */
	CHECK_EQ(a.stats.recorded, 3);
	CHECK_EQ(a.stats.lost, 0);
	CHECK_EQ(a.stats.threads, 2);
}

static void count_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	(void)arg, (void)ticket, (void)image;
}

/* With blocks the program's own counts say how many are lost. */
static void frames_that_blocks_lose_are_counted(void)
{
	struct attach_config config = program_with("Busy", 1024);
	struct err err;
	struct attach a;

	config.stamp_kind = PPT_STAMP_NS;
	session_start(&a, &config);
	program_does('b', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK_EQ(session_step(&a, &err), 0);
	a.config.sink.frame = count_frame;
	program_does('b', 1030); /* six more than there are slots */
	CHECK_EQ(session_step(&a, &err), 0);
	CHECK(attach_has_blocks(&a));
	noted();
	session_end(&a);
	CHECK_STR(noted(), "lost 6\n"); /* known at the end */
	CHECK_EQ(a.stats.recorded, 1025);
	CHECK_EQ(a.stats.lost, 6);
	CHECK_EQ(a.stats.issued, 1031);
}

/* ---- tests: sizes ------------------------------------------------------------------- */

static void the_number_of_slots_is_a_power_of_two(void)
{
	static const struct {
		uint64_t wanted;
		uint32_t slots;
	} sizes[] = { { 1, 2 },       { 2, 2 },       { 3, 4 },
		      { 4, 4 },       { 5, 8 },       { 1023, 1024 },
		      { 1024, 1024 }, { 1025, 2048 }, { UINT64_MAX, PPT_SLOTS_MAX } };
	struct attach_config config;
	struct err err = { 0 };
	struct attach a;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		CHECK_EQ(attach_power_of_two(sizes[i].wanted), sizes[i].slots);
	config = program_with("Busy", 0);
	session = &a;
	CHECK_EQ(attach_open(&a, &config, &err), 0);
	/* As many as fit into 4 MiB, rounded down. */
	CHECK((uint64_t)a.stats.slots * a.live.desc.stride <= 4 << 20);
	CHECK((uint64_t)a.stats.slots * a.live.desc.stride > 2 << 20);
	CHECK_EQ(attach_check_slots(&a, 1, &err), -EINVAL);
	CHECK_EQ(attach_check_slots(&a, 2, &err), 0);
	CHECK_EQ(attach_check_slots(&a, PPT_SLOTS_MAX, &err), 0);
	CHECK_EQ(attach_check_slots(&a, (uint64_t)PPT_SLOTS_MAX + 1, &err), -EINVAL);
	attach_release(&a);
	/* A small ring has at least as many as the spec wants. */
	config.ring_bytes = 4096;
	CHECK_EQ(attach_open(&a, &config, &err), 0);
	CHECK_EQ(a.stats.slots, 1024);
	a.live.desc.stride = 1 << 20;
	CHECK_EQ(attach_check_slots(&a, 1 << 19, &err), 0);
	memset(&err, 0, sizeof(err));
	CHECK_EQ(attach_check_slots(&a, 1 << 20, &err), -EINVAL);
	CHECK_STR(err.text, "a ring of 1048576 slots of 1048576 bytes cannot be made");
	attach_release(&a);
	config.ring_bytes = 1 << 20;
	CHECK_EQ(attach_open(&a, &config, &err), 0);
	CHECK((uint64_t)a.stats.slots * a.live.desc.stride <= 1 << 20);
	CHECK((uint64_t)a.stats.slots * a.live.desc.stride > 1 << 19);
	attach_release(&a);
	program_end();
}

/* ---- tests: two collectors -------------------------------------------------------- */

/* A second collector, in a process of its own; it holds the buffer until it is killed. */
static pid_t hold_buffer(const char *buffer)
{
	struct attach_config config = config_of(buffer, 4);
	struct err err = { 0 };
	struct attach a;
	int up[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(up), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		config.force = true;
		config.sink.say = NULL;
		if (attach_open(&a, &config, &err) == 0 && attach_start(&a, &err) == 0 &&
		    write(up[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(up[1]);
	CHECK_EQ(read(up[0], &byte, 1), 1);
	close(up[0]);
	return pid;
}

static void a_buffer_has_one_collector(void)
{
	struct attach_config config = program_with("Fixed", 4);
	struct err err = { 0 };
	char expected[200];
	struct attach a;
	pid_t other;

	other = hold_buffer("Fixed");
	session = &a;
	CHECK_EQ(attach_open(&a, &config, &err), 0);
	CHECK_EQ(live_owner(&a.live), other);
	CHECK(live_is_attached(&a.live, other));
	CHECK(!live_is_attached(&a.live, 0));
	CHECK(!live_owner_works(&a.live, getpid())); /* has no ring */
	CHECK_EQ(attach_start(&a, &err), -EBUSY);
	snprintf(expected, sizeof(expected),
		 "buffer 'Fixed' of process %d: process %d (test_frames_ses) is attached already",
		 (int)program.pid, (int)other);
	CHECK_STR(err.text, expected);
	CHECK_STR(err.hint, "end that one, or take over with --force-attach");
	attach_stop(&a);
	attach_release(&a);
	/* With force. */
	config.force = true;
	session_start(&a, &config);
	snprintf(expected, sizeof(expected),
		 "0: taking over from process %d (test_frames_ses), as you asked\n", (int)other);
	CHECK_STR(noted(), expected);
	CHECK_EQ(live_owner(&a.live), getpid());
	program_does('f', 1);
	CHECK_EQ(session_step(&a, &err), 0);
	noted();
	/* And lost again. */
	kill(other, SIGKILL);
	CHECK_EQ(waitpid(other, NULL, 0), other);
	other = hold_buffer("Fixed");
	a.last_check_ns = 0;
	CHECK_EQ(session_step(&a, &err), 1);
	CHECK_EQ(a.stats.end, ATTACH_TAKEN);
	snprintf(expected, sizeof(expected), "frame 1 work 1\n0: process %d took the buffer over\n",
		 (int)other);
	CHECK_STR(noted(), expected);
	session_detach(&a);
	/* A collector that was killed does not keep the buffer. */
	kill(other, SIGKILL);
	CHECK_EQ(waitpid(other, NULL, 0), other);
	config.force = false;
	session_start(&a, &config);
	snprintf(expected, sizeof(expected),
		 "0: its last collector, process %d, went without detaching; taking over\n",
		 (int)other);
	CHECK_STR(noted(), expected);
	session_end(&a);
	CHECK_EQ(live_client_error(&a.live), 0);
}

static void an_owner_that_is_no_collector_is_replaced(void)
{
	struct attach_config config = program_with("Fixed", 4);
	struct err err = { 0 };
	int32_t one = 1, owner = -1;
	struct attach a;

	session = &a;
	CHECK_EQ(attach_open(&a, &config, &err), 0);
	CHECK_EQ(target_write(&a.live.target, a.live.place->stat, &one, sizeof(one), &err), 0);
	CHECK(live_has_other_owner(&a.live, &owner));
	CHECK_EQ(owner, 1);
	text[0] = '\0';
	CHECK_EQ(attach_start(&a, &err), 0);
	CHECK(strstr(text, "0: process 1 (") != NULL);
	CHECK(strstr(text, ") is not attached here, though it says so; taking over\n") != NULL);
	CHECK(!live_has_other_owner(&a.live, &owner));
	session_end(&a);
}

/* ---- tests: requests from another process ------------------------------------------- */

static void a_resize_is_asked_of_the_attached_collector(void)
{
	struct err err = { 0 };
	pid_t other;

	program_start();
	CHECK_EQ(attach_ask_resize(program.pid, "Fixed", 8, &err), -ENOTSUP);
	CHECK_STR(err.text, "buffer 'Fixed' cannot be resized");
	CHECK_STR(err.hint, "its spec lacks 'option buffer resize on'");
	memset(&err, 0, sizeof(err));
	CHECK_EQ(attach_ask_resize(program.pid, "Busy", 8, &err), -ESRCH);
	CHECK_STR(err.text, "no collector is attached to 'Busy'");
	CHECK_STR(err.hint, "'corotracer attach --size N' starts one with a ring of that size");
	/* A collector that does not wait for the signal would be killed by it. */
	memset(&err, 0, sizeof(err));
	other = hold_buffer("Busy");
	CHECK_EQ(attach_ask_resize(program.pid, "Busy", 8, &err), -ESRCH);
	CHECK_EQ(kill(other, 0), 0);
	kill(other, SIGKILL);
	CHECK_EQ(waitpid(other, NULL, 0), other);
	program_end();
}

/* ---- tests: which buffer ------------------------------------------------------------- */

static void one_of_several_buffers_is_chosen(void)
{
	char expected[300], self[64], name[300];
	struct live_buffer live;
	struct err err = { 0 };

	program_start();
	CHECK_EQ(live_open(&live, program.pid, NULL, &err), -ENOENT);
	snprintf(expected, sizeof(expected), "process %d has 2 frame buffers: which one?",
		 (int)program.pid);
	CHECK_STR(err.text, expected);
	CHECK(!strcmp(err.hint, "choose one with -b: Busy, Fixed") ||
	      !strcmp(err.hint, "choose one with -b: Fixed, Busy"));
	memset(&err, 0, sizeof(err));
	CHECK_EQ(live_open(&live, program.pid, "Fix", &err), -ENOENT);
	snprintf(expected, sizeof(expected), "process %d has no frame buffer 'Fix'",
		 (int)program.pid);
	CHECK_STR(err.text, expected);
	CHECK_EQ(live_open(&live, program.pid, "Fixed2", &err), -ENOENT);
	CHECK_EQ(live_open(&live, program.pid, "Fixed@other", &err), -ENOENT);
	CHECK_EQ(live_open(&live, program.pid, "Fixed@", &err), -ENOENT);
	CHECK_EQ(live_open(&live, program.pid, "Fixed@test_frames_session", &err), 0);
	CHECK_STR(live.place->name, "Fixed");
	CHECK_STR(live.desc.name, "Fixed");
	CHECK_EQ(live.desc.nr_frames, 2);
	CHECK(!live.place->existing);
	snprintf(self, sizeof(self), "/%s", "test_frames_session");
	CHECK(strstr(live.place->file, self) != NULL);
	snprintf(name, sizeof(name), "Busy@%s", live.place->file);
	live_release(&live);
	CHECK_EQ(live_open(&live, program.pid, name, &err), 0);
	CHECK_STR(live.place->name, "Busy");
	live_release(&live);
	/* A program without any. */
	memset(&err, 0, sizeof(err));
	program_executes();
	CHECK_EQ(live_open(&live, program.pid, NULL, &err), -ENOENT);
	snprintf(expected, sizeof(expected), "process %d has no frame buffers", (int)program.pid);
	CHECK_STR(err.text, expected);
	snprintf(expected, sizeof(expected), "'corotracer run -p %d' traces its coroutines; ",
		 (int)program.pid);
	CHECK_EQ(strncmp(err.hint, expected, strlen(expected)), 0);
	program_end();
}

/* Two files of a process may have a buffer of the same name. */
static void two_buffers_of_one_name_need_the_file(void)
{
	struct buffer_symbol at[] = { { .name = (char *)"A", .file = (char *)"/lib/one.so" },
				      { .name = (char *)"A", .file = (char *)"/lib/two.so" },
				      { .name = (char *)"B", .file = (char *)"/lib/two.so" } };
	struct buffer_symbols list = { .at = at, .nr = 3 };
	struct err err = { 0 };

	CHECK(places_pick(&list, "A", 7, &err) == NULL);
	CHECK_STR(err.text, "process 7 has two buffers 'A'");
	CHECK_STR(err.hint, "choose one with -b A@one.so or -b A@two.so");
	CHECK(places_pick(&list, "A@two.so", 7, &err) == &at[1]);
	CHECK(places_pick(&list, "A@/lib/one.so", 7, &err) == &at[0]);
	CHECK(places_pick(&list, "B", 7, &err) == &at[2]);
	CHECK(places_pick(&list, "A@three.so", 7, &err) == NULL);
	list.nr = 1;
	CHECK(places_pick(&list, NULL, 7, &err) == &at[0]);
	list.nr = 0;
	list.unreadable = 1;
	snprintf(list.unreadable_first, sizeof(list.unreadable_first), "/lib/x.so: gone");
	memset(&err, 0, sizeof(err));
	CHECK(places_pick(&list, NULL, 7, &err) == NULL);
	CHECK_STR(err.text, "process 7 has no frame buffers");
	CHECK_STR(err.hint, "cannot read /lib/x.so: gone");
}

int main(void)
{
	RUN(frames_are_passed_on_with_their_tickets);
	RUN(a_ring_that_is_too_small_loses_frames);
	RUN(no_more_frames_than_wanted_are_passed_on);
	RUN(a_failed_write_ends_the_session);
	RUN(a_program_that_is_gone_ends_the_session);
	RUN(a_resizable_ring_grows_after_a_loss);
	RUN(a_ring_is_resized_on_request);
	RUN(a_buffer_without_resize_says_so);
	RUN(stamps_name_the_thread_and_the_time);
	RUN(frames_that_blocks_lose_are_counted);
	RUN(the_number_of_slots_is_a_power_of_two);
	RUN(a_buffer_has_one_collector);
	RUN(an_owner_that_is_no_collector_is_replaced);
	RUN(a_resize_is_asked_of_the_attached_collector);
	RUN(one_of_several_buffers_is_chosen);
	RUN(two_buffers_of_one_name_need_the_file);
	RUN(a_run_ends_for_a_reason); /* blocks signals from here on */
	return 0;
}
