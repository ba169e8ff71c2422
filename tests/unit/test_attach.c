/* SPDX-License-Identifier: MIT */
/*
 * test_attach.c - `corotracer attach`: the recording, the summary and the warnings of a run.
 *
 * The program that saves frames, the attachment to it and the clock are the test's; the recording
 * is a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach_options.h"
#include "base/monotonic.h"
#include "captured.h"
#include "cmd.h"
#include "count_memory.h"
#include "count_open.h"
#include "frames/file/recording_reader.h"
#include "frames/live/attach_session.h"
#include "frames/spec/frame_layout.h"
#include "frames/spec/spec.h"
#include "frames_show.h"
#include "terminal.h"

static const char spec[] = "emit C; buffer Att default; frame event { int a; int b; }";

static char dir[] = "/tmp/ct-attach-XXXXXX";
static int opens, starts, runs, resolves, lists, resizes;
static struct attach_stats stats; /* at the end */
static bool is_resizable, is_multithread, is_extended, is_adopted, has_warning;
static void (*story)(struct attach *a);
static char log_text[256];
static struct attach_config seen;
static uint64_t now;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t ns = clock == CLOCK_REALTIME ? now * 2 : now;

	t->tv_sec = (time_t)(ns / NS_PER_SEC);
	t->tv_nsec = (long)(ns % NS_PER_SEC);
	return 0;
}

/* ---- the attachment ------------------------------------------------------------------------- */

static void note(const char *text)
{
	strncat(log_text, text, sizeof(log_text) - strlen(log_text) - 1);
}

void command_help_print(const struct command *cmd)
{
	(void)cmd;
}

const char *target_name(pid_t pid, char name[32])
{
	CHECK_EQ(pid, 42);
	snprintf(name, 32, "prog");
	return name;
}

int counters_add(struct counters *c, const char *list, struct err *err)
{
	static char names[COUNTERS_MAX][8];

	if (!strcmp(list, "wrong"))
		return err_set(err, -ENOENT, "too many counters");
	snprintf(names[c->nr], sizeof(names[0]), "%s", list);
	c->names[c->nr] = names[c->nr];
	c->nr++;
	return 0;
}

int counters_resolve(struct counters *c, bool privileged, struct err *err)
{
	CHECK_EQ(privileged, geteuid() == 0);
	if (has_warning)
		snprintf(c->warning, sizeof(c->warning), "user mode only");
	return resolves ? err_set(err, resolves, "no such counter") : 0;
}

int counters_list(FILE *out, struct err *err)
{
	CHECK(out == stdout);
	note("list ");
	return lists ? err_set(err, lists, "no library") : 0;
}

void counters_release(struct counters *c)
{
	(void)c;
	note("counters ");
}

int show_buffers(const char *command, pid_t pid, bool json)
{
	CHECK_STR(command, "attach");
	CHECK_EQ(pid, 42);
	note(json ? "buffers-json " : "buffers ");
	return 7;
}

void show_layout(FILE *out, const struct desc *d)
{
	CHECK(out == stderr);
	CHECK_STR(d->name, "Att");
	note("layout ");
}

const struct recording_clock *attach_clock(struct attach *a)
{
	return &a->clock;
}

int attach_ask_resize(pid_t pid, const char *buffer, uint32_t slots, struct err *err)
{
	CHECK_EQ(pid, 42);
	CHECK(!buffer);
	CHECK_EQ(slots, 128);
	note("resize ");
	return resizes ? err_set(err, resizes, "not attached") : 0;
}

int attach_open(struct attach *a, const struct attach_config *config, struct err *err)
{
	struct spec_error error;

	seen = a->config = *config;
	if (opens)
		return err_set(err, opens, "no such process");
	CHECK_EQ(spec_parse(&a->live.desc, spec, strlen(spec), &error), 0);
	CHECK_EQ(layout_make(&a->live.desc, err), 0);
	a->live.desc.resize = is_resizable;
	a->live.desc.multithread = is_multithread;
	a->live.desc.extended = is_extended;
	a->live.target.pid = config->pid;
	a->adopted = is_adopted;
	note("open ");
	return 0;
}

int attach_start(struct attach *a, struct err *err)
{
	(void)a;
	note("start ");
	return starts ? err_set(err, starts, "cannot start") : 0;
}

int attach_run(struct attach *a, struct err *err)
{
	note("run ");
	if (story)
		story(a);
	return runs ? err_set(err, runs, "lost it") : 0;
}

void attach_stop(struct attach *a)
{
	a->stats = stats;
	if (starts)
		a->stats.end = ATTACH_FAILED;
	note("stop ");
}

void attach_release(struct attach *a)
{
	desc_release(&a->live.desc);
	note("release ");
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int call(const char *a, const char *b, const char *c, const char *d)
{
	static char words[6][24] = { "attach" };
	char *argv[7] = { words[0] };
	const char *const given[] = { a, b, c, d };
	int i, argc = 1;

	for (i = 0; i < 4 && given[i]; i++, argc++) {
		snprintf(words[argc], sizeof(words[0]), "%s", given[i]);
		argv[argc] = words[argc];
	}
	argv[argc] = NULL;
	log_text[0] = '\0';
	return command_attach.run(argc, argv);
}

static void run_new(void)
{
	opens = starts = runs = resolves = lists = resizes = 0;
	is_resizable = is_multithread = is_extended = is_adopted = has_warning = false;
	story = NULL;
	now = 1000 * NS_PER_SEC;
	stats = (struct attach_stats){ .attached = true,
				       .mapped = true,
				       .issued = 3,
				       .recorded = 3,
				       .slots = 64,
				       .first_slots = 32,
				       .fullest = 2,
				       .polls = 9,
				       .threads = 1,
				       .ran_ns = 2 * NS_PER_SEC,
				       .end = ATTACH_EXITED };
}

/* What is said on stderr. */
static const char *record(int status, const char *a, const char *b, const char *c)
{
	unsigned before = count_open();
	const char *said;

	captured_begin(stderr);
	CHECK_EQ(call("-p42", a, b, c), status);
	said = captured_end();
	CHECK_EQ(count_open(), before);
	return said;
}

static void save_frame(struct attach *a, uint32_t number)
{
	uint32_t image[4] = { number, number * 10, number * 100, number };

	CHECK_EQ(a->live.desc.frame_size, sizeof(image));
	a->config.sink.frame(a->config.sink.arg, number, (const uint8_t *)image);
}

static void save_frames(struct attach *a)
{
	struct attach_sink *sink = &a->config.sink;
	struct err err = { 0 };

	a->begun = true;
	CHECK_EQ(sink->begin(sink->arg, &err), 0);
	save_frame(a, 1);
	sink->lost(sink->arg, 5);
	CHECK_EQ(sink->flush(sink->arg, &err), 0);
	sink->resized(sink->arg, 32, 64);
	save_frame(a, 7);
	a->clock = (struct recording_clock){ true, 11, 22, 0.5 }; /* known better at the end */
	sink->say(sink->arg, 0, "level 0");
	sink->say(sink->arg, 1, "level 1");
	sink->say(sink->arg, 2, "level 2");
}

static void expect_mark(struct recfile *f, uint32_t kind, uint64_t a, uint64_t b)
{
	struct recfile_item item;
	struct err err = { 0 };

	CHECK_EQ(recfile_next(f, &item, &err), 1);
	CHECK(item.mark != NULL);
	CHECK_EQ(item.mark->kind, kind);
	CHECK_EQ(item.mark->a, a);
	CHECK_EQ(item.mark->b, b);
}

static void expect_frame(struct recfile *f, uint64_t ticket)
{
	struct recfile_item item;
	struct err err = { 0 };

	CHECK_EQ(recfile_next(f, &item, &err), 1);
	CHECK(!item.mark);
	CHECK_EQ(item.ticket, ticket);
}

static void frames_and_marks_are_recorded(void)
{
	struct recfile_item item;
	struct err err = { 0 };
	struct recfile f;

	run_new();
	story = save_frames;
	stats.lost = 5;
	stats.dropped = 1;
	record(EXIT_OK, "-cone", "-dtext", "-dother");
	CHECK_STR(log_text, "open start run stop release counters ");
	CHECK_EQ(recfile_open(&f, "Att.ppt", &err), 0);
	CHECK_STR(f.info.comment, "text"); /* the first counts */
	CHECK_STR(f.info.program, "prog");
	CHECK_EQ(f.info.pid, 42);
	CHECK_EQ(f.info.nr_counters, 1);
	CHECK_STR(f.info.counters[0], "one");
	CHECK_EQ(f.info.start_monotonic_ns, 1000 * NS_PER_SEC);
	CHECK_EQ(f.info.start_realtime_ns, 2000 * NS_PER_SEC);
	CHECK(strlen(f.info.date) == 24 && f.info.date[10] == 'T');
	CHECK(f.info.clock.known && f.info.clock.ticks == 11);
	expect_frame(&f, 1);
	expect_mark(&f, RECORDING_LOSS, 5, 0);
	expect_mark(&f, RECORDING_RESIZE, 32, 64);
	expect_frame(&f, 7);
	expect_mark(&f, RECORDING_END, 3, 3);
	CHECK_EQ(f.stats.end.c, 5);
	CHECK_EQ(f.stats.end.d, 1);
	CHECK_EQ(recfile_next(&f, &item, &err), 0);
	recfile_close(&f);
	CHECK_EQ(unlink("Att.ppt"), 0);
}

static void the_summary_is_text_or_json(void)
{
	run_new();
	story = save_frames;
	CHECK_STR(record(EXIT_OK, "-of.ppt", NULL, NULL),
		  "corotracer attach: level 0\n"
		  "f.ppt: 3 frames of 'Att' in 2.000 s, none lost\n"
		  "  ring        64 slots, at most 2 waiting\n"
		  "  program     process 42, never stopped; it has ended\n");
	stats.lost = 1500;
	stats.issued = 3000;
	stats.dropped = 2;
	stats.resizes = 2;
	stats.stops = 3;
	stats.stopped_ns = 1500;
	stats.end = ATTACH_EXEC;
	stats.unmeasured = 2;
	CHECK_STR(record(EXIT_OK, "-of.ppt", NULL, NULL),
		  "corotracer attach: level 0\n"
		  "f.ppt: 3 frames of 'Att' in 2.000 s, some lost\n"
		  "  ring        64 slots, at most 2 waiting, resized 2 times\n"
		  "  program     process 42, stopped 3 times for 1.500 us in all; it executes "
		  "another program now\n"
		  "  lost        1,500 (50 %), 2 of them given up by the program\n"
		  "hint: a larger ring loses less: --size, or 'option buffer resize on' and "
		  "--auto-resize\n");
	is_extended = true;
	CHECK_STR(record(EXIT_OK, "--json", "-cone", "-ctwo"),
		  "corotracer attach: level 0\n"
		  "{\"buffer\":\"Att\",\"pid\":42,\"file\":\"Att.ppt\",\"end\":\"exec\","
		  "\"attached\":true,\"mapped\":true,\"issued\":3000,\"recorded\":3,\"lost\":1500,"
		  "\"dropped\":2,\"slots\":64,\"first_slots\":32,\"resizes\":2,\"fullest\":2,"
		  "\"polls\":9,\"threads\":1,\"ran_ns\":2000000000,\"stopped_ns\":1500,\"stops\":3,"
		  "\"parked\":false,\"unmeasured\":[\"two\"]}\n");
	CHECK_EQ(unlink("Att.ppt"), 0);
	CHECK_EQ(unlink("f.ppt"), 0);
}

static void end_as(enum attach_end end, const char *word)
{
	char text[64];

	run_new();
	stats.end = end;
	snprintf(text, sizeof(text), "\"end\":\"%s\"", word);
	CHECK(strstr(record(EXIT_OK, "--json", NULL, NULL), text) != NULL);
}

static void each_end_has_a_word(void)
{
	end_as(ATTACH_ASKED, "asked");
	end_as(ATTACH_DURATION, "duration");
	end_as(ATTACH_COUNT, "count");
	end_as(ATTACH_EXITED, "program ended");
	end_as(ATTACH_TAKEN, "taken over");
	end_as(ATTACH_FAILED, "failed");
	end_as(ATTACH_EXEC, "exec");
	CHECK_EQ(unlink("Att.ppt"), 0);
}

static void losses_have_a_hint(void)
{
	run_new();
	stats.lost = 3;
	CHECK(strstr(record(EXIT_OK, NULL, NULL, NULL),
		     "hint: a larger ring loses less: --size, or 'option buffer resize on' and "
		     "--auto-resize\n"));
	is_resizable = true;
	CHECK(strstr(record(EXIT_OK, NULL, NULL, NULL), "--size, or --auto-resize\n"));
	stats.dropped = 3;
	CHECK(strstr(record(EXIT_OK, NULL, NULL, NULL),
		     "hint: if several threads save, its spec needs 'option runtime multithread "
		     "true'\n"));
	is_multithread = true;
	CHECK(!strstr(record(EXIT_OK, NULL, NULL, NULL), "hint"));
	CHECK_EQ(unlink("Att.ppt"), 0);
}

/* Quiet: only if something was lost. */
static void a_quiet_run_says_what_was_lost(void)
{
	run_new();
	story = save_frames;
	CHECK_STR(record(EXIT_OK, "-q", NULL, NULL), "");
	stats.lost = 1;
	CHECK(strstr(record(EXIT_OK, "-q", NULL, NULL), "Att.ppt: 3 frames of 'Att'") != NULL);
	run_new();
	CHECK(strstr(record(EXIT_OK, "-q", "--json", NULL), "\"recorded\":3") != NULL);
	CHECK_EQ(unlink("Att.ppt"), 0);
}

static void verbose_runs_say_more(void)
{
	const char *said;

	run_new();
	story = save_frames;
	said = record(EXIT_OK, NULL, NULL, NULL);
	CHECK(strstr(said, "attach: level 0\n") && !strstr(said, "level 1"));
	said = record(EXIT_OK, "-v", NULL, NULL);
	CHECK(strstr(said, "attach: level 1\n") && !strstr(said, "level 2"));
	CHECK(!strstr(log_text, "layout"));
	said = record(EXIT_OK, "-vv", NULL, NULL);
	CHECK(strstr(said, "attach: level 2\n") && !strstr(log_text, "layout"));
	said = record(EXIT_OK, "-v", "-v", NULL);
	CHECK(strstr(said, "attach: level 2\n") && !strstr(log_text, "layout"));
	record(EXIT_OK, "-vvv", NULL, NULL);
	CHECK(strstr(log_text, "open layout start") != NULL);
	CHECK_EQ(unlink("Att.ppt"), 0);
}

static void save_for_a_second(struct attach *a)
{
	struct attach_sink *sink = &a->config.sink;
	struct err err = { 0 };
	int i;

	a->begun = true;
	CHECK_EQ(sink->begin(sink->arg, &err), 0);
	for (i = 0; i < 8; i++) {
		save_frame(a, (uint32_t)i + 1);
		a->stats.recorded += 1000;
		a->stats.slots = 64;
		a->ring.missed = 3;
		CHECK_EQ(sink->flush(sink->arg, &err), 0);
		now += NS_PER_SEC / 8;
	}
	sink->say(sink->arg, 0, "a message");
}

static const char *record_on_terminal(const char *option)
{
	run_new();
	story = save_for_a_second;
	terminal_begin(stderr, 24);
	CHECK_EQ(call("-p42", option, NULL, NULL), EXIT_OK);
	return terminal_end();
}

/* Four times a second, and it is gone afterwards. */
static void a_terminal_shows_the_progress(void)
{
	CHECK_STR(record_on_terminal("-of.ppt"),
		  "waiting for the program's next frame (Ctrl-C ends)\r\033[K1,000 frames, 3 lost, "
		  "64 slots (Ctrl-C ends)\r\033[K3,000 frames, 3 lost, 64 slots (Ctrl-C "
		  "ends)\r\033[K5,000 frames, 3 lost, 64 slots (Ctrl-C ends)\r\033[K7,000 frames, "
		  "3 lost, 64 slots (Ctrl-C ends)\r\033[Kcorotracer attach: a message\n"
		  "f.ppt: 3 frames of 'Att' in 2.000 s, none lost\n"
		  "  ring        64 slots, at most 2 waiting\n"
		  "  program     process 42, never stopped; it has ended\n");
	CHECK_STR(record_on_terminal("-q"), "");
	CHECK(!strchr(record_on_terminal("-v"), '\033'));
	CHECK_EQ(unlink("Att.ppt"), 0);
	CHECK_EQ(unlink("f.ppt"), 0);
}

/* ---- warnings ------------------------------------------------------------------------------- */

static void warnings_precede_the_summary(void)
{
	run_new();
	stats.attached = false;
	CHECK_STR(record(EXIT_OK, "-q", NULL, NULL),
		  "corotracer attach: the program saved no frame while attached\n");
	stats.end = ATTACH_FAILED;
	CHECK_STR(record(EXIT_OK, "-q", NULL, NULL), "");
	run_new();
	stats.parked = true;
	CHECK_STR(
		record(EXIT_OK, "-q", NULL, NULL),
		"corotracer attach: the program is of the existing tool: it keeps the ring, since "
		"detaching could crash it\n");
	run_new();
	stats.unmeasured = 2;
	CHECK_STR(record(EXIT_OK, "-q", "-cone", "-ctwo"),
		  "corotracer attach: counter 'two' was not measured: the program could not open "
		  "it\n");
	is_adopted = true;
	stats.unmeasured = 1;
	CHECK_STR(record(EXIT_OK, "-q", "-cone", "-ctwo"),
		  "corotracer attach: counter 'one' was not measured: the program keeps the "
		  "counters that it opened for an earlier collector\n");
	is_extended = true; /* its columns are empty, and the summary says it */
	CHECK_STR(record(EXIT_OK, "-q", "-cone", "-ctwo"), "");
	run_new();
	has_warning = true;
	CHECK_STR(record(EXIT_OK, "-q", NULL, NULL), "corotracer attach: user mode only\n");
	CHECK_EQ(unlink("Att.ppt"), 0);
}

static void a_counter_that_a_thread_cannot_open_is_named(void)
{
	run_new();
	stats.counters_failed = true;
	stats.counter_error = EACCES;
	CHECK_STR(record(EXIT_OK, "-q", NULL, NULL), ""); /* of an earlier collector */
	CHECK_STR(record(EXIT_OK, "-q", "-cone", NULL),
		  "corotracer attach: the program could not open counter 'one': Permission "
		  "denied\nhint: readings that are missing for this reason are empty, not 0\n");
	stats.counter_slot = 1;
	stats.counter_error = 0;
	CHECK_STR(record(EXIT_OK, "-q", "-cone", NULL),
		  "corotracer attach: the program could not open counter '?': no reason given\n"
		  "hint: readings that are missing for this reason are empty, not 0\n");
	CHECK_EQ(unlink("Att.ppt"), 0);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void save_and_fail(struct attach *a)
{
	save_frames(a);
	runs = -EIO;
}

static void failures_are_told(void)
{
	run_new();
	opens = -ESRCH;
	CHECK_STR(record(EXIT_FAILED, NULL, NULL, NULL), "corotracer attach: no such process\n");
	CHECK_STR(log_text, "counters ");
	run_new();
	resolves = -ENOENT;
	CHECK_STR(record(EXIT_FAILED, "-cone", NULL, NULL), "corotracer attach: no such counter\n");
	run_new();
	starts = -EBUSY;
	CHECK_STR(record(EXIT_FAILED, NULL, NULL, NULL), "corotracer attach: cannot start\n");
	CHECK_STR(log_text, "open start stop release counters ");
	run_new();
	runs = -EIO;
	CHECK_STR(record(EXIT_FAILED, "--json", NULL, NULL), "corotracer attach: lost it\n");
	CHECK(access("Att.ppt", F_OK) < 0); /* nothing was recorded */
	CHECK_STR(record(EXIT_FAILED, "-o/nonexistent/f", NULL, NULL),
		  "corotracer attach: cannot create '/nonexistent/f': No such file or directory\n");
	/* What was recorded before a failure stays. */
	run_new();
	story = save_and_fail;
	CHECK_STR(record(EXIT_FAILED, "-q", NULL, NULL), "corotracer attach: lost it\n");
	CHECK_EQ(unlink("Att.ppt"), 0);
	run_new();
	story = save_and_fail;
	CHECK(strstr(record(EXIT_FAILED, "-q", "--json", NULL), "\"recorded\":3") != NULL);
	CHECK_EQ(unlink("Att.ppt"), 0);
}

/* ---- the command line ----------------------------------------------------------------------- */

static void other_requests_record_nothing(void)
{
	run_new();
	CHECK_STR(record(7, "-l", NULL, NULL), "");
	CHECK_STR(log_text, "buffers counters ");
	CHECK_STR(record(7, "-l", "--json", NULL), "");
	CHECK_STR(log_text, "buffers-json counters ");
	CHECK_STR(record(EXIT_OK, "--resize=128", NULL, NULL), "");
	CHECK_STR(log_text, "resize counters ");
	resizes = -ENOENT;
	CHECK_STR(record(EXIT_FAILED, "--resize=128", NULL, NULL),
		  "corotracer attach: not attached\n");
	CHECK_STR(record(EXIT_OK, "-clist", NULL, NULL), "");
	CHECK_STR(log_text, "list counters ");
	lists = -ENOENT;
	CHECK_STR(record(EXIT_FAILED, "-clist", NULL, NULL), "corotracer attach: no library\n");
	CHECK_STR(record(EXIT_USAGE, "-cwrong", NULL, NULL),
		  "corotracer attach: too many counters\n");
	CHECK(strstr(record(EXIT_USAGE, "-vq", NULL, NULL), "unknown option '-vq'"));
	CHECK(strstr(record(EXIT_USAGE, "-qq", NULL, NULL), "unknown option '-qq'"));
	CHECK(strstr(record(EXIT_USAGE, "word", NULL, NULL), "unexpected argument 'word'"));
	captured_begin(stderr);
	CHECK_EQ(call(NULL, NULL, NULL, NULL), EXIT_USAGE);
	CHECK(strstr(captured_end(), "-p PID is required") != NULL);
}

static void check_comment(const char *option, const char *expected)
{
	struct err err = { 0 };
	struct recfile f;

	run_new();
	CHECK_STR(record(EXIT_OK, "-q", option, "-dlater"), "");
	CHECK_EQ(recfile_open(&f, "Att.ppt", &err), 0);
	CHECK_STR(f.info.comment, expected);
	recfile_close(&f);
	CHECK_EQ(unlink("Att.ppt"), 0);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static void a_comment_comes_from_a_file(void)
{
	write_text("comment", "two\nlines\n");
	check_comment("-Dcomment", "two\nlines\n");
	write_text("comment", "");
	check_comment("-Dcomment", "");
	CHECK_EQ(unlink("comment"), 0);
	CHECK_STR(record(EXIT_USAGE, "-Dcomment", NULL, NULL),
		  "corotracer attach: cannot open 'comment': No such file or directory\n");
	CHECK_STR(record(EXIT_USAGE, "-D/", NULL, NULL),
		  "corotracer attach: cannot read '/': Is a directory\n");
}

static void options_reach_the_attachment(void)
{
	run_new();
	record(EXIT_OK, "-bAtt", "--size=100", "-q");
	CHECK_STR(seen.buffer, "Att");
	CHECK_EQ(seen.slots, 100);
	CHECK(!seen.force && !seen.auto_resize);
	record(EXIT_OK, "--force-attach", "--auto-resize", "-q");
	CHECK(seen.force && seen.auto_resize);
	CHECK_EQ(unlink("Att.ppt"), 0);
}

static void attach_and_forget(void)
{
	run_new();
	story = save_frames;
	record(EXIT_OK, "-dtext", "-q", NULL);
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(attach_and_forget);
	CHECK_EQ(unlink("Att.ppt"), 0);
}

int main(void)
{
	CHECK(mkdtemp(dir) && chdir(dir) == 0);
	alarm(20);
	RUN(frames_and_marks_are_recorded);
	RUN(the_summary_is_text_or_json);
	RUN(each_end_has_a_word);
	RUN(losses_have_a_hint);
	RUN(a_quiet_run_says_what_was_lost);
	RUN(verbose_runs_say_more);
	RUN(a_terminal_shows_the_progress);
	RUN(warnings_precede_the_summary);
	RUN(a_counter_that_a_thread_cannot_open_is_named);
	RUN(failures_are_told);
	RUN(other_requests_record_nothing);
	RUN(a_comment_comes_from_a_file);
	RUN(options_reach_the_attachment);
	RUN(nothing_is_kept);
	unlink("Att.ppt.old"); /* of runs that replaced one */
	unlink("f.ppt.old");
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
