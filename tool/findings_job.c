/* SPDX-License-Identifier: MIT */
/* findings_job.c - report on a trace and store the findings: for `load` and `fleet`. */
#include "findings_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/module_table.h"
#include "cmd.h"
#include "fleet/fleet_findings.h"
#include "report_parts.h"
#include "ship/ship_state.h"
#include "trace_foreach.h"

struct findings_reading {
	const struct findings_job *job;
	struct report_parts *parts;
	struct symbols *symbols;
};

static const struct findings_job *findings_current; /* of the process that runs it */

int findings_job_labels(struct findings_job *job, struct err *err)
{
	struct ship_state *state = calloc(1, sizeof(*state));
	char *path = ship_state_path(job->trace);
	int rc = -ENOMEM;

	if (state && path)
		rc = ship_state_read(state, path, err);
	else
		err_set(err, rc, "no memory for '%s'", job->trace);
	if (rc > 0 && state) {
		job->labels = state->labels;
		rc = 0;
	} else if (rc == 0) {
		rc = err_set(err, -ENOENT, "cannot add the findings of '%s': it was not shipped",
			     job->trace);
		err_hint(err, "'corotracer load --into URL TRACE' stores waits and findings");
	}
	free(path);
	free(state);
	return rc;
}

static int findings_item(void *arg, const struct trace_item *item, struct err *err)
{
	struct findings_reading *to = arg;
	int rc = item->type == TRACE_ITEM_MODULE ? symbols_add_told(to->symbols, &item->module)
						 : report_parts_add(to->parts, item);

	return rc < 0 ? err_set(err, -ENOMEM, "no memory for the coroutines of '%s'",
				to->job->trace)
		      : 0;
}

static int findings_send(const struct findings_job *job, const struct report_parts *parts,
			 const struct trace_stats *stats, struct symbols *symbols, uint64_t *nr,
			 struct err *err)
{
	struct clickhouse *server = clickhouse_open(job->url, err);
	size_t i;
	int rc = server ? 0 : err->code;

	for (i = 0; !rc && i < parts->nr; i++) {
		struct report r = {
			.trace = job->trace,
			.analysis = parts->list[i].analysis,
			.stats = parts->is_merged ? &parts->list[i].stats : stats,
			.symbols = symbols,
			.least = CONFIDENCE_SUSPECT,
		};

		report_prepare(&r);
		rc = fleet_findings_store(server, &job->labels, &r, nr, err);
	}
	clickhouse_close(server);
	return rc;
}

static int findings_report(struct findings_reading *to, uint64_t *nr, struct err *err)
{
	const struct findings_job *job = to->job;
	struct trace_reader *reader = trace_reader_open(job->trace, err);
	int rc;

	if (!reader)
		return err->code;
	rc = read_trace(job->trace, reader, findings_item, to, err);
	if (rc >= 0 && report_parts_finish(to->parts, trace_reader_stats(reader), false) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the coroutines of '%s'", job->trace);
	if (rc >= 0)
		rc = findings_send(job, to->parts, trace_reader_stats(reader), to->symbols, nr,
				   err);
	trace_reader_close(reader);
	return rc;
}

static int findings_run(int argc, char **argv)
{
	const struct findings_job *job = findings_current;
	struct analysis_options options = { 0 };
	struct report_parts parts = { .list = NULL };
	struct symbols *symbols = symbols_new();
	struct findings_reading to = { job, &parts, symbols };
	struct err err = { 0 };
	uint64_t nr = 0;
	int rc = symbols ? report_parts_open(&parts, job->trace, &options, symbols, &err)
			 : err_set(&err, -ENOMEM, "no memory");

	(void)argc;
	(void)argv;
	if (!rc)
		rc = findings_report(&to, &nr, &err);
	if (rc < 0)
		message_error(job->command, &err);
	else if (!job->quiet)
		printf("%s: %" PRIu64 " findings stored\n", job->trace, nr);
	report_parts_release(&parts);
	symbols_free(symbols);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

int findings_job_start(const struct findings_job *job)
{
	const struct command apart = { .name = job->command,
				       .reads_debug_info = true,
				       .run = findings_run };
	char *argv[] = { (char *)job->command, NULL };

	findings_current = job;
	return command_start(&apart, 1, argv);
}

int findings_job_of_run(const char *command, const char *trace, const char *receiver)
{
	struct findings_job job = { .command = command, .trace = trace, .quiet = true };
	struct err err = { 0 };

	job.url = clickhouse_url_is(receiver) ? receiver : getenv("COROTRACER_FLEET");
	if (!job.url || !*job.url)
		return EXIT_OK;
	if (findings_job_labels(&job, &err) == 0)
		return findings_job_start(&job);
	message_error(command, &err);
	return EXIT_FAILED;
}
