/* SPDX-License-Identifier: MIT */
/* run_collector.c - run a collector and turn its result into an exit status. */
#include "report_job.h"
#include "run_collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <corotracer/version.h>

#include "run_summary.h"

/* Default limit for a thread that waits for space; then it continues without its event. */
#define BLOCK_MS 1000

static const char *name_of(const struct session *s)
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

/* End by the same signal as the program, as a shell expects, without a second core file. */
static void die_as_the_program_did(int sig)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A failure of the tool turns success into failure, and never hides the program's status. */
static int exit_status(const struct session *s, const struct collector_result *r)
{
	if (r->exit_status)
		return r->exit_status;
	if (r->output.code || r->sidecar.code)
		return EXIT_FAILED;
	if (s->fail_on_loss && (r->lost || r->others_lost || r->totals.without_station))
		return EXIT_FAILED;
	return EXIT_OK;
}

/* The gate of --check: every fault that is at least strong, or what --check=LIST names. */
static struct report_job check_job(const struct session *s)
{
	return (struct report_job){
		.command = name_of(s),
		.trace = s->config.output,
		.has_form = true,
		.form = s->json ? REPORT_JSON : REPORT_TEXT,
		.suppressions = s->suppressions,
		.quiet = true,
		.to_stderr = true,
		.least = CONFIDENCE_STRONG,
	};
}

static const char *check_list(const struct session *s)
{
	return s->check_list ? s->check_list : "all";
}

static int check(const struct session *s)
{
	struct report_job job = check_job(s);

	if (!report_job_fail_on(&job, check_list(s)))
		return EXIT_FAILED;
	return report_job_run(&job);
}

static bool can_check(const struct session *s)
{
	struct report_job job = check_job(s);

	if (s->check && (!report_job_fail_on(&job, check_list(s)) || !report_job_check_gate(&job)))
		return false;
	if (!s->check || strcmp(s->config.output, "-") != 0)
		return true;
	say(name_of(s), "--check needs the trace in a file, not on standard output");
	return false;
}

/* ---- the page --------------------------------------------------------------- */

/* The collector's `ready` callback has no context argument. */
static struct serving *waiting;

static void trace_is_there(const char *shm, const char *sock, uint32_t nr_stations)
{
	(void)shm;
	(void)sock;
	(void)nr_stations;
	serving_go(waiting);
}

static bool is_ctf(const struct session *s)
{
	enum trace_format format = s->config.format;

	return (format == TRACE_FORMAT_AUTO ? trace_format_of(s->config.output) : format) ==
	       TRACE_FORMAT_CTF;
}

/*
 * Runs before the program: if the page cannot be served, the program is not started.  Returns -1 to
 * continue, or the exit status.
 */
static int start_page(struct session *s)
{
	struct serving *page = &s->serving;

	if (!s->serve)
		return -1;
	if (!serving_can_follow(name_of(s), s->config.output, is_ctf(s),
				s->config.flight_size != 0))
		return EXIT_USAGE;
	page->command = name_of(s);
	page->trace = s->config.output;
	if (!serving_listen(page, NULL, s->serve_port) || !serving_fork(page))
		return EXIT_FAILED;
	waiting = page;
	s->config.ready = trace_is_there;
	say(name_of(s), "the page is at %s", page->listener.url);
	return -1;
}

/* Stop serving if a signal other than SIGINT (Ctrl-C) ended the run. */
static void end_page(struct session *s, const struct collector_result *r)
{
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

/* ---- the run ---------------------------------------------------------------- */

int session_run(struct session *s)
{
	struct collector_result result;
	struct err err = { 0 };
	int status;

	if (!can_check(s))
		return EXIT_USAGE;
	status = start_page(s);
	if (status >= 0)
		return status;
	s->config.tool = "corotracer " COROTRACER_VERSION;
	s->config.lanes.lives = s->config.nr_stations;
	/* Written only on request: see 'corotracer snapshot'. */
	s->config.snapshot_taken = s->config.flight_size ? run_summary_snapshot : NULL;
	s->config.stdout_moved = s->quiet ? NULL : say_stdout_moved;
	if (collector_run(&s->config, &result, &err) < 0) {
		end_page(s, NULL);
		if (s->json)
			run_summary_json_error(&err);
		else
			say_error(name_of(s), &err);
		return EXIT_FAILED;
	}
	status = exit_status(s, &result);
	/* The reader of stderr may have closed it; the exit status still counts. */
	signal(SIGPIPE, SIG_IGN);
	if (s->json)
		run_summary_json(s, &result, status);
	else
		run_summary_text(s, &result);
	if (s->check && check(s) != EXIT_OK && !status)
		status = EXIT_FAILED;
	end_page(s, &result);
	if (result.signal)
		die_as_the_program_did(result.signal);
	return status;
}
