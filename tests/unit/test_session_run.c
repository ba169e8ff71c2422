/* SPDX-License-Identifier: MIT */
/*
 * test_session_run.c - a run of the collector with its page, metrics, shipper and memory trace: the
 * order of their starts and ends, the exit status, and options that do not go together.
 *
 * Everything but the session is the test's.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "analyze/suppress.h"
#include "base/progress.h"
#include "captured.h"
#include "cmd.h"
#include "end_signal.h"
#include "findings_job.h"
#include "report_job.h"
#include "run_awaits.h"
#include "run_collector.h"
#include "run_summary.h"
#include "run_unconnected.h"
#include "run_waiting.h"

static char calls[1024];

/* What the parts return. */
static struct {
	int prepares, metrics_prepares, collects, checks, stores, memory_status, reads_rules;
	bool has_no_page, cannot_listen, has_no_page_process, has_no_metrics_process;
	bool has_no_shipper_process, has_no_memory, has_no_looks, is_unconnected;
	bool is_bad_list, is_bad_gate;
	bool is_ready; /* the region exists */
	struct collector_result result;
	int exit_status;
} world;

static struct session s;
static struct collector_config seen;
static struct report_job checked;
static const struct command command = { .name = "run" };

static void note(const char *text)
{
	size_t used = strlen(calls);

	snprintf(calls + used, sizeof(calls) - used, "%s ", text);
}

/* ---- the parts ----------------------------------------------------------------------------- */

bool report_job_fail_on(struct report_job *job, const char *list)
{
	(void)job;
	note(list);
	return !world.is_bad_list;
}

bool report_job_check_gate(const struct report_job *job)
{
	(void)job;
	return !world.is_bad_gate;
}

int report_job_run(struct report_job *job)
{
	checked = *job;
	note("check");
	return world.checks;
}

int findings_job_of_run(const char *name, const char *trace, const char *receiver)
{
	CHECK_STR(name, "run");
	CHECK_STR(trace, "t.ct");
	CHECK_STR(receiver, "file:x");
	note("store");
	return world.stores;
}

int suppressions_read(struct suppressions *rules, const char *path, struct err *err)
{
	CHECK_STR(path, "rules");
	rules->nr = 1;
	return world.reads_rules ? err_set(err, world.reads_rules, "cannot read the rules") : 0;
}

void suppressions_release(struct suppressions *rules)
{
	rules->nr = 0;
	note("rules");
}

bool serving_can_follow(const char *name, const char *output, bool is_ctf, bool is_flight)
{
	CHECK_STR(name, "run");
	CHECK_STR(output, s.config.output);
	note(is_ctf ? "ctf" : is_flight ? "flight" : "follow");
	return !world.has_no_page;
}

bool serving_listen(struct serving *page, const char *address, uint16_t port)
{
	CHECK(!address);
	CHECK_EQ(port, 8080);
	page->listener.fd = -1;
	snprintf(page->listener.url, sizeof(page->listener.url), "http://x/");
	note("listen");
	return !world.cannot_listen;
}

bool serving_fork(struct serving *page)
{
	CHECK_STR(page->command, "run");
	CHECK_STR(page->trace, "t.ct");
	note("page");
	return !world.has_no_page_process;
}

void serving_go(struct serving *page)
{
	CHECK(page == &s.serving);
	note("page-go");
}

void serving_end(struct serving *page, bool stay)
{
	CHECK(page == &s.serving);
	note(stay ? "page-stays" : "page-end");
}

void run_metrics_set_labels(struct run_metrics *m, const struct ship_options *o)
{
	CHECK(m == &s.metrics && o == &s.shipping.options);
	note("labels");
}

int run_metrics_prepare(struct run_metrics *m, bool is_ctf, bool is_flight)
{
	CHECK(m->is_collected);
	CHECK_STR(m->command, "run");
	CHECK_STR(m->trace, s.config.output);
	CHECK_EQ(is_flight, s.config.flight_size != 0);
	note(is_ctf ? "metrics-ctf" : "metrics");
	return world.metrics_prepares;
}

bool run_metrics_fork(struct run_metrics *m)
{
	(void)m;
	note("metrics-fork");
	return !world.has_no_metrics_process;
}

void run_metrics_go(struct run_metrics *m)
{
	CHECK(m == &s.metrics);
	note("metrics-go");
}

void run_metrics_end(struct run_metrics *m)
{
	CHECK(m == &s.metrics);
	note("metrics-end");
}

int shipping_prepare(struct shipping *ship, const char **output, enum trace_format *format,
		     bool has_output, const char *program)
{
	CHECK_STR(ship->command, "run");
	CHECK(ship->is_new);
	CHECK_EQ(ship->is_flight, s.config.flight_size != 0);
	CHECK(output == &s.config.output && format == &s.config.format);
	CHECK_EQ(has_output, s.has_output);
	ship->trace = "the trace";
	note(program);
	return world.prepares;
}

bool shipping_fork(struct shipping *ship)
{
	(void)ship;
	note("ship");
	return !world.has_no_shipper_process;
}

void shipping_go(struct shipping *ship, const char *path)
{
	CHECK(ship == &s.shipping);
	CHECK_STR(path, "the trace");
	note("ship-go");
}

void shipping_snapshot(struct shipping *ship, const char *path)
{
	CHECK(ship == &s.shipping);
	note(path);
}

void shipping_finish(struct shipping *ship)
{
	CHECK(ship == &s.shipping);
	note("ship-finish");
}

void shipping_stop(struct shipping *ship)
{
	CHECK(ship == &s.shipping);
	note("ship-stop");
}

void shipping_settle(struct shipping *ship, uint64_t collected, uint64_t others)
{
	CHECK(ship == &s.shipping);
	CHECK_EQ(collected, 70);
	CHECK_EQ(others, 7);
	note("settle");
}

bool run_memory_begin(struct run_memory *m, const char *trace, char *const *argv, bool json,
		      bool quiet)
{
	CHECK_STR(trace, s.config.output);
	CHECK(argv == s.config.argv);
	CHECK(json == s.json && quiet == s.quiet);
	CHECK_EQ(m->no_inherit, s.config.no_inherit);
	note("memory");
	return !world.has_no_memory;
}

void run_memory_add_facts(struct trace_writer *writer, pid_t pid, bool is_running,
			  bool has_attached)
{
	(void)writer;
	(void)pid;
	(void)is_running;
	(void)has_attached;
}

int run_memory_end(struct run_memory *m, int status)
{
	CHECK(m == &s.memory);
	note("memory-end");
	return world.memory_status && !status ? world.memory_status : status;
}

void run_waiting_begin(pid_t pid)
{
	CHECK_EQ(pid, 77);
	note("look");
}

void run_waiting_add_facts(struct trace_writer *writer, pid_t pid, bool is_running,
			   bool has_attached)
{
	(void)writer;
	(void)pid;
	(void)is_running;
	(void)has_attached;
}

void run_waiting_end(void)
{
	note("look-end");
}

bool run_awaits_begin(void)
{
	note("awaits");
	return !world.has_no_looks;
}

void run_awaits_connected(pid_t pid)
{
	(void)pid;
}

bool run_awaits_find(const struct sidecar_coroutine *coroutine, struct trace_site *site)
{
	(void)coroutine;
	(void)site;
	return false;
}

void run_awaits_end(void)
{
	note("awaits-end");
}

bool run_unconnected_failed(const struct collector_result *r)
{
	CHECK_EQ(r->collected, 70);
	return world.is_unconnected;
}

void run_summary_text(const struct session *session, const struct collector_result *r)
{
	CHECK(session == &s && r->collected == 70);
	CHECK(signal(SIGPIPE, SIG_IGN) == SIG_IGN);
	note("text");
}

void run_summary_json(const struct session *session, const struct collector_result *r, int status)
{
	char text[16];

	CHECK(session == &s && r->collected == 70);
	snprintf(text, sizeof(text), "json%d", status);
	note(text);
}

void run_summary_snapshot(const struct snapshot_result *r)
{
	(void)r;
}

void run_summary_json_error(const struct err *err)
{
	CHECK_STR(err->text, "no region");
	note("json-error");
}

int collector_run(const struct collector_config *config, struct collector_result *result,
		  struct err *err)
{
	seen = *config;
	note("collect");
	if (world.is_ready)
		CHECK_EQ(config->ready("", "", 1, err), 0);
	*result = world.result;
	if (world.collects)
		err_set(err, world.collects, "no region");
	err->exit_status = world.exit_status;
	return world.collects;
}

void __wrap_progress_start(struct progress *p, const char *what, uint64_t total);
void __wrap_progress_start(struct progress *p, const char *what, uint64_t total)
{
	CHECK_STR(what, "the program has ended; writing (Ctrl-C: stop)");
	p->total = total;
	note("start");
}

void __wrap_progress_update(struct progress *p, uint64_t done);
void __wrap_progress_update(struct progress *p, uint64_t done)
{
	char text[32];

	snprintf(text, sizeof(text), "%s:%d/%d", p->unit, (int)done, (int)p->total);
	note(text);
}

void __wrap_progress_full(struct progress *p, const char *rest);
void __wrap_progress_full(struct progress *p, const char *rest)
{
	CHECK(p->total && !rest);
	note("full");
}

void __wrap_progress_end(struct progress *p);
void __wrap_progress_end(struct progress *p)
{
	CHECK(p->total);
	note("end");
}

void command_help_print(const struct command *cmd)
{
	(void)cmd;
}

int end_by_signal(int sig)
{
	CHECK_EQ(sig, SIGSEGV);
	note("killed");
	return 0;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static char program[] = "prog", *arguments[] = { program, NULL };

static void world_new(void)
{
	memset(&world, 0, sizeof(world));
	world.prepares = world.metrics_prepares = -1;
	world.result.collected = 70;
	world.result.others_collected = 7;
	session_init(&s, &command);
	s.config.argv = arguments;
	s.config.output = "t.ct";
	s.serve_port = 8080;
	calls[0] = '\0';
}

/* Everything is asked for. */
static void world_of_all(void)
{
	world_new();
	s.serve = true;
	s.metrics.address = "1";
	s.shipping.options.url = "file:x";
	s.has_output = true;
	s.memory.wanted = true;
	world.is_ready = true;
}

/* @said on stderr. */
static void run(int status, const char *said)
{
	signal(SIGPIPE, SIG_DFL);
	captured_begin(stderr);
	CHECK_EQ(session_run(&s), status);
	CHECK_STR(captured_end(), said);
}

static void a_session_has_defaults(void)
{
	session_init(&s, &command);
	CHECK_EQ(s.config.nr_stations, 128);
	CHECK_STR(s.config.output, "trace_output.jsonl");
	CHECK(s.cmd == &command && !s.json);
}

static void a_run_is_collected_and_told(void)
{
	world_new();
	run(EXIT_OK, "");
	CHECK_STR(calls,
		  "prog labels metrics memory collect look-end awaits-end ship-finish settle "
		  "text memory-end metrics-end ");
	CHECK_EQ(seen.lanes.lives, 128);
	CHECK(!strncmp(seen.tool, "corotracer ", 11));
	CHECK(seen.stdout_moved && seen.attached && seen.draining);
	CHECK(!seen.snapshot_taken && !seen.snapshot_written && !seen.ready && !seen.add_facts);
	CHECK(!seen.connected && !seen.await_of);
	captured_begin(stderr);
	seen.stdout_moved();
	CHECK_STR(captured_end(), "corotracer: the trace is on standard output; the program's "
				  "standard output goes to standard error\n");
	captured_begin(stderr);
	seen.attached(5, false);
	seen.attached(6, true);
	CHECK_STR(captured_end(),
		  "corotracer: attached to process 5\ncorotracer: process 6 has had "
		  "no event since it was asked to attach\n");
	world_new();
	s.quiet = true;
	run(EXIT_OK, "");
	CHECK(!seen.stdout_moved && !seen.attached && !seen.draining);
	world_new();
	s.json = true;
	s.config.argv = NULL;
	world.result.exit_status = 3;
	run(3, "");
	CHECK(!strncmp(calls, "run ", 4)); /* without a program */
	CHECK(strstr(calls, "json3 ") != NULL);
	CHECK(seen.stdout_moved && !seen.attached && seen.draining);
}

static void the_events_that_are_left_are_shown(void)
{
	world_new();
	run(EXIT_OK, "");
	calls[0] = '\0';
	seen.draining(0, 10);
	seen.draining(5, 10);
	seen.draining(10, 10);
	seen.draining(0, 0);
	CHECK_STR(calls, "start events:5/10 events:10/10 full end ");
}

static void a_program_that_a_signal_ended_ends_the_tool(void)
{
	world_new();
	world.result.exit_status = 128 + SIGSEGV;
	world.result.signal = SIGSEGV;
	run(128 + SIGSEGV, "");
	CHECK(strstr(calls, "metrics-end killed ") != NULL);
}

static void all_parts_start_and_end_in_order(void)
{
	world_of_all();
	run(EXIT_OK, "corotracer run: the page is at http://x/\n");
	CHECK_STR(calls, "prog follow listen page labels metrics metrics-fork ship memory collect "
			 "page-go metrics-go ship-go look-end awaits-end ship-finish settle text "
			 "memory-end page-stays metrics-end ");
	CHECK(seen.add_facts == run_memory_add_facts);
	CHECK(!seen.snapshot_written);
	world_of_all();
	world.result.stop_signal = SIGTERM;
	run(EXIT_OK, "corotracer run: the page is at http://x/\n");
	CHECK(strstr(calls, "page-end metrics-end ") != NULL);
	world_of_all();
	world.result.stop_signal = SIGINT;
	run(EXIT_OK, "corotracer run: the page is at http://x/\n");
	CHECK(strstr(calls, "page-stays metrics-end ") != NULL);
}

static void each_part_alone_learns_of_the_trace(void)
{
	world_of_all();
	s.metrics.address = s.shipping.options.url = NULL;
	run(EXIT_OK, "corotracer run: the page is at http://x/\n");
	CHECK(strstr(calls, "labels metrics memory collect page-go") != NULL);
	world_of_all();
	s.serve = false;
	s.shipping.options.url = NULL;
	run(EXIT_OK, "");
	CHECK(strstr(calls, "metrics metrics-fork memory collect ") != NULL);
	CHECK(strstr(calls, "metrics-go ") != NULL);
	world_of_all();
	s.serve = false;
	s.metrics.address = NULL;
	run(EXIT_OK, "");
	CHECK(strstr(calls, "metrics ship memory collect ") != NULL);
	CHECK(strstr(calls, "ship-go look-end") != NULL);
}

/* The shipper gets the snapshots of a flight recorder, not the trace. */
static void snapshots_are_shipped(void)
{
	world_of_all();
	s.serve = false;
	s.config.flight_size = 1;
	run(EXIT_OK, "");
	CHECK(!strstr(calls, "ship-go"));
	CHECK(seen.snapshot_taken == run_summary_snapshot);
	CHECK(seen.snapshot_written != NULL);
	seen.snapshot_written = NULL;
}

static void earlier_coroutines_are_looked_at(void)
{
	world_new();
	s.config.pid = 77;
	run(EXIT_OK, "");
	CHECK(strstr(calls, "memory look collect look-end") != NULL);
	CHECK(seen.add_facts == run_waiting_add_facts);
	world_new();
	s.config.pid = 77;
	s.no_snapshot = true;
	run(EXIT_OK, "");
	CHECK(!seen.add_facts);
	world_new();
	s.config.pid = 77;
	s.config.flight_size = 1;
	run(EXIT_OK, "");
	CHECK(!seen.add_facts);
	world_new();
	s.awaits = true;
	run(EXIT_OK, "");
	CHECK(strstr(calls, "memory awaits collect") != NULL);
	CHECK(seen.connected == run_awaits_connected && seen.await_of == run_awaits_find);
	world_new();
	s.awaits = true;
	world.has_no_looks = true;
	run(EXIT_OK, "");
	CHECK(!seen.connected && !seen.await_of);
}

/* @part fails: what was started before it ends. */
static void fail_to_start(bool *part, int status, const char *said, const char *expected)
{
	*part = true;
	run(status, said);
	CHECK_STR(calls, expected);
	*part = false;
}

static void what_was_started_ends_if_another_part_fails(void)
{
	static const char page[] = "corotracer run: the page is at http://x/\n";

	world_of_all();
	fail_to_start(&world.has_no_page, EXIT_USAGE, "",
		      "prog follow page-end metrics-end ship-stop ");
	world_of_all();
	fail_to_start(&world.cannot_listen, EXIT_FAILED, "",
		      "prog follow listen page-end metrics-end ship-stop ");
	world_of_all();
	fail_to_start(&world.has_no_page_process, EXIT_FAILED, "",
		      "prog follow listen page page-end metrics-end ship-stop ");
	world_of_all();
	fail_to_start(&world.has_no_metrics_process, EXIT_FAILED, page,
		      "prog follow listen page labels metrics metrics-fork page-end metrics-end "
		      "ship-stop ");
	world_of_all();
	fail_to_start(&world.has_no_shipper_process, EXIT_FAILED, page,
		      "prog follow listen page labels metrics metrics-fork ship page-end "
		      "metrics-end ship-stop ");
	world_of_all();
	fail_to_start(&world.has_no_memory, EXIT_FAILED, page,
		      "prog follow listen page labels metrics metrics-fork ship memory page-end "
		      "metrics-end ship-stop ");
	world_of_all();
	world.prepares = EXIT_USAGE;
	run(EXIT_USAGE, "");
	CHECK_STR(calls, "prog ");
	world_of_all();
	world.metrics_prepares = EXIT_OK;
	run(EXIT_OK, page);
	CHECK(!strstr(calls, "collect"));
	world_of_all();
	world.metrics_prepares = EXIT_FAILED;
	run(EXIT_FAILED, page);
	CHECK_STR(calls, "prog follow listen page labels metrics page-end metrics-end ship-stop ");
}

static void a_collector_that_does_not_start_is_told(void)
{
	world_of_all();
	s.serve = false;
	world.collects = -ENOENT;
	run(EXIT_FAILED, "corotracer run: no region\n");
	CHECK_STR(calls, "prog labels metrics metrics-fork ship memory collect metrics-go ship-go "
			 "look-end awaits-end memory-end metrics-end ship-stop ");
	world_new();
	s.json = true;
	s.serve = true;
	world.collects = -ENOENT;
	world.exit_status = 127;
	run(127, "corotracer run: the page is at http://x/\n");
	CHECK_STR(calls,
		  "prog follow listen page labels metrics memory collect look-end awaits-end "
		  "memory-end page-end metrics-end ship-stop json-error ");
}

static void the_format_of_the_trace_is_known(void)
{
	world_new();
	s.serve = true;
	s.config.output = "t.ct";
	s.config.format = TRACE_FORMAT_CTF;
	run(EXIT_OK, "corotracer run: the page is at http://x/\n");
	CHECK(strstr(calls, "prog ctf ") && strstr(calls, "metrics-ctf"));
	world_new();
	s.config.output = "t.ctf";
	run(EXIT_OK, "");
	CHECK(strstr(calls, "metrics-ctf") != NULL);
	world_new();
	s.config.output = "t.ctf";
	s.config.format = TRACE_FORMAT_JSONL;
	run(EXIT_OK, "");
	CHECK(!strstr(calls, "metrics-ctf"));
}

/* ---- the exit status ------------------------------------------------------------------------ */

static void what_is_missing_fails_the_run(void)
{
	world_new();
	world.result.failed.code = -ENOENT;
	run(EXIT_FAILED, "");
	world_new();
	world.result.output.code = -ENOSPC;
	run(EXIT_FAILED, "");
	world_new();
	world.result.sidecar.code = -ENOSPC;
	run(EXIT_FAILED, "");
	world_new();
	world.result.frames.failed = 1;
	run(EXIT_FAILED, "");
	world_new();
	world.is_unconnected = true;
	run(EXIT_FAILED, "");
	world_new();
	world.memory_status = EXIT_FAILED;
	run(EXIT_FAILED, "");
	world_new();
	world.result.output.code = -ENOSPC;
	world.result.exit_status = 9; /* of the program: not hidden */
	run(9, "");
}

static void losses_fail_the_run_if_asked(void)
{
	unsigned i, is_asked;

	for (is_asked = 0; is_asked < 2; is_asked++) {
		for (i = 0; i < 6; i++) {
			world_new();
			s.fail_on_loss = is_asked;
			world.result.lost = i == 0;
			world.result.others_lost = i == 1;
			world.result.totals.without_station = i == 2;
			world.result.frames.lost = i == 3;
			s.shipping.result.given_up.blocks = i == 4;
			run(is_asked && i < 5 ? EXIT_FAILED : EXIT_OK, "");
		}
	}
}

/* ---- --check -------------------------------------------------------------------------------- */

static void a_trace_is_checked_afterwards(void)
{
	world_new();
	s.check = true;
	s.suppressions = "rules";
	run(EXIT_OK, "");
	CHECK_STR(calls, "all rules prog labels metrics memory collect look-end awaits-end "
			 "ship-finish settle text memory-end all check metrics-end ");
	CHECK_STR(checked.command, "run");
	CHECK_STR(checked.trace, "t.ct");
	CHECK_STR(checked.suppressions, "rules");
	CHECK(checked.has_form && checked.quiet && checked.to_stderr);
	CHECK_EQ(checked.form, REPORT_TEXT);
	CHECK_EQ(checked.least, CONFIDENCE_STRONG);
	world_new();
	s.check = true;
	s.check_list = "leak";
	s.json = true;
	world.checks = EXIT_FAILED;
	run(EXIT_FAILED, "");
	CHECK(!strncmp(calls, "leak ", 5) && strstr(calls, "leak check"));
	CHECK_EQ(checked.form, REPORT_JSON);
	world_new();
	s.check = true;
	world.checks = EXIT_FAILED;
	world.result.exit_status = 4;
	run(4, "");
}

static void what_cannot_be_checked_is_told_before_the_run(void)
{
	world_new();
	s.check = true;
	world.is_bad_list = true;
	run(EXIT_USAGE, "");
	CHECK_STR(calls, "all ");
	world_new();
	s.check = true;
	world.is_bad_gate = true;
	run(EXIT_USAGE, "");
	CHECK_STR(calls, "all ");
	world_new();
	s.check = true;
	s.config.output = "-";
	run(EXIT_USAGE,
	    "corotracer run: --check needs the trace in a file, not on standard output\n");
	world_new();
	s.suppressions = "rules";
	run(EXIT_USAGE, "corotracer run: --suppressions needs --check\n");
	CHECK_STR(calls, "");
	world_new();
	s.check = true;
	s.suppressions = "rules";
	world.reads_rules = -ENOENT;
	run(EXIT_USAGE, "corotracer run: cannot read the rules\n");
	CHECK_STR(calls, "all rules ");
	world_new();
	s.config.output = "-";
	run(EXIT_OK, "");
}

static void findings_of_a_shipped_trace_are_stored(void)
{
	unsigned i;

	world_new();
	s.check = s.has_output = true;
	s.shipping.options.url = "file:x";
	run(EXIT_OK, "");
	CHECK(strstr(calls, "check store metrics-end ") != NULL);
	world.stores = EXIT_FAILED;
	run(EXIT_FAILED, "");
	world.result.exit_status = 6;
	run(6, "");
	for (i = 0; i < 4; i++) {
		world_new();
		s.check = i != 0;
		s.has_output = true;
		s.shipping.options.url = i == 1 ? NULL : "file:x";
		s.shipping.is_spool = i == 2;
		s.config.flight_size = i == 3;
		run(EXIT_OK, "");
		CHECK(!strstr(calls, "store"));
	}
}

static void a_spool_is_not_a_whole_trace(void)
{
	world_new();
	s.check = true;
	s.shipping.options.url = "file:x";
	run(EXIT_USAGE, "corotracer run: --check needs the whole trace, and --ship keeps only the "
			"spool\nhint: keep the trace with -o FILE.ct\n");
	CHECK_STR(calls, "all ");
	world_new();
	s.serve = true;
	s.shipping.options.url = "file:x";
	run(EXIT_USAGE, "corotracer run: --serve needs the whole trace, and --ship keeps only the "
			"spool\nhint: keep the trace with -o FILE.ct\n");
	world_new();
	s.shipping.options.url = "file:x";
	run(EXIT_OK, "");
}

/* ---- options -------------------------------------------------------------------------------- */

static const char *parse(const char *value, bool result, struct lanes_config *lanes)
{
	const struct opt_use use = { .command = "run", .option = "--on-full", .value = value };

	memset(lanes, 0, sizeof(*lanes));
	captured_begin(stderr);
	CHECK_EQ(session_parse_on_full(lanes, &use), result);
	return captured_end();
}

static void a_full_lane_drops_or_blocks(void)
{
	const struct opt_use drop = { .command = "run", .option = "--on-full", .value = "drop" };
	struct lanes_config lanes = { .on_full = CTP_ON_FULL_BLOCK };

	CHECK(session_parse_on_full(&lanes, &drop)); /* the last one counts */
	CHECK_EQ(lanes.on_full, CTP_ON_FULL_DROP);
	CHECK_STR(parse("drop", true, &lanes), "");
	CHECK_EQ(lanes.on_full, CTP_ON_FULL_DROP);
	CHECK_STR(parse("block", true, &lanes), "");
	CHECK_EQ(lanes.on_full, CTP_ON_FULL_BLOCK);
	CHECK_EQ(lanes.block_ms, 1000);
	CHECK_STR(parse("block=1", true, &lanes), "");
	CHECK_EQ(lanes.block_ms, 1);
	CHECK_STR(parse("block=600000", true, &lanes), "");
	CHECK_EQ(lanes.block_ms, 600000);
	CHECK_STR(parse("block=600001", false, &lanes),
		  "corotracer run: invalid value '600001' for --on-full block: expected an integer "
		  "from 1 to 600000\n");
	CHECK(strlen(parse("block=0", false, &lanes)) > 0);
	CHECK_STR(parse("blocks", false, &lanes),
		  "corotracer run: invalid value 'blocks' for --on-full: expected drop, block or "
		  "block=MS\n");
	CHECK(strlen(parse("bloc", false, &lanes)) > 0);
	CHECK(strlen(parse("", false, &lanes)) > 0);
}

int main(void)
{
	alarm(20);
	RUN(a_session_has_defaults);
	RUN(a_run_is_collected_and_told);
	RUN(the_events_that_are_left_are_shown);
	RUN(a_program_that_a_signal_ended_ends_the_tool);
	RUN(all_parts_start_and_end_in_order);
	RUN(each_part_alone_learns_of_the_trace);
	RUN(snapshots_are_shipped);
	RUN(earlier_coroutines_are_looked_at);
	RUN(what_was_started_ends_if_another_part_fails);
	RUN(a_collector_that_does_not_start_is_told);
	RUN(the_format_of_the_trace_is_known);
	RUN(what_is_missing_fails_the_run);
	RUN(losses_fail_the_run_if_asked);
	RUN(a_trace_is_checked_afterwards);
	RUN(what_cannot_be_checked_is_told_before_the_run);
	RUN(findings_of_a_shipped_trace_are_stored);
	RUN(a_spool_is_not_a_whole_trace);
	RUN(a_full_lane_drops_or_blocks);
	return 0;
}
