/* SPDX-License-Identifier: MIT */
/* why_sample_output.c - the profile of `corotracer why --sample` as text, page or file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "cmd.h"
#include "json_file.h"
#include "page/page.h"
#include "why_page.h"
#include "why_sample.h"
#include "base/io.h"

#define STACKS_SHOWN 20

int why_sample_check(const struct why_sample_options *o)
{
	if (!o->format && o->output) {
		message_print("why", "-o needs --format");
		return EXIT_USAGE;
	}
	if (o->format && !o->output && (o->json || (o->html && !strcmp(o->html, "-")))) {
		message_print("why", "cannot write --format and %s both to standard output",
			      o->json ? "--json" : "--html");
		fputs("hint: give -o a file\n", stderr);
		return EXIT_USAGE;
	}
	if (o->format == WHY_FORMAT_PPROF && !o->output && isatty(STDOUT_FILENO)) {
		message_print("why", "refusing to write a binary profile to a terminal");
		fputs("hint: -o FILE\n", stderr);
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

/* ---- files ------------------------------------------------------------------------- */

static int sample_put_pprof(const struct profile_run *run, struct outfile *file, struct err *err)
{
	struct proto proto = { 0 };
	struct bytes in, out = { 0 };
	int rc;

	profile_write_pprof(run, &proto);
	in = (struct bytes){ .data = proto.buf, .size = proto.used };
	rc = proto.error ? err_set(err, proto.error, "no memory for the profile")
			 : page_gzip(&in, &out, err);
	if (!rc)
		outfile_put(file, out.data, out.size);
	bytes_release(&out);
	proto_release(&proto);
	return rc;
}

static int sample_put_text(const struct profile_run *run, enum why_format format,
			   struct outfile *file, struct err *err)
{
	FILE *stream = outfile_stream(file, err);
	int rc;

	if (!stream)
		return err->code;
	rc = format == WHY_FORMAT_FOLDED ? profile_write_folded(run, stream)
					 : profile_write_speedscope(run, stream);
	outfile_end_stream(file, stream);
	return rc == -ENOMEM ? err_set(err, rc, "no memory for the profile") : 0;
}

static int sample_write_file(const struct profile_run *run, const struct why_sample_options *o,
			     struct err *err)
{
	struct outfile file;
	int rc = outfile_open(&file, o->output ? o->output : "-", err);

	if (rc < 0)
		return rc;
	rc = o->format == WHY_FORMAT_PPROF ? sample_put_pprof(run, &file, err)
					   : sample_put_text(run, o->format, &file, err);
	if (!rc)
		rc = outfile_commit(&file, err);
	outfile_close(&file);
	return rc;
}

static int sample_write_page(const struct profile_run *run, const char *path, struct err *err)
{
	char *json = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&json, &size);
	struct printer p;
	int rc = memory ? 0 : -ENOMEM;

	if (memory) {
		printer_begin(&p, memory, true);
		profile_print(run, &p, 0);
		rc = printer_end(&p);
		rc = io_end_memory(memory, &json) < 0 && !rc ? -ENOMEM : rc;
	}
	rc = rc ? err_set(err, rc, "no memory for the page")
		: page_save_json(path, WHY_PAGE, json, size, err);
	free(json);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------ */

static int sample_print(const struct profile_run *run, const struct why_sample_options *o,
			struct err *err)
{
	struct printer p;
	int rc;

	printer_begin(&p, json_file_stream(stdout), o->json);
	profile_print(run, &p, o->all ? 0 : STACKS_SHOWN);
	rc = printer_end(&p);
	return rc ? err_set(err, rc, "cannot write to standard output: %s", strerror(-rc)) : 0;
}

/* One line for a file; what the looks have missed is not left out. */
static void sample_report(const struct profile_run *run, const char *path)
{
	const struct wait_profile *p = run->profile;
	bool is_file = strcmp(path, "-") != 0;

	message_print(
		"why",
		"%llu looks, %llu left out as too late, %llu failed; %zu stacks; wrote %s%s%s",
		(unsigned long long)p->looks, (unsigned long long)p->losses.late,
		(unsigned long long)p->losses.failed, p->nr_stacks, is_file ? "'" : "",
		is_file ? path : "standard output", is_file ? "'" : "");
}

int why_sample_output(const struct profile_run *run, const struct why_sample_options *o,
		      struct err *err)
{
	int rc = o->format ? sample_write_file(run, o, err) : 0;

	if (!rc && o->format)
		sample_report(run, o->output ? o->output : "-");
	if (!rc && o->html) {
		rc = sample_write_page(run, o->html, err);
		if (!rc)
			sample_report(run, o->html);
	}
	if (!rc && (o->json || (!o->format && !o->html)))
		rc = sample_print(run, o, err);
	return rc;
}
