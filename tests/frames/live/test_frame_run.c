/* SPDX-License-Identifier: MIT */
/*
 * test_frame_run.c - runs of the collector that record frames beside events (`run --frames`).
 *
 * "test_frame_run child MODE" is a program with the buffers Busy and Fixed.  The trace of each run
 * is compared with what the program did.
 */
#include "collector_bed.h"

#include "ppt-Busy.h"
#include "ppt-Fixed.h"

/* ---- the traced program ------------------------------------------------------ */

static void save_fixed(uint64_t n)
{
	struct ppt_Fixed_tick t = { .n = n, .not_n = 2 * n, .thread = 7 };

	ppt_Fixed_tick_save(&t);
}

static void save_busy(uint64_t n)
{
	struct ppt_Busy_tick t = { .n = n, .not_n = 2 * n, .thread = 8 };

	ppt_Busy_tick_save(&t);
}

/* Frames before, inside and after coroutines that run inside one another. */
static void save_in_coroutines(void)
{
	struct corotracer_coro a = { 0 }, b = { 0 };

	save_fixed(1);
	CHECK_EQ(corotracer_begin_at(&a, "outer", NULL, &site_parent), 0);
	corotracer_resume(&a);
	save_fixed(2);
	CHECK_EQ(corotracer_begin_at(&b, "inner", &a, &site_child), 0);
	corotracer_resume(&b);
	save_fixed(3);
	corotracer_suspend_at(&b, NULL, &site_read, CTP_REASON_IO_READ);
	save_fixed(4);
	corotracer_suspend_at(&a, NULL, &site_lock, CTP_REASON_MUTEX);
	save_fixed(5);
	corotracer_resume(&b);
	save_busy(6);
	corotracer_end(&b);
	save_fixed(7);
	corotracer_end(&a);
}

static int frames_child(const char *mode)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(100);
	if (!strcmp(mode, "saves"))
		save_in_coroutines();
	if (!strcmp(mode, "many")) { /* more than are kept in memory at first */
		struct corotracer_coro a = { 0 };
		uint64_t n;

		corotracer_begin(&a, "many");
		for (n = 1; n <= 3000; n++) {
			corotracer_resume(&a);
			save_fixed(n);
			corotracer_suspend(&a, NULL);
		}
		corotracer_end(&a);
	}
	if (!strcmp(mode, "in turn")) { /* during some hundred polls */
		struct timespec pause = { 0, 1000 };
		uint64_t n;

		for (n = 1; n <= 4000; n++) {
			save_busy(n);
			save_fixed(n);
			nanosleep(&pause, NULL);
		}
	}
	if (!strcmp(mode, "untraced")) { /* frames, and no event */
		save_fixed(1);
		save_fixed(2);
	}
	return 0;
}

/* ---- the trace ---------------------------------------------------------------- */

/* Of the text of the trace, the lines of frames only. */
static const char *frames_of(const char *path)
{
	static char frames[sizeof(text)];
	char *line, *rest;
	size_t size = 0;

	read_trace(path);
	frames[0] = '\0';
	for (line = text; *line; line = rest + 1) {
		rest = strchr(line, '\n');
		CHECK(rest != NULL);
		if (strncmp(line, "frame ", 6) != 0)
			continue;
		memcpy(frames + size, line, (size_t)(rest + 1 - line));
		size += (size_t)(rest + 1 - line);
		frames[size] = '\0';
	}
	return frames;
}

static int nr_said;
static char said[512];

static void hear(const char *words)
{
	nr_said++;
	snprintf(said, sizeof(said), "%s", words);
}

static struct collector_config frames_config(const char *output, const char *mode)
{
	struct collector_config config = config_of(output);

	config.argv = command(mode, NULL);
	config.frames.is_wanted = true;
	config.frames.say = hear;
	nr_said = 0;
	return config;
}

static const char fixed_frames[] =
	"frame Fixed tick of 0 ticket 1 {\"thread\":7,\"n\":1,\"not_n\":2}\n"
	"frame Fixed tick of 1 ticket 2 {\"thread\":7,\"n\":2,\"not_n\":4}\n"
	"frame Fixed tick of 2 ticket 3 {\"thread\":7,\"n\":3,\"not_n\":6}\n"
	"frame Fixed tick of 1 ticket 4 {\"thread\":7,\"n\":4,\"not_n\":8}\n"
	"frame Fixed tick of 0 ticket 5 {\"thread\":7,\"n\":5,\"not_n\":10}\n"
	"%s"
	"frame Fixed tick of 0 ticket 6 {\"thread\":7,\"n\":7,\"not_n\":14}\n";
static const char busy_frame[] =
	"frame Busy tick of 2 ticket 1 {\"thread\":8,\"n\":6,\"not_n\":12}\n";

/* The order of the trace is that of time, in all formats. */
static void frames_have_the_coroutine_of_their_thread(void)
{
	static const struct {
		const char *name;
		enum trace_format format;
	} outputs[] = { { "f.jsonl", TRACE_FORMAT_JSONL },
			{ "f.ct", TRACE_FORMAT_CT },
			{ "f.ctf", TRACE_FORMAT_CTF } };
	char expected[1024];
	size_t i;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(expected, sizeof(expected), fixed_frames, busy_frame);
#pragma GCC diagnostic pop
	for (i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		struct collector_config config = frames_config(in_scratch(outputs[i].name),
							       "saves");

		config.format = outputs[i].format;
		collect(&config);
		CHECK_STR(frames_of(config.output), expected);
		CHECK_EQ(r.frames.written, 7);
		CHECK_EQ(r.frames.in_coroutine, 4);
		CHECK_EQ(r.frames.issued, 7);
		CHECK_EQ(r.frames.lost, 0);
		CHECK_EQ(r.frames.dropped, 0);
		CHECK_EQ(r.frames.buffers, 2);
		CHECK_EQ(r.frames.silent, 0);
		CHECK_EQ(r.frames.late, 0);
		CHECK_EQ(r.frames.failed, 0);
		CHECK_EQ(nr_said, 0);
		CHECK_EQ(r.collected, 5);
	}
}

static void only_the_buffers_that_are_wanted_are_attached(void)
{
	static const struct {
		const char *names;
		uint64_t buffers, written, silent;
	} wanted[] = {
		{ "Fixed", 1, 6, 0 },
		{ "Busy", 1, 1, 0 },
		{ ",Busy,,Fixed", 2, 7, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct collector_config config = frames_config(in_scratch("w.jsonl"), "saves");

		config.frames.buffers = wanted[i].names;
		collect(&config);
		CHECK_EQ(r.frames.buffers, wanted[i].buffers);
		CHECK_EQ(r.frames.written, wanted[i].written);
		CHECK_EQ(r.frames.silent, wanted[i].silent);
	}
}

static void a_buffer_without_a_frame_is_counted(void)
{
	struct collector_config config = frames_config(in_scratch("u.jsonl"), "untraced");

	collect(&config);
	CHECK_STR(frames_of(config.output),
		  "frame Fixed tick of 0 ticket 1 {\"thread\":7,\"n\":1,\"not_n\":2}\n"
		  "frame Fixed tick of 0 ticket 2 {\"thread\":7,\"n\":2,\"not_n\":4}\n");
	CHECK_EQ(r.frames.buffers, 2);
	CHECK_EQ(r.frames.silent, 1);
	CHECK_EQ(r.frames.in_coroutine, 0);
}

static void more_frames_than_there_is_room_for_at_first(void)
{
	struct collector_config config = frames_config(in_scratch("many.ct"), "many");
	struct err err = { 0 };
	struct trace_reader *reader;
	struct trace_item item;
	uint64_t nr = 0, last_ts = 0;

	config.format = TRACE_FORMAT_CT;
	collect(&config);
	CHECK_EQ(r.frames.written, 3000);
	CHECK_EQ(r.frames.in_coroutine, 3000);
	CHECK_EQ(r.frames.lost, 0);
	reader = trace_reader_open(config.output, &err);
	CHECK(reader != NULL);
	while (trace_next(reader, &item, &err) > 0) {
		char fields[80];

		if (item.type != TRACE_ITEM_FRAME)
			continue;
		nr++;
		snprintf(fields, sizeof(fields), "{\"thread\":7,\"n\":%u,\"not_n\":%u}",
			 (unsigned)nr, 2 * (unsigned)nr);
		CHECK_EQ(item.frame.ticket, nr);
		CHECK_EQ(item.frame.probe_id, 1);
		CHECK_EQ(item.frame.pid, r.pid);
		CHECK_EQ(item.frame.tid, r.pid);
		CHECK_STR(item.frame.fields, fields);
		CHECK(item.frame.ts >= last_ts);
		last_ts = item.frame.ts;
	}
	CHECK_EQ(nr, 3000);
	trace_reader_close(reader);
}

/* A poll reads one buffer after the other, while frames come. */
static void frames_of_two_buffers_are_in_order_of_time(void)
{
	struct collector_config config = frames_config(in_scratch("turn.ct"), "in turn");
	struct trace_reader *reader;
	struct trace_item item;
	struct err err = { 0 };
	uint64_t nr = 0, last_ts = 0;

	config.format = TRACE_FORMAT_CT;
	collect(&config);
	CHECK_EQ(r.frames.written + r.frames.lost, 8000);
	CHECK(r.frames.written > 1000);
	reader = trace_reader_open(config.output, &err);
	CHECK(reader != NULL);
	while (trace_next(reader, &item, &err) > 0) {
		if (item.type != TRACE_ITEM_FRAME)
			continue;
		nr++;
		CHECK(item.frame.ts >= last_ts);
		last_ts = item.frame.ts;
	}
	CHECK_EQ(nr, r.frames.written);
	trace_reader_close(reader);
}

/* The program does not run if its frames cannot be recorded. */
static void frames_that_cannot_be_recorded_are_refused(void)
{
	struct collector_config config = frames_config(in_scratch("no.jsonl"), "saves");
	char *cat[] = { (char *)"cat", (char *)"/nonexistent/file", NULL };
	struct err err;

	config.frames.buffers = "Fixed,Nix";
	CHECK_EQ(collect_fails(&config, &err), -ENOENT);
	CHECK(strstr(err.text, "has no frame buffer 'Nix'") != NULL);
	CHECK(strstr(err.hint, "choose one with -b: ") != NULL);
	config.frames.buffers = NULL;
	config.argv = cat;
	CHECK_EQ(collect_fails(&config, &err), -ENOENT);
	CHECK_STR(err.text, "cannot record frames: 'cat' has no frame buffer");
	CHECK_STR(err.hint,
		  "a program has one if it is linked with code of 'corotracer generate'; a "
		  "shell or wrapper that starts the program is not followed");
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "child"))
		_exit(frames_child(argv[2]));
	bed_prepare();
	RUN(frames_have_the_coroutine_of_their_thread);
	RUN(only_the_buffers_that_are_wanted_are_attached);
	RUN(a_buffer_without_a_frame_is_counted);
	RUN(more_frames_than_there_is_room_for_at_first);
	RUN(frames_of_two_buffers_are_in_order_of_time);
	RUN(frames_that_cannot_be_recorded_are_refused);
	scratch_clean(scratch);
	return 0;
}
