/* SPDX-License-Identifier: MIT */
/*
 * test_monitor.c - `corotracer monitor`: the table and the lines for given frames.
 *
 * The program that saves frames, the attachment to it and the clock are the test's.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "attach_options.h"
#include "base/monotonic.h"
#include "captured.h"
#include "cmd.h"
#include "count_memory.h"
#include "frames/live/attach_session.h"
#include "frames/spec/frame_layout.h"
#include "frames/spec/spec.h"
#include "terminal.h"

static const char spec[] =
	"emit C; buffer Mon default; enum colour { red, green = -7 };"
	"frame event { int a; double d; string text[8]; enum colour hue; bool even; uint16 odd[2];"
	" interval time took; time at; }"
	"frame other { int8 b; int8 a_name_with_a_width_of_30_cols; }";

static struct attach *attach;
static int opens, starts, runs, resolves;
static uint64_t lost, now;
static void (*story)(void);
static char log_text[256];
static struct attach_config seen;
static uint8_t image[512];

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = (time_t)(now / NS_PER_SEC);
	t->tv_nsec = (long)(now % NS_PER_SEC);
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

bool attach_add_counters(void *counters, const struct opt_use *use)
{
	struct counters *c = counters;
	static char name[] = "x";

	CHECK_STR(use->value, name);
	c->names[c->nr++] = name;
	return true;
}

int counters_resolve(struct counters *c, bool is_root, struct err *err)
{
	(void)c;
	(void)is_root;
	return resolves ? err_set(err, resolves, "no such counter") : 0;
}

void counters_release(struct counters *c)
{
	(void)c;
	note("counters ");
}

const struct recording_clock *attach_clock(struct attach *a)
{
	static const struct recording_clock clock = { .known = false };

	CHECK(a == attach);
	return &clock;
}

int attach_open(struct attach *a, const struct attach_config *config, struct err *err)
{
	struct spec_error error;

	attach = a;
	seen = a->config = *config;
	if (opens)
		return err_set(err, opens, "no such process");
	CHECK_EQ(spec_parse(&a->live.desc, spec, strlen(spec), &error), 0);
	CHECK_EQ(layout_make(&a->live.desc, err), 0);
	a->live.target.pid = config->pid;
	a->stats.slots = 64;
	a->stats.lost = lost;
	note("open ");
	return 0;
}

int attach_start(struct attach *a, struct err *err)
{
	CHECK(a == attach);
	note("start ");
	return starts ? err_set(err, starts, "cannot start") : 0;
}

int attach_run(struct attach *a, struct err *err)
{
	CHECK(a == attach);
	note("run ");
	if (story)
		story();
	return runs ? err_set(err, runs, "lost it") : 0;
}

void attach_stop(struct attach *a)
{
	CHECK(a == attach);
	note("stop ");
}

void attach_release(struct attach *a)
{
	CHECK(a == attach);
	desc_release(&a->live.desc);
	note("release ");
}

/* ---- frames --------------------------------------------------------------------------------- */

static void begin(void)
{
	struct err err = { 0 };

	attach->begun = true;
	CHECK_EQ(attach->config.sink.begin(attach->config.sink.arg, &err), 0);
}

static int flush(void)
{
	struct err err = { 0 };

	return attach->config.sink.flush(attach->config.sink.arg, &err);
}

static void set(unsigned type, const char *name, const void *value, size_t size)
{
	const struct desc_frame *f = &attach->live.desc.frames[type];
	size_t i;

	for (i = 0; i < f->nr_fields && strcmp(f->fields[i].name, name) != 0; i++)
		;
	CHECK(i < f->nr_fields);
	memcpy(image + f->fields[i].offset, value, size);
}

static void send_event(int a, double d, const char *text, int hue, bool even, uint32_t took_us)
{
	const uint32_t type = 1;
	const uint16_t odd[2] = { 3, (uint16_t)a };
	struct timeval from = { 5, 0 }, to = { 5, (suseconds_t)took_us };
	const uint8_t even_byte = even;

	memset(image, 0, sizeof(image));
	memcpy(image + 4, &type, sizeof(type));
	set(0, "a", &a, sizeof(a));
	set(0, "d", &d, sizeof(d));
	set(0, "text", text, strlen(text));
	set(0, "hue", &hue, sizeof(hue));
	set(0, "even", &even_byte, 1);
	set(0, "odd", odd, sizeof(odd));
	set(0, "took_start", &from, sizeof(from));
	set(0, "took_end", &to, sizeof(to));
	attach->config.sink.frame(attach->config.sink.arg, 9, image);
}

static void send_other(int8_t b, uint32_t type)
{
	memset(image, 0, sizeof(image));
	memcpy(image + 4, &type, sizeof(type));
	set(1, "b", &b, 1);
	attach->config.sink.frame(attach->config.sink.arg, 10, image);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int call(const char *a, const char *b, const char *c, const char *d)
{
	static char words[6][16] = { "monitor" };
	char *argv[7] = { words[0] };
	const char *const given[] = { a, b, c, d };
	int i, argc = 1;

	for (i = 0; i < 4 && given[i]; i++, argc++) {
		snprintf(words[argc], sizeof(words[0]), "%s", given[i]);
		argv[argc] = words[argc];
	}
	argv[argc] = NULL;
	log_text[0] = '\0';
	return command_monitor.run(argc, argv);
}

static const char *watch(void (*what)(void), int status, const char *b, const char *c, FILE *stream)
{
	story = what;
	now = 1000 * NS_PER_SEC;
	captured_begin(stream);
	CHECK_EQ(call("-p42", b, c, NULL), status);
	return captured_end();
}

static void frames_of_a_second(void)
{
	int i;

	begin();
	for (i = 1; i <= 10; i++)
		send_event(i, i == 5 ? 0.5 : 2, i % 2 ? "x" : "", i < 10 ? 0 : -7, i > 3, 1500);
	send_event(1, (double)INFINITY, "x", 5, false, 1500); /* a colour without a name */
	send_other(-3, 2);
	attach->config.sink.lost(attach->config.sink.arg, 1234);
	now += NS_PER_SEC - 1;
	CHECK_EQ(flush(), 0); /* nothing is drawn yet */
	now += 1;
	CHECK_EQ(flush(), 0);
	send_other(1, 2);
	send_other(2, 2);
	send_other(5, 0); /* there are no such types */
	send_other(5, 3);
	now += NS_PER_SEC / 2 - 1;
}

static void a_table_has_rates_and_percentiles(void)
{
	CHECK_STR(watch(frames_of_a_second, EXIT_OK, NULL, NULL, stdout),
		  "Mon of process 42 (prog), 64 slots, 1,234 lost\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "event                                    11/s           11 in all\n"
		  "  a                                         1            5            9         "
		  "  10           10\n"
		  "  d                                       0.5            2            2         "
		  "   2            2  of 90.9 %\n"
		  "  text                           x 54.5 %, (empty) 45.5 %\n"
		  "  hue                            red 81.8 %, 5 9.1 %, green 9.1 %\n"
		  "  even                           true 63.6 %, false 36.4 %\n"
		  "  odd                                       1            3            8         "
		  "  10           10\n"
		  "  took_duration                      1.500 us     1.500 us     1.500 us     "
		  "1.500 us     1.500 us\n"
		  "other                                     1/s            1 in all\n"
		  "  b                                        -3           -3           -3         "
		  "  -3           -3\n"
		  "  a_name_with_a_width_of_30_cols            0            0            0         "
		  "   0            0\n"
		  "\n"
		  "Mon of process 42 (prog), 64 slots, 1,234 lost\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "event                                     0/s           11 in all\n"
		  "other                                     4/s            3 in all\n"
		  "  b                                         1            1            2         "
		  "   2            2\n"
		  "  a_name_with_a_width_of_30_cols            0            0            0         "
		  "   0            0\n"
		  "\n");
	CHECK_STR(log_text, "open start run stop release counters ");
}

static void frames_of_one_type(void)
{
	CHECK_STR(watch(frames_of_a_second, EXIT_OK, "--frame", "other", stdout),
		  "Mon of process 42 (prog), 64 slots, 1,234 lost\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "other                                     1/s            1 in all\n"
		  "  b                                        -3           -3           -3         "
		  "  -3           -3\n"
		  "  a_name_with_a_width_of_30_cols            0            0            0         "
		  "   0            0\n"
		  "\n"
		  "Mon of process 42 (prog), 64 slots, 1,234 lost\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "other                                     4/s            3 in all\n"
		  "  b                                         1            1            2         "
		  "   2            2\n"
		  "  a_name_with_a_width_of_30_cols            0            0            0         "
		  "   0            0\n"
		  "\n");
	CHECK_STR(watch(frames_of_a_second, EXIT_FAILED, "--frame", "wrong", stderr),
		  "corotracer monitor: buffer 'Mon' has no frames 'wrong'\n");
	CHECK_STR(log_text, "open release counters ");
}

static void different_texts(void)
{
	char text[8];
	int i;

	begin();
	for (i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "t%d", i < 10 ? 0 : i);
		send_event(i, 1e12 + 0.5, text, 0, true, 0);
	}
	now += 2 * NS_PER_SEC;
}

static void the_most_frequent_texts_are_shown(void)
{
	CHECK_STR(watch(different_texts, EXIT_OK, NULL, NULL, stdout),
		  "Mon of process 42 (prog), 64 slots, 0 lost\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "event                                    10/s           20 in all\n"
		  "  a                                         0            9           17         "
		  "  19           19\n"
		  "  d                                     1e+12        1e+12        1e+12        "
		  "1e+12        1e+12\n"
		  "  text                           t0 50.0 %, t10 5.0 %, t11 5.0 %, t12 5.0 %, "
		  "t13 5.0 %, t14 5.0 %, 5 others 25.0 %\n"
		  "  hue                            red 100.0 %\n"
		  "  even                           true 100.0 %\n"
		  "  odd                                       0            3           15         "
		  "  19           19\n"
		  "  took_duration                          0 ns         0 ns         0 ns         "
		  "0 ns         0 ns\n"
		  "other                                     0/s            0 in all\n"
		  "\n");
}

/* @lines: of the terminal. */
static const char *watch_terminal(unsigned short lines, const char *b)
{
	story = frames_of_a_second;
	now = 1000 * NS_PER_SEC;
	terminal_begin(stdout, lines);
	captured_begin(stderr);
	CHECK_EQ(call("-p42", b, NULL, NULL), EXIT_OK);
	CHECK_STR(captured_end(),
		  b ? "" : "corotracer monitor: waiting for the program's next frame\n");
	return terminal_end();
}

static void a_terminal_shows_what_fits(void)
{
	CHECK_STR(watch_terminal(8, NULL),
		  "\033[H\033[JMon of process 42 (prog), 64 slots, 1,234 lost; Ctrl-C ends\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "event                                    11/s           11 in all\n"
		  "  a                                         1            5            9         "
		  "  10           10\n"
		  "  d                                       0.5            2            2         "
		  "   2            2  of 90.9 %\n"
		  "  text                           x 54.5 %, (empty) 45.5 %\n"
		  "  hue                            red 81.8 %, 5 9.1 %, green 9.1 %\n"
		  "\033[H\033[JMon of process 42 (prog), 64 slots, 1,234 lost; Ctrl-C ends\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "event                                     0/s           11 in all\n"
		  "other                                     4/s            3 in all\n"
		  "  b                                         1            1            2         "
		  "   2            2\n"
		  "  a_name_with_a_width_of_30_cols            0            0            0         "
		  "   0            0\n");
	CHECK_STR(watch_terminal(4, NULL),
		  "\033[H\033[JMon of process 42 (prog), 64 slots, 1,234 lost; Ctrl-C ends\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n"
		  "\033[H\033[JMon of process 42 (prog), 64 slots, 1,234 lost; Ctrl-C ends\n"
		  "                                        least       median         90 %         "
		  "99 %         most\n");
	CHECK(strstr(watch_terminal(0, NULL), "  took_duration") != NULL); /* not known */
	CHECK(!strstr(watch_terminal(8, "--json"), "\033"));
}

static void lines_are_written(void)
{
	CHECK_STR(watch(frames_of_a_second, EXIT_OK, "--json", NULL, stdout),
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":1,\"d\":2.0,\"text\":\"x\",\"hue\":"
		  "\"red\",\"even\":false,\"odd\":[3,1],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":2,\"d\":2.0,\"text\":\"\",\"hue\":"
		  "\"red\",\"even\":false,\"odd\":[3,2],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":3,\"d\":2.0,\"text\":\"x\",\"hue\":"
		  "\"red\",\"even\":false,\"odd\":[3,3],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":4,\"d\":2.0,\"text\":\"\",\"hue\":"
		  "\"red\",\"even\":true,\"odd\":[3,4],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":5,\"d\":0.5,\"text\":\"x\",\"hue\":"
		  "\"red\",\"even\":true,\"odd\":[3,5],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":6,\"d\":2.0,\"text\":\"\",\"hue\":"
		  "\"red\",\"even\":true,\"odd\":[3,6],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":7,\"d\":2.0,\"text\":\"x\",\"hue\":"
		  "\"red\",\"even\":true,\"odd\":[3,7],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":8,\"d\":2.0,\"text\":\"\",\"hue\":"
		  "\"red\",\"even\":true,\"odd\":[3,8],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":9,\"d\":2.0,\"text\":\"x\",\"hue\":"
		  "\"red\",\"even\":true,\"odd\":[3,9],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":10,\"d\":2.0,\"text\":\"\",\"hue\":"
		  "\"green\",\"even\":true,\"odd\":[3,10],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"event\",\"ppt_seqno\":9,\"a\":1,\"d\":null,\"text\":\"x\",\"hue\":"
		  "5,\"even\":false,\"odd\":[3,1],\"took_start\":5000000000,\"took_end\":"
		  "5000001500,\"took_duration\":1500,\"at\":null}\n"
		  "{\"frame\":\"other\",\"ppt_seqno\":10,\"b\":-3,\"a_name_with_a_width_of_30_"
		  "cols\":0}\n"
		  "{\"frame\":\"other\",\"ppt_seqno\":10,\"b\":1,\"a_name_with_a_width_of_30_"
		  "cols\":0}\n"
		  "{\"frame\":\"other\",\"ppt_seqno\":10,\"b\":2,\"a_name_with_a_width_of_30_"
		  "cols\":0}\n");
}

static void without_a_frame_there_is_no_table(void)
{
	CHECK_STR(watch(NULL, EXIT_OK, NULL, NULL, stdout), "");
	CHECK_STR(watch(NULL, EXIT_OK, "--json", NULL, stdout), "");
	lost = 12345;
	CHECK_STR(watch(NULL, EXIT_OK, NULL, NULL, stderr),
		  "corotracer monitor: 12,345 frames were lost\n");
	lost = 0;
}

/* ---- failures ------------------------------------------------------------------------------- */

static void failures_are_told(void)
{
	opens = -ESRCH;
	CHECK_STR(watch(NULL, EXIT_FAILED, NULL, NULL, stderr),
		  "corotracer monitor: no such process\n");
	CHECK_STR(log_text, "counters ");
	opens = 0;
	starts = -EBUSY;
	CHECK_STR(watch(NULL, EXIT_FAILED, NULL, NULL, stderr),
		  "corotracer monitor: cannot start\n");
	CHECK_STR(log_text, "open start stop release counters ");
	starts = 0;
	runs = -EIO;
	CHECK_STR(watch(NULL, EXIT_FAILED, NULL, NULL, stderr), "corotracer monitor: lost it\n");
	runs = -EPIPE; /* the reader has enough */
	CHECK_STR(watch(NULL, EXIT_OK, NULL, NULL, stderr), "");
	runs = 0;
	resolves = -ENOENT;
	CHECK_STR(watch(NULL, EXIT_FAILED, "-c", "x", stderr),
		  "corotracer monitor: no such counter\n");
	CHECK_STR(log_text, "counters ");
	resolves = 0;
	CHECK_STR(watch(NULL, EXIT_USAGE, "word", NULL, stderr),
		  "corotracer monitor: unexpected argument 'word'\n"
		  "hint: usage: corotracer monitor -p PID [-b BUFFER] [OPTIONS]\n");
	captured_begin(stderr);
	CHECK_EQ(call(NULL, NULL, NULL, NULL), EXIT_USAGE);
	CHECK(strstr(captured_end(), "-p PID is required") != NULL);
}

static int flushed;

static void one_frame(void)
{
	begin();
	send_event(1, 1, "x", 0, true, 0);
	now += NS_PER_SEC;
	flushed = flush();
}

/* The last lines, after the last flush. */
static void one_frame_at_the_end(void)
{
	begin();
	send_event(1, 1, "x", 0, true, 0);
}

static const char *watch_into(const char *path, void (*what)(void), int status)
{
	int before = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CLOEXEC);
	const char *said;

	CHECK(before >= 0 && fd >= 0);
	fflush(stdout);
	CHECK(dup2(fd, STDOUT_FILENO) >= 0);
	said = watch(what, status, "--json", NULL, stderr);
	CHECK(dup2(before, STDOUT_FILENO) >= 0);
	close(before);
	close(fd);
	return said;
}

static void output_that_cannot_be_written_is_told(void)
{
	CHECK_STR(watch_into("/dev/null", one_frame, EXIT_OK), "");
	CHECK_EQ(flushed, 0);
	CHECK_STR(watch_into("/dev/full", one_frame, EXIT_FAILED),
		  "corotracer monitor: cannot write: No space left on device\n");
	CHECK_EQ(flushed, -ENOSPC);
	CHECK_STR(watch_into("/dev/full", one_frame_at_the_end, EXIT_FAILED),
		  "corotracer monitor: cannot write: No space left on device\n");
}

static void options_reach_the_attachment(void)
{
	captured_begin(stdout);
	CHECK_EQ(call("-p42", "-bMon", "--count=7", "--duration=2"), EXIT_OK);
	captured_end();
	CHECK_EQ(seen.pid, 42);
	CHECK_STR(seen.buffer, "Mon");
	CHECK_EQ(seen.count, 7);
	CHECK_EQ(seen.duration_ns, 2 * NS_PER_SEC);
	CHECK(!seen.force && !seen.auto_resize && !seen.slots);
}

static void watch_and_forget(void)
{
	watch(different_texts, EXIT_OK, NULL, NULL, stdout);
	watch(different_texts, EXIT_OK, "--json", NULL, stdout);
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(watch_and_forget);
}

int main(void)
{
	alarm(20);
	RUN(a_table_has_rates_and_percentiles);
	RUN(frames_of_one_type);
	RUN(the_most_frequent_texts_are_shown);
	RUN(a_terminal_shows_what_fits);
	RUN(lines_are_written);
	RUN(without_a_frame_there_is_no_table);
	RUN(failures_are_told);
	RUN(output_that_cannot_be_written_is_told);
	RUN(options_reach_the_attachment);
	RUN(nothing_is_kept);
	return 0;
}
