/* SPDX-License-Identifier: MIT */
/*
 * test_foreign.c - sessions with programs of other implementations of the protocol, counters, and
 * requests to the collector of another process.
 *
 * usage: test_foreign DIR, the folder with live_existing and its variants.
 */
#include <linux/perf_event.h>
#include <sched.h>

#include "frames/live/counters.h"
#include "session_bed.h"

static const char *folder, *client;

static void program_main(int fd)
{
	char path[400];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(100);
	snprintf(path, sizeof(path), "%s/%s", folder, client);
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0)
		_exit(1);
	if (strcmp(client, "live_busy") && strcmp(client, "live_ticks"))
		execl(path, client, "-", NULL);
	execl(path, client, "1", "100000", NULL); /* one thread, a frame each 0.1 ms */
	_exit(1);
}

/* Start @file, a client that saves a frame for each byte. */
static struct attach_config client_with(const char *file, uint64_t slots)
{
	client = file;
	program_start();
	program_does('s', 1); /* without a collector: no frame */
	return config_of("Legacy", slots);
}

/* "frame TICKET NAME id code" of the images that a session passes on. */
static void note_image(void *arg, uint64_t ticket, const uint8_t *image)
{
	int32_t type, numbers[2];

	(void)arg;
	memcpy(&type, image + 4, sizeof(type));
	memcpy(numbers, image + (type == 1 ? 104 : 8), sizeof(numbers));
	if (type == 1) {
		CHECK_EQ(numbers[0], -numbers[1]);
		note("frame %llu work %d\n", (unsigned long long)ticket, numbers[0]);
	} else {
		float quarter = (float)numbers[0] * 0.25f;

		CHECK(memcmp(&numbers[1], &quarter, sizeof(quarter)) == 0);
		note("frame %llu tick %d\n", (unsigned long long)ticket, numbers[0]);
	}
}

static void ignore_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	(void)arg;
	(void)ticket;
	(void)image;
}

static void ignore_lost(void *arg, uint64_t nr)
{
	(void)arg;
	(void)nr;
}

static void steps(struct attach *a, unsigned nr)
{
	struct err err;

	while (nr--)
		CHECK_EQ(session_step(a, &err), 0);
}

/* ---- frames ------------------------------------------------------------------------ */

static void frames_of_the_existing_generator_are_read(void)
{
	struct attach_config config = client_with("live_existing", 8);
	struct attach a;

	config.sink.frame = note_image;
	session_start(&a, &config);
	CHECK_EQ(a.live.desc.dialect, DESC_PPT);
	CHECK(!a.live.desc.extended);
	CHECK_EQ(a.live.desc.stride, 120);
	CHECK_EQ(a.live.desc.frame_size, 116);
	CHECK(a.live.place->existing);
	CHECK_EQ(a.stats.slots, 8);
	program_does('s', 3);
	steps(&a, 2);
	/* As many slots as fit there. */
	CHECK(strstr(text, "1: the program has attached ") != NULL);
	CHECK(strstr(noted(), "begin\nframe 1 work 2\nframe 2 work 3\nframe 3 tick 4\n") != NULL);
	CHECK_EQ(a.ring.stride, 120);
	CHECK(a.stats.slots >= 8 && a.stats.slots <= 10);
	program_does('s', 5);
	steps(&a, 1);
	CHECK_STR(noted(), "frame 4 work 5\nframe 5 work 6\nframe 6 work 7\nframe 7 tick 8\n"
			   "frame 8 work 9\n");
	/* It keeps the ring, because it has counters; the next collector reads on there. */
	session_detach(&a);
	CHECK(a.stats.parked);
	CHECK_EQ(a.stats.recorded, 8);
	CHECK_EQ(a.stats.lost, 0);
	noted();
	session = &a;
	{
		struct err err = { 0 };

		CHECK_EQ(attach_open(&a, &config, &err), 0);
		program_does('s', 1); /* between the collectors */
		CHECK_EQ(attach_start(&a, &err), 0);
	}
	CHECK(a.adopted);
	CHECK(strstr(noted(), "1: the program still holds the ring of an earlier collector; "
			      "reading on there\n") != NULL);
	steps(&a, 1);
	CHECK_STR(noted(), "1: the program has attached before us, with 8 slots\nbegin\n");
	program_does('s', 2); /* what was saved before is not of this session */
	steps(&a, 1);
	CHECK_STR(noted(), "frame 10 work 11\nframe 11 tick 12\n");
	session_end(&a);
}

/* The distance of slots is not in the control block: it follows from what is there. */
static void other_distances_of_slots_are_recognized(void)
{
	static const struct {
		const char *client;
		unsigned slots, stride;
	} clients[] = { { "live_narrow", 64, 116 },
			{ "live_narrow_128", 128, 116 },
			{ "live_wide_128", 128, 120 } };
	struct attach_config config;
	struct attach a;
	size_t i;

	for (i = 0; i < 3; i++) {
		config = client_with(clients[i].client, clients[i].slots);
		config.sink.frame = note_image;
		session_start(&a, &config);
		program_does('s', 5);
		steps(&a, 3);
		CHECK(strstr(noted(), "frame 1 work 2\nframe 2 work 3\nframe 3 tick 4\n"
				      "frame 4 work 5\nframe 5 work 6\n") != NULL);
		CHECK_EQ(a.ring.stride, clients[i].stride);
		session_end(&a);
		CHECK_EQ(a.stats.recorded, 5);
		CHECK_EQ(a.stats.lost, 0);
	}
}

static void a_program_that_does_not_answer_is_reported(void)
{
	struct attach_config config = client_with("live_mute", 8);
	struct err err = { 0 };
	char expected[300];
	struct attach a;

	config.is_hosted = false;
	config.duration_ns = 1000;
	session_start(&a, &config);
	program_does('s', 2);
	CHECK_EQ(attach_run(&a, &err), -ENOTSUP);
	snprintf(expected, sizeof(expected),
		 "cannot read the frames of 'Legacy': process %d mapped the ring and left "
		 "data_block or data_block_sz of the control block 0",
		 (int)program.pid);
	CHECK_STR(err.text, expected);
	CHECK(!a.stats.attached);
	session_end(&a);
}

/* ---- the clock of frames ------------------------------------------------------------------ */

/* Start @file, which saves all the time, and wait until it has executed its file. */
static struct attach_config busy_with(const char *file, const char *buffer)
{
	struct err err = { 0 };
	struct live_buffer live;

	client = file;
	program_start();
	while (live_open(&live, program.pid, buffer, &err) < 0)
		sched_yield();
	live_release(&live);
	return config_of(buffer, 64);
}

static void the_counter_of_the_processor_has_a_rate(void)
{
	struct attach_config config = busy_with("live_ticks", "Ticks");
	const struct recording_clock *clock;
	uint64_t latest = clock_now_ns() + UINT64_C(60000000000);
	struct attach a;

	config.sink.frame = ignore_frame;
	config.sink.lost = ignore_lost;
	session_start(&a, &config);
	CHECK(!attach_clock(&a)->known); /* the program has not answered */
	while (!a.stats.attached && clock_now_ns() < latest)
		steps(&a, 1);
	clock = attach_clock(&a);
	CHECK(clock->known && clock->ticks > 0 && clock->ns > 0);
	/* From 250 MHz to 20 GHz, or a counter of nanoseconds. */
	CHECK(clock->ns_per_tick > 0.05 && clock->ns_per_tick < 4.0);
	CHECK(clock->ns <= clock_now_ns());
	session_end(&a);
}

/* ---- a control block that is overwritten ------------------------------------------------- */

struct their_control {
	uint64_t size, wanted, attached, data, nr_slots, flags;
};

static void a_wrong_answer_is_refused(uint64_t data, uint64_t nr_slots, bool is_refused)
{
	struct attach_config config = client_with("live_existing", 8);
	struct their_control *c;
	struct err err;
	struct attach a;

	session_start(&a, &config);
	program_does('s', 1);
	c = a.control_segment.map;
	CHECK(c->nr_slots >= 8 && c->attached == (uint64_t)a.control_segment.id);
	c->data = data ? data : c->data;
	c->nr_slots = nr_slots ? nr_slots : c->nr_slots;
	if (is_refused) {
		CHECK_EQ(session_step(&a, &err), -EBADMSG);
		CHECK(strstr(err.text, "'Legacy'") != NULL);
		CHECK(err.hint[0]);
		CHECK_EQ(a.stats.end, ATTACH_FAILED);
	} else {
		CHECK_EQ(session_step(&a, &err), 0);
	}
	session_end(&a);
}

static void answers_that_do_not_fit_are_refused(void)
{
	a_wrong_answer_is_refused(0, 0, false);
	a_wrong_answer_is_refused(0x10000 + 39, 0, true); /* in the control block */
	a_wrong_answer_is_refused(0x10000 + 36, 0, true);
	a_wrong_answer_is_refused(0x10000 + 42, 0, true); /* not aligned */
	a_wrong_answer_is_refused(0, 1000, true);         /* more than the segment has */
	a_wrong_answer_is_refused(0, UINT64_C(1) << 32, true);
}

/* ---- counters ------------------------------------------------------------------------------ */

static void lists_of_counters_are_split(void)
{
	struct counters c = { 0 };
	struct err err = { 0 };

	CHECK_EQ(counters_add(&c, "one", &err), 0);
	CHECK_EQ(counters_add(&c, "two,three", &err), 0);
	CHECK_EQ(c.nr, 3);
	CHECK_STR(c.names[0], "one");
	CHECK_STR(c.names[1], "two");
	CHECK_STR(c.names[2], "three");
	CHECK_EQ(COUNTERS_MAX, 3);
	CHECK_EQ(counters_add(&c, "four", &err), -E2BIG);
	CHECK_STR(err.text, "3 counters at most");
	CHECK_STR(err.hint, "a frame has room for three readings per member");
	CHECK_EQ(c.nr, 3);
	counters_release(&c);
	CHECK_EQ(c.nr, 0);
	memset(&err, 0, sizeof(err));
	CHECK_EQ(counters_add(&c, "one,,two", &err), -EINVAL);
	CHECK_STR(err.text, "a counter without a name");
	counters_release(&c);
	CHECK_EQ(counters_add(&c, "", &err), -EINVAL);
	CHECK_EQ(counters_add(&c, "one,", &err), -EINVAL);
	counters_release(&c);
	CHECK_EQ(counters_resolve(&c, false, &err), 0); /* none */
}

static bool can_count(void)
{
	struct counters c = { 0 };
	struct err err = { 0 };
	int rc;

	CHECK_EQ(counters_add(&c, "PAGE-FAULTS", &err), 0);
	rc = counters_resolve(&c, false, &err);
	counters_release(&c);
	if (rc)
		printf("# no counters here: %s\n", err.text);
	return rc == 0;
}

static void counters_are_looked_up(void)
{
	struct counters c = { 0 };
	struct err err = { 0 };

	CHECK_EQ(counters_add(&c, "PAGE-FAULTS,perf::CONTEXT-SWITCHES,TASK-CLOCK", &err), 0);
	CHECK_EQ(counters_resolve(&c, true, &err), 0);
	CHECK_EQ(c.attrs[0].type, PERF_TYPE_SOFTWARE);
	CHECK_EQ(c.attrs[0].config, PERF_COUNT_SW_PAGE_FAULTS);
	CHECK_EQ(c.attrs[0].size, PERF_ATTR_SIZE_VER0);
	CHECK(c.attrs[0].exclude_kernel && c.attrs[0].exclude_hv && !c.attrs[0].disabled);
	CHECK(!c.attrs[0].inherit && !c.attrs[0].sample_period && !c.attrs[0].sample_type);
	CHECK_EQ(c.attrs[0].read_format, PERF_FORMAT_GROUP);
	/* The kernel counts these; in user mode there are none. */
	CHECK_EQ(c.attrs[1].config, PERF_COUNT_SW_CONTEXT_SWITCHES);
	CHECK(!c.attrs[1].exclude_kernel && c.attrs[1].exclude_hv);
	CHECK_EQ(c.attrs[2].config, PERF_COUNT_SW_TASK_CLOCK);
	CHECK(c.attrs[2].exclude_kernel);
	CHECK_STR(c.warning, "");
	counters_release(&c);
}

static void unknown_counters_are_reported_with_the_known_ones(void)
{
	struct counters c = { 0 };
	struct err err = { 0 };

	CHECK_EQ(counters_add(&c, "PAGE-FAULTS,no-such-counter", &err), 0);
	CHECK_EQ(counters_resolve(&c, false, &err), -ENOENT);
	CHECK_EQ(strncmp(err.text, "this machine has no counter 'no-such-counter': ", 47), 0);
	CHECK_EQ(strncmp(err.hint, "it has ", 7), 0);
	CHECK(strstr(err.hint, "PAGE-FAULTS") && strstr(err.hint, "TASK-CLOCK"));
	CHECK(!strstr(err.hint, "perf::") && !strstr(err.hint, "PERF_COUNT_"));
	counters_release(&c);
}

static void the_counters_of_the_machine_are_listed(void)
{
	struct err err = { 0 };
	char *list = NULL;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	CHECK(f != NULL);
	CHECK_EQ(counters_list(f, &err), 0);
	CHECK_EQ(fclose(f), 0);
	CHECK(strstr(list, "perf::PAGE-FAULTS\n") && strstr(list, "perf::TASK-CLOCK\n"));
	CHECK(strstr(list, "perf::PERF_COUNT_SW_PAGE_FAULTS\n") != NULL);
	free(list);
}

/* A program that has no permission: what it cannot count is erased. */
static void counters_are_passed_to_the_program(void)
{
	struct attach_config config = client_with("live_existing", 8);
	struct err err = { 0 };
	struct attach a;

	CHECK_EQ(counters_add(&config.counters, "PAGE-FAULTS", &err), 0);
	CHECK_EQ(counters_resolve(&config.counters, true, &err), 0);
	config.sink.frame = note_image;
	session_start(&a, &config);
	CHECK_STR(noted(), ""); /* it has one thread */
	program_does('s', 2);
	steps(&a, 2);
	CHECK(strstr(noted(), "frame 1 work 2\nframe 2 work 3\n") != NULL);
	session_end(&a);
	counters_release(&config.counters);
}

static uint64_t readings[3]; /* at the start of the first interval of the last frame */

static void note_readings(void *arg, uint64_t ticket, const uint8_t *image)
{
	int32_t type;

	(void)arg;
	(void)ticket;
	memcpy(&type, image + 4, sizeof(type));
	if (type == 1)
		for (int i = 0; i < 3; i++)
			memcpy(&readings[i], image + 56 + 16 * i, sizeof(readings[i]));
}

/* A counter that the program cannot open: what is in the frames then is no reading. */
static void counters_that_were_not_measured_are_erased(void)
{
	struct attach_config config = client_with("live_existing", 8);
	struct err err = { 0 };
	struct attach a;

	CHECK_EQ(counters_add(&config.counters, "PAGE-FAULTS,TASK-CLOCK", &err), 0);
	CHECK_EQ(counters_resolve(&config.counters, true, &err), 0);
	config.counters.attrs[0].type = 9999; /* there is no such kind */
	config.sink.frame = note_readings;
	session_start(&a, &config);
	program_does('s', 2);
	steps(&a, 2);
	CHECK(readings[0] == PPT_COUNTER_NONE && readings[1] == PPT_COUNTER_NONE);
	CHECK_EQ(readings[2], 0); /* was not asked for */
	session_end(&a);
	/* One that it can. */
	counters_release(&config.counters);
	config = client_with("live_existing", 8);
	CHECK_EQ(counters_add(&config.counters, "PAGE-FAULTS,TASK-CLOCK", &err), 0);
	CHECK_EQ(counters_resolve(&config.counters, true, &err), 0);
	config.sink.frame = note_readings;
	session_start(&a, &config);
	program_does('s', 2);
	steps(&a, 2);
	CHECK(readings[1] > 0 && readings[1] != PPT_COUNTER_NONE); /* nanoseconds */
	CHECK(readings[0] != PPT_COUNTER_NONE);
	session_end(&a);
	counters_release(&config.counters);
}

/* ---- requests -----------------------------------------------------------------------------------
 */

/* A collector in a process of its own; it serves signals until it is killed. */
static pid_t start_collector(const char *buffer)
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
		alarm(60);
		config.is_hosted = false;
		config.sink.frame = ignore_frame;
		config.sink.lost = ignore_lost;
		config.sink.say = NULL;
		if (attach_open(&a, &config, &err) == 0 && attach_start(&a, &err) == 0 &&
		    write(up[1], "", 1) == 1)
			attach_run(&a, &err);
		_exit(1);
	}
	close(up[1]);
	CHECK_EQ(read(up[0], &byte, 1), 1);
	close(up[0]);
	return pid;
}

static void a_resize_is_asked_and_awaited(void)
{
	struct err err = { 0 };
	pid_t collector;

	busy_with("live_busy", "Busy");
	collector = start_collector("Busy");
	CHECK_EQ(attach_ask_resize(program.pid, "Busy", 60, &err), 0);
	CHECK_STR(err.text, "");
	kill(collector, SIGKILL);
	CHECK_EQ(waitpid(collector, NULL, 0), collector);
	program_end();
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	folder = argv[1];
	RUN(frames_of_the_existing_generator_are_read);
	RUN(other_distances_of_slots_are_recognized);
	RUN(the_counter_of_the_processor_has_a_rate);
	RUN(answers_that_do_not_fit_are_refused);
	RUN(lists_of_counters_are_split);
	if (can_count()) {
		RUN(counters_are_looked_up);
		RUN(unknown_counters_are_reported_with_the_known_ones);
		RUN(the_counters_of_the_machine_are_listed);
		RUN(counters_are_passed_to_the_program);
		RUN(counters_that_were_not_measured_are_erased);
	}
	RUN(a_resize_is_asked_and_awaited);
	RUN(a_program_that_does_not_answer_is_reported); /* blocks signals from here on */
	return 0;
}
