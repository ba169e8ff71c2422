/* SPDX-License-Identifier: MIT */
/* cmd_mem_convert.c - corotracer mem convert: convert a memory trace to the other format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/progress.h"
#include "base/text.h"
#include "mem.h"
#include "memory/format/mem_writer.h"

struct mem_convert_options {
	const char *path, *output;
	struct mem_writer_config config;
	bool format_given, quiet;
};

static const struct opt options[] = {
	{ 'o', "output", "FILE", "new trace; - is standard output",
	  OPT_TEXT(struct mem_convert_options, output) },
	{ 0, "format", "FORMAT", "raw, raw.zst or container (default: the other one)",
	  OPT_CHOICE(struct mem_convert_options, config.format, "container, raw or raw.zst",
		     MEM_FORMAT_CONTAINER),
	  OPT_GIVEN(struct mem_convert_options, format_given) },
	{ 0, "level", "N", "level of zstd, 0 (none) to 19 (default 3)",
	  OPT_NUMBER(struct mem_convert_options, config.level, 0, 19) },
	{ 'q', "quiet", NULL, "do not list what the raw format cannot store",
	  OPT_FLAG(struct mem_convert_options, quiet) },
	{ .name = NULL },
};

/* Opening the output would truncate the input before it is read. */
static bool convert_is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino && S_ISREG(sa.st_mode);
}

static void convert_tell_count(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-34s %s\n", what, text_count(text, nr));
}

static void convert_tell_missing(const struct mem_convert_options *q,
				 const struct sidecar_missing *m)
{
	if (q->quiet ||
	    !(m->pcs | m->attrs | m->marks | m->gaps | m->coroutines | m->allocations | m->calls))
		return;
	fputs("raw has no place for these:\n", stderr);
	convert_tell_count("code addresses of accesses", m->pcs);
	convert_tell_count("attributes of accesses", m->attrs);
	convert_tell_count("marks", m->marks);
	convert_tell_count("changes of the running coroutine", m->coroutines);
	convert_tell_count("allocations", m->allocations);
	convert_tell_count("function entries", m->calls);
	convert_tell_count("gaps", m->gaps);
	convert_tell_count("  lost in them", m->lost);
	convert_tell_count("  left out on purpose in them", m->left_out);
}

static int convert_records(struct mem_reader *r, struct mem_writer *w)
{
	const struct mem_record *rec;
	struct progress progress;
	uint64_t n = 0;
	int ret = 0;

	progress_start(&progress, "converting", mem_reader_size(r));
	while (ret == 0 && (rec = mem_reader_next(r))) {
		ret = mem_writer_put(w, rec);
		if ((++n & 0xffff) == 0)
			progress_update(&progress, mem_reader_done(r));
	}
	progress_full(&progress, NULL);
	progress_end(&progress);
	return ret;
}

static int convert_trace(struct mem_convert_options *q)
{
	struct mem_reader *r = mem_open(&command_mem_convert, q->path);
	struct sidecar_missing missing;
	struct err err = { 0 };
	struct mem_writer *w;
	int status;

	if (!r)
		return EXIT_FAILED;
	if (!q->format_given)
		q->config.format = mem_reader_format(r) == MEM_FORMAT_CONTAINER
					   ? MEM_FORMAT_RAW
					   : MEM_FORMAT_CONTAINER;
	w = mem_writer_open(q->output, &q->config, mem_reader_facts(r), &err);
	if (!w) {
		message_error("mem convert", &err);
		mem_reader_close(r);
		return EXIT_FAILED;
	}
	convert_records(r, w);
	missing = *mem_writer_missing(w);
	status = mem_writer_close(w, &err) < 0 ? EXIT_FAILED : EXIT_OK;
	if (status != EXIT_OK)
		message_error("mem convert", &err);
	else
		convert_tell_missing(q, &missing);
	if (mem_finish(&command_mem_convert, r) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

static int run_mem_convert(int argc, char **argv)
{
	struct mem_convert_options q = { .config.level = 3 };
	int first, status = opts_parse(&command_mem_convert, &q, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	q.path = opts_operand(&command_mem_convert, argc, argv, first);
	if (!q.path)
		return EXIT_USAGE;
	if (!q.output)
		return opts_missing(&command_mem_convert, "-o FILE");
	if (convert_is_same_file(q.path, q.output)) {
		message_print("mem convert", "'%s' is the trace itself", q.output);
		fputs("hint: give the new one another name\n", stderr);
		return EXIT_USAGE;
	}
	return convert_trace(&q);
}

const struct command command_mem_convert = {
	.name = "mem convert",
	.instrument = "memory",
	.args = "[OPTIONS] -o FILE TRACE",
	.summary = "convert a memory trace to raw Cacheray records, or back",
	.details =
		"Threads, modules and losses go to FILE.meta next to raw records; the raw format\n"
		"cannot store code addresses, and the command says so.  A raw trace converted to "
		"a\n"
		"container and back has the same bytes.\n",
	.opts = options,
	.run = run_mem_convert,
};
