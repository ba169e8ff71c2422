/* SPDX-License-Identifier: MIT */
/* export_frames.c - a recording of frames for ui.perfetto.dev. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export_job.h"
#include "frames/perfetto.h"

#define SUFFIX ".perfetto.json"

bool export_is_frames(const char *path)
{
	return strcmp(path, "-") != 0 && recfile_sniff(path);
}

static void tell(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-12s %s\n", what, text_count(text, nr));
}

static int write_to(const struct export_job *job, const char *output)
{
	struct perfetto_result r;
	struct err err = { 0 };

	if (perfetto_export(job->options.trace, output, &r, &err) < 0) {
		say_error("export", &err);
		return EXIT_FAILED;
	}
	if (job->options.quiet && !r.without_time && !r.stats.torn && !r.stats.foreign)
		return EXIT_OK;
	fprintf(stderr, "%s: for https://ui.perfetto.dev, or chrome://tracing\n", output);
	tell("slices", r.slices);
	tell("instants", r.instants);
	tell("counters", r.counters);
	tell("without time", r.without_time);
	tell("torn", r.stats.torn);
	tell("foreign", r.stats.foreign);
	tell("lost", r.stats.ended ? r.stats.end.c : r.stats.gaps);
	return EXIT_OK;
}

int export_frames(const struct export_job *job)
{
	const char *in = job->options.trace;
	char *output = NULL;
	int status;

	if (strcmp(in, "-") != 0 && !recfile_sniff(in)) {
		say("export", "'%s' is no recording of frames", in);
		fputs("hint: a file of 'corotracer attach -o' goes here\n", stderr);
		return EXIT_FAILED;
	}
	if (job->options.output)
		return write_to(job, job->options.output);
	if (!strcmp(in, "-"))
		return write_to(job, "-");
	if (asprintf(&output, "%s%s", in, SUFFIX) < 0) {
		say("export", "no memory for a file name");
		return EXIT_FAILED;
	}
	status = write_to(job, output);
	free(output);
	return status;
}
