/* SPDX-License-Identifier: MIT */
/* cmd_load.c - `corotracer load`: put traces and shipped blocks into ClickHouse. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printer.h"
#include "base/text.h"
#include "cmd.h"
#include "filter_opts.h"
#include "json_file.h"
#include "load_source.h"

#define LOAD_FILE_SCHEME "file:"
#define LOAD_NATS_SCHEME "nats://"

volatile sig_atomic_t load_is_ending;

struct load_options {
	struct load_job job;
	const char *service, *build, *version, *host, *region, *keep;
};

static bool load_parse_keep(void *field, const struct opt_use *use)
{
	return fleet_keep_parse(field, use->value) ||
	       opt_invalid(use, "days per table: waits=7,events=2,sums=90,findings=90");
}

static const struct opt options[] = {
	{ 0, "into", "URL", "clickhouse://[USER@]HOST[:PORT][,HOST2...]/DATABASE[?cluster=NAME]",
	  OPT_NAME(struct load_options, job.loader_options.url) },
	{ 0, "source", "URL", "nats://HOST[:PORT] or file:DIR, in place of traces",
	  OPT_NAME(struct load_options, job.source) },
	{ 0, "events", NULL, "store every event, too (table events)",
	  OPT_FLAG(struct load_options, job.loader_options.with_events) },
	{ 0, "state", "DIR", "where to go on after a restart (default: ~/.local/state)",
	  OPT_NAME(struct load_options, job.loader_options.state_dir) },
	{ 0, "keep", "DAYS", "waits=7,events=2,sums=90,findings=90",
	  OPT_CALL(struct load_options, job.loader_options.keep, load_parse_keep),
	  OPT_GIVEN(struct load_options, job.loader_options.has_keep) },
	{ 0, "wait", "SECONDS", "wait for a server that is away (60)",
	  OPT_NUMBER(struct load_options, job.loader_options.retry_s, 0, 1000000) },
	{ 0, "follow", NULL, "go on when everything was loaded",
	  OPT_FLAG(struct load_options, job.follow) },
	FILTER_TIME_OPTS_SHORT(struct load_options, job.filter,
			       "of traces: only from TIME on; --to, --coro, --site, --kind"),
	FILTER_EVENT_OPTS_SHORT(struct load_options, job.filter),
	{ .name = "idle",
	  .arg = "SECONDS",
	  .help = "end when nothing came for this long (0)",
	  .is_rare = true,
	  OPT_NUMBER(struct load_options, job.idle_s, 0, 1000000) },
	{ .name = "gap",
	  .arg = "SECONDS",
	  .help = "file: wait for a missing block (60)",
	  .is_rare = true,
	  OPT_NUMBER(struct load_options, job.gap_s, 0, 1000000) },
	{ .name = "no-findings",
	  .help = "of traces: store waits only, do not report",
	  .is_rare = true,
	  OPT_FLAG(struct load_options, job.no_findings) },
	{ .name = "remove",
	  .help = "file: remove blocks that were loaded",
	  .is_rare = true,
	  OPT_FLAG(struct load_options, job.remove) },
	{ .name = "service",
	  .arg = "NAME",
	  .help = "of a trace (default: its program)",
	  .is_rare = true,
	  OPT_NAME(struct load_options, service) },
	{ .name = "build",
	  .arg = "TEXT",
	  .help = "of a trace (default: build-id of its program)",
	  .is_rare = true,
	  OPT_NAME(struct load_options, build) },
	{ .name = "version-label",
	  .arg = "TEXT",
	  .help = "version of a trace's program",
	  .is_rare = true,
	  OPT_NAME(struct load_options, version) },
	{ .name = "host",
	  .arg = "NAME",
	  .help = "of a trace (default: as recorded)",
	  .is_rare = true,
	  OPT_NAME(struct load_options, host) },
	{ .name = "region",
	  .arg = "TEXT",
	  .help = "of a trace",
	  .is_rare = true,
	  OPT_NAME(struct load_options, region) },
	{ 'q', "quiet", NULL, "print nothing unless something is missing",
	  OPT_FLAG(struct load_options, job.quiet) },
	{ 0, "json", "[=FILE]", "print the summary as one JSON object",
	  OPT_FLAG(struct load_options, job.json) },
	{ .name = NULL },
};

/* ---- the summary ------------------------------------------------------------------ */

static void load_print_summary(const struct load_job *job, const struct loader_totals *t)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stdout), job->json);
	print_count(&p, "runs", "%s runs", t->runs);
	print_count(&p, "complete_runs", " (%s complete)", t->complete_runs);
	print_count(&p, "blocks", ": %s blocks", t->blocks);
	print_count(&p, "transitions", ", %s transitions", t->transitions);
	print_count(&p, "others", ", %s other events", t->others);
	print_count(&p, "waits", ", %s waits", t->waits);
	print_count(&p, "inserts", " in %s inserts\n", t->inserts);
	print_count(&p, "rows", NULL, t->rows);
	print_count(&p, "bytes", NULL, t->bytes);
	print_nonzero(&p, "found", "  %s inserts of an earlier load were found in the store\n",
		      t->found);
	print_nonzero(&p, "duplicates", "  %s blocks had been loaded before\n", t->duplicates);
	print_nonzero(&p, "repeated", "  %s calls were repeated\n", t->repeated);
	print_nonzero(&p, "missing", "  %s blocks are missing\n", t->missing);
	print_nonzero(&p, "damaged", "  %s blocks are damaged\n", t->damaged);
	print_nonzero(&p, "unreadable", "  %s files or messages are not blocks\n", job->unreadable);
	print_nonzero(&p, "waiting", "  %s blocks wait for one in front of them\n", job->waiting);
	print_nonzero(&p, "dropped", "  %s waits have impossible times and were left out\n",
		      t->dropped);
	printer_end(&p);
}

static bool load_is_whole(const struct load_job *job, const struct loader_totals *t)
{
	return !t->missing && !t->damaged && !t->dropped && !job->unreadable && !job->waiting;
}

/* ---- the job ------------------------------------------------------------------------ */

static void load_on_signal(int sig)
{
	load_is_ending = sig;
}

static void load_catch_signals(void)
{
	struct sigaction action = { .sa_handler = load_on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Said once per time that the store is away. */
static void load_on_waiting(void *ctx, const struct err *err)
{
	static char said[sizeof(err->text)];

	(void)ctx;
	if (!strcmp(said, err->text))
		return;
	snprintf(said, sizeof(said), "%s", err->text);
	message_print("load", "%s; trying again", err->text);
}

static int load_from_source(struct load_job *job, struct err *err)
{
	const char *source = job->source;

	if (!strncmp(source, LOAD_FILE_SCHEME, strlen(LOAD_FILE_SCHEME)))
		return load_directory(job, source + strlen(LOAD_FILE_SCHEME), err);
	if (!strncmp(source, LOAD_NATS_SCHEME, strlen(LOAD_NATS_SCHEME)))
		return load_stream(job, source + strlen(LOAD_NATS_SCHEME), err);
	err_set(err, -EINVAL, "cannot load from this source: it is neither nats:// nor file:");
	err_hint(err, "name traces, or --source nats://HOST, or --source file:DIR");
	return err->code;
}

static int load_from_all(struct load_job *job, char **traces, int nr, struct err *err)
{
	int i, rc = 0;

	if (job->source)
		return load_from_source(job, err);
	for (i = 0; i < nr && rc == 0; i++)
		rc = load_trace(job, traces[i], err);
	return rc;
}

static int load_job_run(struct load_job *job, char **traces, int nr)
{
	char name[SHIP_RUN_SIZE];
	struct loader_totals totals;
	struct err err = { 0 };
	int rc;

	/* Without a state directory, the traces name the loader. */
	if (!job->source) {
		load_run_name(&(struct sidecar_run){ .pid = 0 }, traces[0], name);
		job->loader_options.name = name;
	}
	job->loader = loader_open(&job->loader_options, &err);
	if (!job->loader) {
		message_error("load", &err);
		return EXIT_FAILED;
	}
	load_catch_signals();
	rc = load_from_all(job, traces, nr, &err);
	totals = loader_totals_of(job->loader);
	if (rc < 0)
		message_error("load", &err);
	if (job->json || !job->quiet || !load_is_whole(job, &totals))
		load_print_summary(job, &totals);
	loader_close(job->loader);
	return rc < 0 || !load_is_whole(job, &totals) ? EXIT_FAILED : EXIT_OK;
}

static bool load_set_label(char to[SHIP_LABEL_SIZE], const char *name, const char *text)
{
	if (text && strlen(text) >= SHIP_LABEL_SIZE) {
		message_print("load", "invalid value for %s: longer than %d bytes", name,
			      SHIP_LABEL_SIZE - 1);
		return false;
	}
	snprintf(to, SHIP_LABEL_SIZE, "%s", text ? text : "");
	return true;
}

static bool load_set_labels(struct load_options *o)
{
	struct ship_labels *to = &o->job.given;

	return load_set_label(to->service, "--service", o->service) &&
	       load_set_label(to->build, "--build", o->build) &&
	       load_set_label(to->version, "--version-label", o->version) &&
	       load_set_label(to->host, "--host", o->host) &&
	       load_set_label(to->region, "--region", o->region);
}

static int run_load(int argc, char **argv)
{
	struct load_options o = { .job = { .loader_options = { .keep = FLEET_KEEP_DEFAULT,
							       .retry_s = 60,
							       .expires = true,
							       .waiting = load_on_waiting },
					   .gap_s = 60 } };
	int first, status = opts_parse(&command_load, &o, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (!o.job.loader_options.url)
		return opts_missing(&command_load, "--into URL");
	if (o.job.source && first < argc)
		return opts_unexpected(&command_load, argv[first]);
	if (!o.job.source && first == argc)
		return opts_missing(&command_load, "TRACE or --source URL");
	if (o.job.source && trace_filter_is_set(&o.job.filter)) {
		message_print("load", "--from, --to, --coro, --site and --kind are for traces, not "
				      "for --source");
		return EXIT_USAGE;
	}
	if (!load_set_labels(&o))
		return EXIT_USAGE;
	/* A whole trace is loaded from its beginning, and compared with the store. */
	if (o.job.source && !o.job.loader_options.state_dir)
		o.job.loader_options.state_dir = load_state_dir("load");
	return load_job_run(&o.job, argv + first, argc - first);
}

const struct command command_load = {
	.name = "load",
	.instrument = "many machines",
	.args = "--into URL (--source URL | TRACE...)",
	.summary = "put traces and shipped blocks into ClickHouse",
	.details =
		"One row per wait, sums of 10 s, sites, and an account of each run; the tables are "
		"created.\nWhat was loaded before is not loaded twice.  The password is that of "
		"CLICKHOUSE_PASSWORD.\n"
		"Exit status: 0 done; 1 failed, or blocks are missing; 2 usage.\n",
	.opts = options,
	.run = run_load,
};
