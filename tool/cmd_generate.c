/* SPDX-License-Identifier: MIT */
/*
 * cmd_generate.c - `corotracer generate`: generate C or C++ from a spec.
 *
 * Both files are written under temporary names first (base/output_file.h): an error in the spec or
 * a full disk leaves earlier files unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corotracer/version.h>

#include "base/io.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cmd.h"
#include "frames/spec/frames_abi.h"
#include "frames/spec/emit.h"
#include "frames/spec/frame_layout.h"
#include "frames/spec/spec.h"
#include "frames_show.h"
#include "json_file.h"

/* The command line. */
struct generate_options {
	const char *spec;
	const char *prefix, *folder;
	enum desc_dialect dialect;
	bool json, dry_run;
	/* --tag and --option in the order given, as lines of a spec. */
	char **overrides;
	size_t nr_overrides;
	struct desc_tag *tags;
	size_t nr_tags;
};

/* ---- the spec ------------------------------------------------------------- */

/* Read the whole file, or standard input. */
static char *generate_read_spec(const char *path, size_t *size, struct err *err)
{
	int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	char *text = NULL;
	ssize_t got = 1;

	if (fd < 0) {
		err_errno(err, "cannot open '%s'", path);
		return NULL;
	}
	/* One byte more than the limit, to detect a spec that is too long. */
	text = malloc(SPEC_SIZE_MAX + 1);
	if (!text) {
		err_set(err, -ENOMEM, "no memory for '%s'", path);
		got = 0;
	}
	for (*size = 0; text && got > 0 && *size <= SPEC_SIZE_MAX; *size += (size_t)got) {
		got = io_read(fd, text + *size, SPEC_SIZE_MAX + 1 - *size);
		if (got <= 0)
			break;
	}
	close(fd);
	if (got < 0) {
		errno = (int)-got;
		err_errno(err, "cannot read '%s'", path);
		free(text);
		return NULL;
	}
	return text;
}

/* Print the error as compilers do: location, line, caret. */
static void say_where(const char *file, const struct spec_error *e)
{
	unsigned i;

	text_put(stderr, file);
	fprintf(stderr, ":%u:%u: ", e->line, e->column);
	text_put(stderr, e->text);
	fputs("\n  ", stderr);
	/* Keep tabs, so that the caret is below its column. */
	for (i = 0; e->source[i]; i++)
		fputc(e->source[i] == '\t' || (unsigned char)e->source[i] >= ' ' ? e->source[i]
										 : '?',
		      stderr);
	fputs("\n  ", stderr);
	for (i = 0; i < e->caret; i++) {
		/* UTF-8 continuation bytes occupy no column. */
		if (((unsigned char)e->source[i] & 0xc0) != 0x80)
			fputc(e->source[i] == '\t' ? '\t' : ' ', stderr);
	}
	fputs("^\n", stderr);
	if (e->hint[0])
		fprintf(stderr, "hint: %s\n", e->hint);
}

static bool generate_no_memory(void)
{
	message_print("generate", "no memory");
	return false;
}

static bool generate_apply(const struct generate_options *req, struct desc *d)
{
	struct spec_error error;
	size_t i;
	int rc;

	for (i = 0; i < req->nr_overrides; i++) {
		rc = spec_override(d, req->overrides[i], &error);
		if (rc == -ENOMEM)
			return generate_no_memory();
		if (rc) {
			say_where("--option", &error);
			return false;
		}
	}
	for (i = 0; i < req->nr_tags; i++) {
		if (spec_add_tag(d, req->tags[i].key, req->tags[i].value))
			return generate_no_memory();
	}
	d->dialect = req->dialect;
	d->generator = strdup("corotracer " COROTRACER_VERSION);
	if (!d->generator)
		return generate_no_memory();
	if (d->dialect == DESC_PPT) {
		free(d->abi);
		d->abi = strdup(PPT_ABI_OLD);
		if (!d->abi)
			return generate_no_memory();
	}
	if (d->resize && d->dialect == DESC_PPT) {
		message_print("generate", "the existing tool's dialect knows no resizing");
		fprintf(stderr, "hint: --dialect seed, or option buffer resize off\n");
		return false;
	}
	return true;
}

/* Parse req->spec and compute its layout; false after an error message. */
static bool generate_parse_spec(const struct generate_options *req, struct desc *d)
{
	struct spec_error error;
	struct err err = { 0 };
	size_t size;
	char *text = generate_read_spec(req->spec, &size, &err);
	int rc;

	if (!text) {
		message_error("generate", &err);
		return false;
	}
	rc = spec_parse(d, text, size, &error);
	free(text);
	if (rc == -ENOMEM)
		return generate_no_memory();
	if (rc) {
		say_where(req->spec, &error);
		return false;
	}
	if (generate_apply(req, d)) {
		if (layout_make(d, &err) == 0)
			return true;
		message_error("generate", &err);
	}
	desc_release(d);
	return false;
}

/* ---- the files -------------------------------------------------------------- */

static int write_one(const struct emit *e, int (*emit)(const struct emit *, FILE *),
		     struct outfile *f, const char *path, struct err *err)
{
	FILE *stream;
	int rc;

	if (outfile_open(f, path, err) < 0)
		return err->code;
	stream = outfile_stream(f, err);
	if (!stream)
		return err->code;
	rc = emit(e, stream);
	outfile_end_stream(f, stream);
	if (rc && !f->error)
		return err_set(err, rc, "the built-in templates are corrupt");
	return outfile_settle(f, err);
}

struct generate_outputs {
	char header[4096], source[4096];
	char name[512]; /* without directory and suffix */
};

static bool name_files(const struct generate_options *req, const struct desc *d,
		       struct generate_outputs *o)
{
	const char *slash = *req->folder ? "/" : "";
	int n = snprintf(o->name, sizeof(o->name), "%s%s", req->prefix, d->name);
	int h = snprintf(o->header, sizeof(o->header), "%s%s%s%s", req->folder, slash, o->name,
			 emit_header_suffix(d));
	int s = snprintf(o->source, sizeof(o->source), "%s%s%s%s", req->folder, slash, o->name,
			 emit_source_suffix(d));

	if (n < (int)sizeof(o->name) && h < (int)sizeof(o->header) && s < (int)sizeof(o->source))
		return true;
	message_print("generate", "the names of the files would be too long");
	return false;
}

static bool write_files(const struct generate_options *req, const struct desc *d,
			const struct generate_outputs *o)
{
	const struct emit e = { .d = d, .file = o->name, .spec = req->spec };
	struct outfile header = { 0 }, source = { 0 };
	struct err err = { 0 };
	bool good;

	/* Commit both or neither: one new file would be compiled with an old one. */
	good = write_one(&e, emit_header, &header, o->header, &err) == 0 &&
	       write_one(&e, emit_source, &source, o->source, &err) == 0 &&
	       outfile_commit(&header, &err) == 0 && outfile_commit(&source, &err) == 0;
	if (!good)
		message_error("generate", &err);
	outfile_close(&header);
	outfile_close(&source);
	return good;
}

/* ---- output ------------------------------------------------------------------- */

static int generate_print_json(const struct generate_options *req, const struct desc *d,
			       const struct generate_outputs *o)
{
	struct json_writer w;

	jw_init_file(&w, json_file_stream(stdout));
	jw_object_begin(&w);
	jw_key(&w, "files");
	jw_array_begin(&w);
	if (!req->dry_run) {
		jw_string(&w, o->header);
		jw_string(&w, o->source);
	}
	jw_array_end(&w);
	jw_key(&w, "description");
	desc_to_json(d, d->dialect, &w);
	jw_object_end(&w);
	jw_newline(&w);
	return jw_release(&w);
}

static int generate_print_text(const struct generate_options *req, const struct desc *d,
			       const struct generate_outputs *o)
{
	show_layout(stdout, d);
	if (fflush(stdout) || ferror(stdout))
		return -EIO;
	if (!req->dry_run)
		message_print("generate", "wrote %s and %s", o->header, o->source);
	return 0;
}

static int generate_files(const struct generate_options *req)
{
	struct generate_outputs o;
	struct desc d;
	int status = EXIT_FAILED;

	if (!generate_parse_spec(req, &d))
		return EXIT_FAILED;
	if (name_files(req, &d, &o) && (req->dry_run || write_files(req, &d, &o))) {
		if ((req->json ? generate_print_json(req, &d, &o)
			       : generate_print_text(req, &d, &o)) == 0)
			status = EXIT_OK;
		else
			message_print("generate", "cannot write to standard output");
	}
	desc_release(&d);
	return status;
}

/* ---- the command line --------------------------------------------------------- */

/* "--tag K V" as in the existing tool, or "--tag K=V". */
static bool generate_parse_tag(void *options, const struct opt_use *use)
{
	struct generate_options *req = options;
	const char *key = use->value, *equal = strchr(key, '=');
	const char *value = equal ? equal + 1 : opt_next_word(use);
	struct desc_tag *tags = reallocarray(req->tags, req->nr_tags + 1, sizeof(*tags));

	if (!tags)
		return generate_no_memory();
	req->tags = tags;
	if (!value) {
		message_print("generate", "--tag needs a key and a value");
		fprintf(stderr, "hint: --tag KEY VALUE, or --tag KEY=VALUE\n");
		return false;
	}
	tags += req->nr_tags++;
	tags->key = equal ? strndup(key, (size_t)(equal - key)) : strdup(key);
	tags->value = strdup(value);
	return (tags->key && tags->value) || generate_no_memory();
}

/* Number of words that an option needs, from its first words. */
static size_t words_wanted(const char *words)
{
	if (!strncmp(words, "runtime", 7) || !strncmp(words, "tag", 3) ||
	    !strncmp(words, "buffer", 6) || !strncmp(words, "time timespec", 13))
		return 3;
	return 2;
}

static size_t words_in(const char *words)
{
	size_t nr = 0, i;

	for (i = 0; words[i]; i++)
		nr += words[i] != ' ' && (!i || words[i - 1] == ' ');
	return nr;
}

/* "--option debug true", in one argument or in one argument per word. */
static bool generate_parse_override(void *options, const struct opt_use *use)
{
	struct generate_options *req = options;
	char **grown = reallocarray(req->overrides, req->nr_overrides + 1, sizeof(*grown));
	char *words = strdup(use->value), *longer;

	if (grown)
		req->overrides = grown;
	if (!grown || !words) {
		free(words);
		return generate_no_memory();
	}
	while (words_in(words) < words_wanted(words) && opt_has_spare_word(use)) {
		if (asprintf(&longer, "%s %s", words, opt_next_word(use)) < 0) {
			free(words);
			return generate_no_memory();
		}
		free(words);
		words = longer;
	}
	req->overrides[req->nr_overrides++] = words;
	return true;
}

/* The prefix is part of a file name, and must not contain a path. */
static bool generate_parse_prefix(void *field, const struct opt_use *use)
{
	*(const char **)field = use->value;
	if (!strchr(use->value, '/') && !strpbrk(use->value, "\n\r\"\\*"))
		return true;
	message_print("generate", "'%s' cannot begin a file's name", use->value);
	fprintf(stderr, "hint: --output DIR chooses the folder\n");
	return false;
}

static const struct opt options[] = {
	{ 'o', "output", "DIR", "output directory (default: the current directory)",
	  OPT_TEXT(struct generate_options, folder) },
	{ 0, "prefix", "P", "prefix of the file names (default ppt-)",
	  OPT_CALL(struct generate_options, prefix, generate_parse_prefix) },
	{ 0, "tag", "KEY VALUE", "add a tag", .type = OPT_TYPE_CALL, .parse = generate_parse_tag },
	{ 0, "option", "WORDS", "override an option of the spec", .type = OPT_TYPE_CALL,
	  .parse = generate_parse_override },
	{ 0, "dialect", "D", "seed (default), or ppt for programs of the existing tool",
	  OPT_CHOICE(struct generate_options, dialect, "seed or ppt", DESC_SEED) },
	{ 'n', "dry-run", NULL, "check the spec and print the layout only",
	  OPT_FLAG(struct generate_options, dry_run) },
	{ 0, "json", "[=FILE]", "print files and layout as one JSON object",
	  OPT_FLAG(struct generate_options, json) },
	{ .name = NULL },
};

static void generate_release(struct generate_options *req)
{
	size_t i;

	for (i = 0; i < req->nr_overrides; i++)
		free(req->overrides[i]);
	free(req->overrides);
	for (i = 0; i < req->nr_tags; i++) {
		free(req->tags[i].key);
		free(req->tags[i].value);
	}
	free(req->tags);
}

static int run_generate(int argc, char **argv)
{
	struct generate_options req = { .prefix = "ppt-", .folder = "" };
	int first, status = opts_parse(&command_generate, &req, argc, argv, &first);

	if (status == OPTS_PARSED) {
		req.spec = opts_operand(&command_generate, argc, argv, first);
		status = req.spec ? generate_files(&req) : EXIT_USAGE;
	}
	generate_release(&req);
	return status;
}

const struct command command_generate = {
	.name = "generate",
	.instrument = "frames",
	.args = "[options] SPEC",
	.summary = "generate C or C++ from a spec, and print the layout of its frames",
	.details = "SPEC declares the frames that a program saves ('-': standard input).  The "
		   "output is\n"
		   "ppt-NAME.h and .c, or .hh and .cc: two files that need nothing but libc.\n"
		   "\n"
		   "Exit status: 0 done; 1 an error in the spec, with line and column; 2 usage.\n",
	.opts = options,
	.run = run_generate,
};
