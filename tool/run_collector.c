/* SPDX-License-Identifier: MIT */
/* run_collector.c - run a collector and turn its result into an exit status. */
#include "findings_job.h"
#include "report_job.h"
#include "run_collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corotracer/version.h>

#include "analyze/suppress.h"
#include "base/progress.h"
#include "end_signal.h"
#include "run_summary.h"
#include "run_unconnected.h"
#include "run_waiting.h"
#include "run_awaits.h"

/* Default limit for a thread that waits for space; then it continues without its event. */
#define BLOCK_MS 1000

static const char *session_name(const struct session *s)
{
	return s->cmd ? s->cmd->name : NULL;
}

void session_init(struct session *s, const struct command *cmd)
{
	memset(s, 0, sizeof(*s));
	s->cmd = cmd;
	s->config.nr_stations = DEFAULT_STATIONS;
	s->config.output = DEFAULT_OUTPUT;
}

/* Whether a thread with a full lane waits, and for how long at most. */
bool session_parse_on_full(void *field, const struct opt_use *use)
{
	struct lanes_config *lanes = field;
	unsigned long long ms = BLOCK_MS;
	const char *value = use->value;

	if (!strcmp(value, "drop")) {
		lanes->on_full = CTP_ON_FULL_DROP;
		return true;
	}
	if (strncmp(value, "block", 5) != 0 || (value[5] && value[5] != '='))
		return opt_invalid(use, "drop, block or block=MS");
	if (value[5] && !opt_number(use->command, "--on-full block", value + 6, 1, 600000, &ms))
		return false;
	lanes->on_full = CTP_ON_FULL_BLOCK;
	lanes->block_ms = (uint32_t)ms;
	return true;
}

/* A failure of the tool turns success into failure, and never hides the program's status. */
static int session_exit_status(const struct session *s, const struct collector_result *r)
{
	if (r->exit_status)
		return r->exit_status;
	if (r->failed.code)
		return EXIT_FAILED;
	if (r->output.code || r->sidecar.code)
		return EXIT_FAILED;
	if (r->frames.failed || run_unconnected_failed(r))
		return EXIT_FAILED;
	if (s->fail_on_loss && (r->lost || r->others_lost || r->totals.without_station ||
				r->frames.lost || s->shipping.result.given_up.blocks))
		return EXIT_FAILED;
	return EXIT_OK;
}

/* The gate of --check: every fault that is at least strong, or what --check=LIST names. */
static struct report_job session_check_job(const struct session *s)
{
	return (struct report_job){
		.command = session_name(s),
		.trace = s->config.output,
		.has_form = true,
		.form = s->json ? REPORT_JSON : REPORT_TEXT,
		.suppressions = s->suppressions,
		.quiet = true,
		.to_stderr = true,
		.least = CONFIDENCE_STRONG,
	};
}

static const char *session_check_list(const struct session *s)
{
	return s->check_list ? s->check_list : "all";
}

static int session_check(const struct session *s)
{
	struct report_job job = session_check_job(s);

	if (!report_job_fail_on(&job, session_check_list(s)))
		return EXIT_FAILED;
	return report_job_run(&job);
}

/* What was checked and shipped is known to the store, too, if the trace is whole. */
static int session_store_findings(const struct session *s)
{
	const struct shipping *shipping = &s->shipping;

	if (!s->check || !shipping->options.url || shipping->is_spool || shipping->is_flight)
		return EXIT_OK;
	return findings_job_of_run(session_name(s), s->config.output, shipping->options.url);
}

/* A file that cannot be read is not found out after hours of tracing. */
static bool session_can_suppress(const struct session *s)
{
	struct suppressions rules = { 0 };
	struct err err = { 0 };
	int rc;

	if (!s->suppressions)
		return true;
	if (!s->check) {
		message_print(session_name(s), "--suppressions needs --check");
		return false;
	}
	rc = suppressions_read(&rules, s->suppressions, &err);
	suppressions_release(&rules);
	if (rc < 0)
		message_error(session_name(s), &err);
	return rc >= 0;
}

static bool session_can_check(const struct session *s)
{
	struct report_job job = session_check_job(s);

	if (s->check &&
	    (!report_job_fail_on(&job, session_check_list(s)) || !report_job_check_gate(&job)))
		return false;
	if (!session_can_suppress(s))
		return false;
	if (!s->check || strcmp(s->config.output, "-") != 0)
		return true;
	message_print(session_name(s), "--check needs the trace in a file, not on standard output");
	return false;
}

/* ---- the page --------------------------------------------------------------- */

/* The collector's callbacks have no context argument. */
static struct serving *waiting;
static struct shipping *waiting_shipper;
static struct run_metrics *waiting_metrics;

static int trace_is_there(const char *shm, const char *sock, uint32_t nr_stations, struct err *err)
{
	(void)shm;
	(void)sock;
	(void)nr_stations;
	(void)err;
	if (waiting)
		serving_go(waiting);
	if (waiting_metrics)
		run_metrics_go(waiting_metrics);
	if (waiting_shipper && !waiting_shipper->is_flight)
		shipping_go(waiting_shipper, waiting_shipper->trace);
	return 0;
}

static void snapshot_is_there(const char *path)
{
	shipping_snapshot(waiting_shipper, path);
}

static bool session_is_ctf(const struct session *s)
{
	enum trace_format format = s->config.format;

	return (format == TRACE_FORMAT_AUTO ? trace_format_of(s->config.output) : format) ==
	       TRACE_FORMAT_CTF;
}

/*
 * Runs before the program: if the page cannot be served, the program is not started.  Returns -1 to
 * continue, or the exit status.
 */
static int session_start_page(struct session *s)
{
	struct serving *page = &s->serving;

	if (!s->serve)
		return -1;
	if (!serving_can_follow(session_name(s), s->config.output, session_is_ctf(s),
				s->config.flight_size != 0))
		return EXIT_USAGE;
	page->command = session_name(s);
	page->trace = s->config.output;
	if (!serving_listen(page, NULL, s->serve_port) || !serving_fork(page))
		return EXIT_FAILED;
	waiting = page;
	s->config.ready = trace_is_there;
	message_print(session_name(s), "the page is at %s", page->listener.url);
	return -1;
}

/* ---- the shipper ------------------------------------------------------------ */

/* What reads the whole trace has to wait until the shipper gave parts of it back. */
static bool session_can_ship(const struct session *s)
{
	const char *option = s->check ? "--check" : s->serve ? "--serve" : NULL;

	if (!s->shipping.options.url || !option || s->has_output)
		return true;
	message_print(session_name(s), "%s needs the whole trace, and --ship keeps only the spool",
		      option);
	fputs("hint: keep the trace with -o FILE.ct\n", stderr);
	return false;
}

/* Before the program starts.  Returns -1 to continue, or the exit status. */
static int session_prepare_shipper(struct session *s)
{
	struct shipping *ship = &s->shipping;

	if (!session_can_ship(s))
		return EXIT_USAGE;
	ship->command = session_name(s);
	ship->is_new = true;
	ship->is_flight = s->config.flight_size != 0;
	return shipping_prepare(ship, &s->config.output, &s->config.format, s->has_output,
				s->config.argv ? s->config.argv[0] : "run");
}

static int session_start_shipper(struct session *s)
{
	if (!s->shipping.options.url)
		return -1;
	if (!shipping_fork(&s->shipping))
		return EXIT_FAILED;
	waiting_shipper = &s->shipping;
	s->config.ready = trace_is_there;
	s->config.snapshot_written = s->shipping.is_flight ? snapshot_is_there : NULL;
	return -1;
}

static void session_end_shipper(struct session *s, bool has_run)
{
	waiting_shipper = NULL;
	if (has_run)
		shipping_finish(&s->shipping);
	else
		shipping_stop(&s->shipping);
}

/* ---- metrics ---------------------------------------------------------------- */

/* As session_start_page(). */
static int session_start_metrics(struct session *s)
{
	struct run_metrics *m = &s->metrics;
	int status;

	m->command = session_name(s);
	m->trace = s->config.output;
	m->is_collected = true;
	run_metrics_set_labels(m, &s->shipping.options);
	status = run_metrics_prepare(m, session_is_ctf(s), s->config.flight_size != 0);
	if (status >= 0 || !m->address)
		return status;
	if (!run_metrics_fork(m))
		return EXIT_FAILED;
	waiting_metrics = m;
	s->config.ready = trace_is_there;
	return -1;
}

static void session_end_metrics(struct session *s)
{
	waiting_metrics = NULL;
	run_metrics_end(&s->metrics);
}

/* Stop serving if a signal other than SIGINT (Ctrl-C) ended the run. */
static void session_end_page(struct session *s, const struct collector_result *r)
{
	waiting = NULL;
	if (s->serve)
		serving_end(&s->serving, r && (!r->stop_signal || r->stop_signal == SIGINT));
}

/* ---- standard output --------------------------------------------------------- */

static void say_stdout_moved(void)
{
	fputs("corotracer: the trace is on standard output; the program's standard output goes to "
	      "standard error\n",
	      stderr);
}

/* ---- a running program ------------------------------------------------------- */

static void say_attached(pid_t pid, bool is_idle)
{
	if (is_idle)
		fprintf(stderr,
			"corotracer: process %d has had no event since it was asked to attach\n",
			(int)pid);
	else
		fprintf(stderr, "corotracer: attached to process %d\n", (int)pid);
}

/* Writing what was left in memory when the program ended may take a while. */
static void session_show_drain(uint64_t done, uint64_t all)
{
	static struct progress progress;
	static bool is_begun;

	if (!is_begun) {
		progress_start(&progress, "the program has ended; writing (Ctrl-C: stop)", all);
		progress.unit = "events";
	}
	is_begun = true;
	if (done)
		progress_update(&progress, done);
	if (done && done >= all)
		progress_full(&progress, NULL);
	if (!all)
		progress_end(&progress);
}

/* Coroutines that existed before have no event until they move: look where they are. */
static void session_look_begin(struct session *s)
{
	if (!s->config.pid || s->no_snapshot || s->config.flight_size)
		return;
	s->config.add_facts = run_waiting_add_facts;
	run_waiting_begin(s->config.pid);
}

static void session_looks_begin(struct session *s)
{
	session_look_begin(s);
	if (!s->awaits || !run_awaits_begin())
		return;
	s->config.connected = run_awaits_connected;
	s->config.await_of = run_awaits_find;
}

static void session_looks_end(void)
{
	run_waiting_end();
	run_awaits_end();
}

/* ---- the run ---------------------------------------------------------------- */

/* There is no run: end what was started for it. */
static void session_abandon(struct session *s)
{
	session_end_page(s, NULL);
	session_end_metrics(s);
	session_end_shipper(s, false);
}

static void session_fill_config(struct session *s)
{
	s->config.tool = "corotracer " COROTRACER_VERSION;
	s->config.lanes.lives = s->config.nr_stations;
	/* Written only on request: see 'corotracer snapshot'. */
	s->config.snapshot_taken = s->config.flight_size ? run_summary_snapshot : NULL;
	s->config.stdout_moved = s->quiet ? NULL : say_stdout_moved;
	s->config.attached = s->quiet || s->json ? NULL : say_attached;
	s->config.draining = s->quiet ? NULL : session_show_drain;
	s->memory.no_inherit = s->config.no_inherit;
}

int session_run(struct session *s)
{
	struct collector_result result;
	struct err err = { 0 };
	int status;

	if (!session_can_check(s))
		return EXIT_USAGE;
	status = session_prepare_shipper(s);
	if (status >= 0)
		return status;
	status = session_start_page(s);
	if (status < 0)
		status = session_start_metrics(s);
	if (status < 0)
		status = session_start_shipper(s);
	if (status >= 0) {
		session_abandon(s);
		return status;
	}
	session_fill_config(s);
	if (!run_memory_begin(&s->memory, s->config.output, s->config.argv, s->json, s->quiet)) {
		session_abandon(s);
		return EXIT_FAILED;
	}
	session_looks_begin(s);
	if (s->memory.wanted)
		s->config.add_facts = run_memory_add_facts;
	if (collector_run(&s->config, &result, &err) < 0) {
		session_looks_end();
		run_memory_end(&s->memory, EXIT_FAILED);
		session_abandon(s);
		if (s->json)
			run_summary_json_error(&err);
		else
			message_error(session_name(s), &err);
		return err.exit_status ? err.exit_status : EXIT_FAILED;
	}
	session_looks_end();
	session_end_shipper(s, true);
	shipping_settle(&s->shipping, result.collected, result.others_collected);
	status = session_exit_status(s, &result);
	/* The reader of stderr may have closed it; the exit status still counts. */
	signal(SIGPIPE, SIG_IGN);
	if (s->json)
		run_summary_json(s, &result, status);
	else
		run_summary_text(s, &result);
	status = run_memory_end(&s->memory, status);
	if (s->check && session_check(s) != EXIT_OK && !status)
		status = EXIT_FAILED;
	if (session_store_findings(s) != EXIT_OK && !status)
		status = EXIT_FAILED;
	session_end_page(s, &result);
	session_end_metrics(s);
	if (result.signal)
		end_by_signal(result.signal);
	return status;
}
