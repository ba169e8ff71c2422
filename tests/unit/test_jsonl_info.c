/* SPDX-License-Identifier: MIT */
/* test_jsonl_info.c - `corotracer info`: totals, doubts and exit status, as text and as JSON. */
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "trace/jsonl_writer.h"
#include "trace/sidecar.h"
#include "trace/trace_writer.h"

#include "check.h"

static char dir[] = "/tmp/test_jsonl_info.XXXXXX";
static char trace[64], sidecar[80], captured[80];
static char text[65536];

/* ---- helpers ------------------------------------------------------------- */

/* Run the command with @stream redirected; the output goes to text[]. */
static int run_captured(int stream, int argc, char **argv)
{
	int saved = dup(stream), fd = open(captured, O_RDWR | O_CREAT | O_TRUNC, 0600), status;
	ssize_t size;

	CHECK(saved >= 0 && fd >= 0);
	fflush(stdout);
	dup2(fd, stream);
	status = command_info.run(argc, argv);
	fflush(stdout);
	dup2(saved, stream);
	close(saved);
	size = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(size >= 0);
	text[size] = '\0';
	close(fd);
	return status;
}

static int info(char *path)
{
	char name[] = "info";
	char *argv[] = { name, path, NULL };

	return run_captured(STDOUT_FILENO, 2, argv);
}

static json_t *info_json(char *path, int expected_status)
{
	char name[] = "info", option[] = "--json";
	char *argv[] = { name, option, path, NULL };
	json_error_t error;
	json_t *out;

	CHECK_EQ(run_captured(STDOUT_FILENO, 3, argv), expected_status);
	out = json_loads(text, 0, &error);
	CHECK(out != NULL);
	return out;
}

static int64_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	CHECK(json_is_integer(value));
	return json_integer_value(value);
}

#define CHECK_SAYS(what)                                                                       \
	do {                                                                                   \
		if (!strstr(text, what)) {                                                     \
			fprintf(stderr, "%s:%d: does not say '%s':\n%s\n", __FILE__, __LINE__, \
				what, text);                                                   \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

static char *fixture(const char *name)
{
	static char path[4096];
#ifdef FIXTURES
	snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
#else
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, sizeof(path), "%.*s/../fixtures/%s", slash ? (int)(slash - __FILE__) : 1,
		 slash ? __FILE__ : ".", name);
#endif
	return path;
}

static void write_trace(unsigned nr)
{
	struct jsonl_writer w;
	struct err err = { 0 };
	int fd = open(trace, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	unsigned i;

	CHECK(fd >= 0 && jsonl_writer_open(&w, fd, trace, &err) == 0);
	for (i = 0; i < nr; i++) {
		struct trace_event ev = {
			.probe_id = i % 100 + 1,
			.tid = i % 4 + 1,
			.addr = i,
			.seq = 2 + i / 100 * 2,
			.ts = 1000000000 + i * 1000,
			.is_active = i % 2,
			.kind = i % 2,
			.station = TRACE_NO_STATION,
		};

		jsonl_put(&w, &ev);
	}
	CHECK_EQ(jsonl_close(&w, &err), 0);
}

static void write_sidecar(uint64_t collected, uint64_t lost)
{
	static const char *const words[] = { "./app", "two words" };
	struct sidecar_run run = { .tool = "corotracer 0.1.0",
				   .command = words,
				   .nr_command = 2,
				   .start_realtime = UINT64_C(1700000000000000000),
				   .arch = "x86_64",
				   .stations = 256 };
	struct sidecar_process process = { 4711, 1000, 5, 0 };
	struct sidecar_coroutine hot = { .station = 9,
					 .probe_id = 10,
					 .name = "hot \x1b[31m",
					 .lost = lost,
					 .written = lost + 5,
					 .dead = true };
	struct sidecar_totals totals = { .complete = true,
					 .written = collected + lost,
					 .collected = collected,
					 .lost = lost,
					 .lost_overwritten = lost,
					 .exit_status = 3 };
	struct sidecar_writer w;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, sidecar, &err), 0);
	sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_RUN, .run = run });
	sidecar_put_fact(&w,
			 &(struct trace_item){ .type = TRACE_ITEM_PROCESS, .process = process });
	sidecar_put_fact(&w,
			 &(struct trace_item){ .type = TRACE_ITEM_COROUTINE, .coroutine = hot });
	sidecar_put_totals(&w, &totals);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
}

/* ---- tests --------------------------------------------------------------- */

static void tells_the_totals_of_a_trace_without_sidecar(void)
{
	unlink(sidecar);
	write_trace(12000);
	CHECK_EQ(info(trace), 0);
	CHECK_SAYS("events        12,000\n");
	CHECK_SAYS("coroutines    100\n");
	CHECK_SAYS("threads       4\n");
	CHECK_SAYS("duration      11.999 ms\n");
	CHECK_SAYS("lost          unknown: no '");
	CHECK_SAYS("garbage       none\n");
}

static void tells_what_the_sidecar_knows(void)
{
	write_trace(1000);
	write_sidecar(1000, 50);
	CHECK_EQ(info(trace), 0);
	CHECK_SAYS("lost          50 of 1,050 written (4.76 %)\n");
	CHECK_SAYS("command       ./app 'two words'\n");
	CHECK_SAYS("ended         exit status 3\n");
	CHECK_SAYS("pid           4711\n");
	CHECK_SAYS("names         hot \\x1b[31m\n");
	CHECK_SAYS("recorded by   corotracer 0.1.0, x86_64, 256 stations\n");
	CHECK(!strchr(text, 0x1b));
}

static void prints_the_same_as_json(void)
{
	json_t *out, *side, *worst;

	write_trace(1000);
	write_sidecar(1000, 50);
	out = info_json(trace, 0);
	CHECK_EQ(number(out, "events"), 1000);
	CHECK_EQ(number(out, "coroutines"), 100);
	CHECK_EQ(number(out, "threads"), 4);
	CHECK_EQ(number(out, "duration_ns"), 999000);
	CHECK_EQ(number(out, "lost"), 50);
	CHECK_EQ(number(out, "garbage"), 0);
	CHECK(json_is_true(json_object_get(out, "sound")));
	CHECK(json_is_true(json_object_get(out, "agrees")));
	side = json_object_get(out, "sidecar");
	CHECK_EQ(number(json_object_get(side, "totals"), "exit_status"), 3);
	CHECK(json_is_null(json_object_get(json_object_get(side, "totals"), "signal")));
	worst = json_array_get(json_object_get(side, "lost_most"), 0);
	CHECK_EQ(number(worst, "station"), 9);
	CHECK_STR(json_string_value(json_object_get(worst, "name")), "hot \x1b[31m");
	json_decref(out);
}

static void fails_when_file_and_sidecar_disagree(void)
{
	json_t *out;

	write_trace(990);
	write_sidecar(1000, 50);
	CHECK_EQ(info(trace), 1);
	CHECK_SAYS("disagrees     the collector wrote 1,000 events, the file has 990:\n");
	out = info_json(trace, 1);
	CHECK(json_is_false(json_object_get(out, "agrees")));
	CHECK(json_is_false(json_object_get(out, "sound")));
	json_decref(out);
}

static void does_not_take_a_killed_collector_for_a_loss_of_zero(void)
{
	FILE *file = fopen(sidecar, "w");

	CHECK(file && fputs("{\"type\":\"run\",\"command\":[\"./app\"]}\n", file) >= 0);
	CHECK_EQ(fclose(file), 0);
	write_trace(10);
	CHECK_EQ(info(trace), 0);
	CHECK_SAYS("lost          unknown: the collector was killed or is still running\n");
}

static void fails_on_garbage_and_leaves_it_out(void)
{
	json_t *out = info_json(fixture("older-tool.jsonl"), 1);

	CHECK_EQ(number(out, "events"), 24);
	CHECK_EQ(number(out, "coroutines"), 3);
	CHECK_EQ(number(out, "threads"), 2);
	/* And not 72057594037 ms. */
	CHECK_EQ(number(out, "duration_ns"), 7008642);
	CHECK_EQ(number(out, "garbage"), 3);
	CHECK_EQ(number(json_array_get(json_object_get(out, "garbage_first"), 0), "line"), 6);
	json_decref(out);
	CHECK_EQ(info(fixture("older-tool.jsonl")), 1);
	CHECK_SAYS("3 lines set aside");
	CHECK_SAYS("line 6: ts is 0\n");
	CHECK_EQ(info(fixture("garbage.jsonl")), 1);
	CHECK_SAYS("line 5: probe_id is not a whole number from 0 to 2^64 - 1\n");
	CHECK_SAYS("15 more\n");
}

/* ---- either format --------------------------------------------------------- */

static void write_rich(enum trace_format format, char *path, bool finished)
{
	struct trace_output output = { .path = path, .format = format, .has_sidecar = true };
	struct sidecar_totals totals = { .complete = true,
					 .written = 22,
					 .collected = 2,
					 .lost = 20,
					 .lost_full = 20,
					 .others_collected = 3,
					 .others_written = 8,
					 .others_lost = 5,
					 .end_ts = 5000000000,
					 .exit_status = 0 };
	struct sidecar_coroutine alive = { .station = TRACE_NO_STATION,
					   .probe_id = 4,
					   .name = "reader",
					   .state = TRACE_STATE_SUSPENDED,
					   .since_ts = 3000000000,
					   .site = 9,
					   .reason = TRACE_REASON_IO_READ,
					   .has_resource = true,
					   .resource = 12 };
	struct trace_counts counts;
	struct err err = { 0 };
	struct trace_writer *w;
	struct trace_event ev;

	output.fd = format == TRACE_FORMAT_CTF ? open(path, O_RDONLY | O_DIRECTORY)
					       : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(output.fd >= 0);
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	trace_put_run(w, &(struct sidecar_run){ .tool = "corotracer 0.1.0", .start_ts = 1 });
	trace_put_site(w, &(struct trace_site){ 9, 42, 1, "src/io.c", "wait" });
	trace_put_lane(w, &(struct trace_lane){ 3, 4711, 4712 });
	trace_event_init(&ev);
	ev.probe_id = 4;
	ev.tid = 4712;
	ev.kind = TRACE_BIRTH;
	ev.name = "reader";
	ev.name_size = 6;
	ev.ts = 1000000000;
	trace_put_event(w, 3, &ev);
	ev.name = NULL;
	ev.name_size = 0;
	ev.seq = 2;
	ev.kind = TRACE_RESUME;
	ev.is_active = true;
	ev.ts = 2000000000;
	trace_put_event(w, 3, &ev);
	trace_put_gap(w, 3, 2000000000, 2500000000, 20, 5);
	ev.kind = TRACE_SUSPEND;
	ev.is_active = false;
	ev.site = 9;
	ev.reason = TRACE_REASON_IO_READ;
	ev.ts = 3000000000;
	trace_put_event(w, 3, &ev);
	ev.kind = TRACE_WAKE;
	ev.ts = 3000000001;
	ev.seq = 0;
	trace_put_event(w, 3, &ev);
	ev.probe_id = 5;
	ev.kind = TRACE_END;
	ev.flags = TRACE_DESTROYED;
	ev.reason = 0;
	ev.ts = 4000000000;
	trace_put_event(w, 3, &ev);
	if (finished) {
		trace_put_coroutine(w, &alive);
		trace_put_totals(w, &totals);
	}
	trace_writer_close(w, &counts, &err, &err);
	CHECK(!err.code);
	if (format == TRACE_FORMAT_CTF)
		close(output.fd);
}

static void check_rich(char *path)
{
	json_t *out, *part;

	CHECK_EQ(info(path), 0);
	CHECK_SAYS("events        2\n");
	CHECK_SAYS("and           1 birth, 1 wake, 1 end\n");
	CHECK_SAYS("lost          20 of 22 written (90.9 %)\n");
	CHECK_SAYS("20 found no room in their lane\n");
	CHECK_SAYS("and 5 creations, wakes, ends\n");
	CHECK_SAYS("gaps          thread 4712 of process 4711: 20 events and 5 others in 1 gap\n");
	CHECK_SAYS("not ended     reader  suspended at src/io.c:42 wait (io-read) on fd 12 for "
		   "2.000 s\n");
	CHECK_SAYS("lives         1 coroutine created, 1 ended\n");
	out = info_json(path, 0);
	CHECK_EQ(number(json_object_get(out, "others"), "wakes"), 1);
	CHECK_EQ(number(out, "sites"), 1);
	part = json_array_get(json_object_get(out, "lanes_lost_most"), 0);
	CHECK_EQ(number(part, "lane"), 3);
	CHECK_EQ(number(part, "lost"), 20);
	part = json_array_get(json_object_get(json_object_get(out, "sidecar"), "not_ended_first"),
			      0);
	CHECK_STR(json_string_value(json_object_get(part, "place")), "src/io.c:42 wait");
	CHECK_EQ(number(part, "resource"), 12);
	json_decref(out);
}

/* Fifty at one line, as a bug leaves them; the function as a C++ compiler spells it. */
static void write_fifty(void)
{
	struct sidecar_totals totals = { .complete = true, .end_ts = 9000000000 };
	struct sidecar_coroutine c = { .station = TRACE_NO_STATION,
				       .state = TRACE_STATE_SUSPENDED,
				       .reason = TRACE_REASON_IO_READ,
				       .has_resource = true };
	struct sidecar_writer w;
	struct err err = { 0 };
	char name[16];
	unsigned i;

	write_trace(0);
	CHECK_EQ(sidecar_writer_open(&w, sidecar, &err), 0);
	sidecar_put_fact(
		&w, &(struct trace_item){ .type = TRACE_ITEM_SITE,
					  .site = { 7, 65, 1, "a b/net.cpp",
						    "Task<int, char> net::serve(Server*, Fd)" } });
	for (i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "client %u", i);
		c.probe_id = i + 1;
		c.name = i == 1 ? NULL : name;
		c.site = i < 48 ? 7 : 0;
		c.addr = 0xabc0;
		c.resource = i < 40 ? 10 + i % 20 : i == 40 ? 7 : 5;
		c.since_ts = 4000000000 + i * 1000000;
		c.reason = i == 49 ? TRACE_REASON_MUTEX : TRACE_REASON_IO_READ;
		sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_COROUTINE,
							   .coroutine = c });
	}
	sidecar_put_totals(&w, &totals);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
}

static void puts_those_who_had_not_ended_together_by_place(void)
{
	json_t *out, *side, *part;

	write_fifty();
	CHECK_EQ(info(trace), 0);
	CHECK_SAYS("not ended     48 suspended at a b/net.cpp:65 net::serve (io-read)\n"
		   "                  on fds 5, 7, 10-29 for 4.953 s to 5.000 s\n"
		   "                  client 0, client 2, client 3 and 45 more\n"
		   "                client 48  suspended at 0xabc0 (io-read) on fd 5 for 4.952 s\n"
		   "                client 49  suspended at 0xabc0 (mutex) on 0x5 for 4.951 s\n");
	out = info_json(trace, 0);
	side = json_object_get(out, "sidecar");
	CHECK_EQ(number(side, "not_ended"), 50);
	CHECK_EQ(number(side, "not_ended_places"), 3);
	part = json_array_get(json_object_get(side, "not_ended_by_place"), 0);
	CHECK_EQ(number(part, "coroutines"), 48);
	CHECK_STR(json_string_value(json_object_get(part, "place")), "a b/net.cpp:65 net::serve");
	CHECK_STR(json_string_value(json_object_get(part, "reason")), "io-read");
	CHECK_EQ(number(part, "oldest_ts"), 4000000000);
	CHECK_EQ(number(part, "newest_ts"), 4047000000);
	CHECK_EQ(number(part, "oldest_ns"), 5000000000);
	CHECK_EQ(number(part, "newest_ns"), 4953000000);
	CHECK_EQ(json_array_size(json_object_get(part, "resources")), 22);
	CHECK_EQ(json_integer_value(json_array_get(json_object_get(part, "resources"), 2)), 10);
	part = json_array_get(json_object_get(side, "not_ended_by_place"), 1);
	CHECK_EQ(number(part, "addr"), 0xabc0);
	CHECK(json_is_null(json_object_get(part, "place")));
	json_decref(out);
	unlink(sidecar);
}

static void remove_ctf(const char *path)
{
	static const char *const names[] = { "metadata", "facts", "totals", "lane_3" };
	int fd = open(path, O_RDONLY | O_DIRECTORY), i;

	for (i = 0; i < 4; i++)
		unlinkat(fd, names[i], 0);
	close(fd);
	rmdir(path);
}

static void tells_the_same_of_both_formats(void)
{
	char ctf[80];
	json_t *out;

	write_rich(TRACE_FORMAT_JSONL, trace, true);
	check_rich(trace);
	snprintf(ctf, sizeof(ctf), "%s/t.ctf", dir);
	CHECK_EQ(mkdir(ctf, 0700), 0);
	write_rich(TRACE_FORMAT_CTF, ctf, true);
	check_rich(ctf);
	out = info_json(ctf, 0);
	CHECK_STR(json_string_value(json_object_get(out, "format")), "ctf");
	CHECK_EQ(number(json_object_get(out, "ctf"), "discarded"), 25);
	json_decref(out);
	remove_ctf(ctf);
	unlink(sidecar);
}

static void says_what_is_damaged_in_a_ctf_trace(void)
{
	char ctf[80], lane[100];
	json_t *out;

	snprintf(ctf, sizeof(ctf), "%s/t.ctf", dir);
	snprintf(lane, sizeof(lane), "%s/lane_3", ctf);
	CHECK_EQ(mkdir(ctf, 0700), 0);
	write_rich(TRACE_FORMAT_CTF, ctf, true);
	CHECK_EQ(truncate(lane, 150), 0);
	CHECK_EQ(info(ctf), 1);
	CHECK_SAYS("torn          1 file ends inside a packet");
	CHECK_SAYS("disagrees     the collector wrote 2 events, the file has 0:\n");
	out = info_json(ctf, 1);
	CHECK_EQ(number(json_object_get(out, "ctf"), "torn"), 1);
	CHECK(json_is_false(json_object_get(out, "sound")));
	json_decref(out);
	remove_ctf(ctf);
	CHECK_EQ(mkdir(ctf, 0700), 0);
	write_rich(TRACE_FORMAT_CTF, ctf, false);
	CHECK_EQ(info(ctf), 0);
	CHECK_SAYS("lost          unknown: the collector was killed or is still running\n");
	remove_ctf(ctf);
}

static void says_in_words_that_a_file_is_missing(void)
{
	char name[] = "info", path[] = "/nonexistent.jsonl";
	char *argv[] = { name, path, NULL };

	CHECK_EQ(run_captured(STDERR_FILENO, 2, argv), 1);
	CHECK_STR(text, "corotracer info: cannot open '/nonexistent.jsonl': No such file or "
			"directory\n"
			"hint: 'corotracer run -o FILE -- PROGRAM' writes a trace\n");
}

static void wants_exactly_one_trace(void)
{
	char name[] = "info", a[] = "a", b[] = "b", option[] = "--colour";
	char *none[] = { name, NULL }, *two[] = { name, a, b, NULL };
	char *bad[] = { name, option, a, NULL };

	CHECK_EQ(run_captured(STDERR_FILENO, 1, none), 2);
	CHECK_SAYS("missing argument TRACE");
	CHECK_EQ(run_captured(STDERR_FILENO, 3, two), 2);
	CHECK_EQ(run_captured(STDERR_FILENO, 3, bad), 2);
}

static void reads_from_a_pipe(void)
{
	int saved = dup(STDIN_FILENO), fd;
	char dash[] = "-";

	write_trace(10);
	fd = open(trace, O_RDONLY);
	CHECK(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	CHECK_EQ(info(dash), 0);
	CHECK_SAYS("standard input\n");
	CHECK_SAYS("events        10\n");
	CHECK_SAYS("unknown: standard input carries no .meta file\n");
	close(fd);
	if (saved >= 0)
		dup2(saved, STDIN_FILENO);
}

static void finds_an_empty_trace_sound(void)
{
	unlink(sidecar);
	write_trace(0);
	CHECK_EQ(info(trace), 0);
	CHECK_SAYS("events        0\n");
	CHECK_SAYS("duration      0 ns\n");
}

static void fails_when_its_output_is_full(void)
{
	int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY), status;
	char name[] = "info";
	char *argv[] = { name, trace, NULL };

	CHECK(saved >= 0);
	if (full < 0)
		return;
	fflush(stdout);
	dup2(full, STDOUT_FILENO);
	status = command_info.run(2, argv);
	dup2(saved, STDOUT_FILENO);
	clearerr(stdout);
	close(saved);
	close(full);
	CHECK_EQ(status, 1);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(trace, sizeof(trace), "%s/trace.jsonl", dir);
	snprintf(sidecar, sizeof(sidecar), "%s.meta", trace);
	snprintf(captured, sizeof(captured), "%s/out", dir);
	RUN(tells_the_totals_of_a_trace_without_sidecar);
	RUN(tells_what_the_sidecar_knows);
	RUN(prints_the_same_as_json);
	RUN(fails_when_file_and_sidecar_disagree);
	RUN(does_not_take_a_killed_collector_for_a_loss_of_zero);
	RUN(fails_on_garbage_and_leaves_it_out);
	RUN(tells_the_same_of_both_formats);
	RUN(puts_those_who_had_not_ended_together_by_place);
	RUN(says_what_is_damaged_in_a_ctf_trace);
	RUN(says_in_words_that_a_file_is_missing);
	RUN(wants_exactly_one_trace);
	RUN(reads_from_a_pipe);
	RUN(finds_an_empty_trace_sound);
	RUN(fails_when_its_output_is_full);
	unlink(trace);
	unlink(captured);
	rmdir(dir);
	return 0;
}
