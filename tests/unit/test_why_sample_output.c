/* SPDX-License-Identifier: MIT */
/*
 * test_why_sample_output.c - where the profile of `why --sample` goes, and what is said of it.
 *
 * The formats themselves are the test's: unit/wait_profile tests them.
 */
#include "why_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured.h"
#include "cmd.h"
#include "count_open.h"
#include "json_file.h"
#include "page/page.h"
#include "why_page.h"

static int folded, speedscope, gzips, saves, proto_error;
static size_t nr_shown;
static char saved[256];

int profile_write_folded(const struct profile_run *run, FILE *out)
{
	(void)run;
	fputs("folded\n", out);
	return folded;
}

int profile_write_speedscope(const struct profile_run *run, FILE *out)
{
	(void)run;
	fputs("speedscope\n", out);
	return speedscope;
}

void profile_write_pprof(const struct profile_run *run, struct proto *out)
{
	(void)run;
	if (!proto_error)
		proto_string(out, 1, "pprof", 5);
	out->error = proto_error;
}

void profile_print(const struct profile_run *run, struct printer *p, size_t most)
{
	(void)run;
	nr_shown = most;
	print_count(p, "looks", "%s looks\n", 7);
}

int page_gzip(const struct bytes *in, struct bytes *out, struct err *err)
{
	bytes_add(out, "packed:", 7);
	bytes_add(out, in->data, in->size);
	return gzips ? err_set(err, gzips, "cannot pack") : 0;
}

int page_save_json(const char *to, const char *name, const char *json, size_t size, struct err *err)
{
	snprintf(saved, sizeof(saved), "%s %s %.*s", to, name, (int)size, json);
	return saves ? err_set(err, saves, "cannot save") : 0;
}

FILE *json_file_stream(FILE *usual)
{
	return usual;
}

/* ---- before the looks ------------------------------------------------------------------- */

static const char *check(struct why_sample_options o, int status)
{
	captured_begin(stderr);
	CHECK_EQ(why_sample_check(&o), status);
	return captured_end();
}

static void outputs_that_exclude_each_other_are_refused(void)
{
	CHECK_STR(check((struct why_sample_options){ 0 }, EXIT_OK), "");
	CHECK_STR(check((struct why_sample_options){ .json = true, .html = "-" }, EXIT_OK), "");
	CHECK_STR(check((struct why_sample_options){ .output = "x" }, EXIT_USAGE),
		  "corotracer why: -o needs --format\n");
	CHECK_STR(check((struct why_sample_options){ .output = "x", .format = 1 }, EXIT_OK), "");
	CHECK_STR(check((struct why_sample_options){ .format = 1, .json = true }, EXIT_USAGE),
		  "corotracer why: cannot write --format and --json both to standard output\n"
		  "hint: give -o a file\n");
	CHECK_STR(check((struct why_sample_options){ .format = 1, .html = "-" }, EXIT_USAGE),
		  "corotracer why: cannot write --format and --html both to standard output\n"
		  "hint: give -o a file\n");
	CHECK_STR(check((struct why_sample_options){ .format = 1, .html = "file" }, EXIT_OK), "");
	CHECK_STR(check((struct why_sample_options){ .format = 1, .json = true, .output = "x" },
			EXIT_OK),
		  "");
}

/* On a terminal, which is the standard output. */
static void a_terminal_gets_no_binary_profile(void)
{
	struct why_sample_options o = { .format = WHY_FORMAT_PPROF };
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), before = dup(1), other;

	if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
		return; /* there is none */
	other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (other < 0)
		return;
	fflush(stdout);
	CHECK(dup2(other, 1) >= 0);
	captured_begin(stderr);
	CHECK_EQ(why_sample_check(&o), EXIT_USAGE);
	CHECK_STR(captured_end(), "corotracer why: refusing to write a binary profile to a terminal"
				  "\nhint: -o FILE\n");
	o.output = "x";
	CHECK_EQ(why_sample_check(&o), EXIT_OK);
	o = (struct why_sample_options){ .format = WHY_FORMAT_FOLDED };
	CHECK_EQ(why_sample_check(&o), EXIT_OK);
	CHECK(dup2(before, 1) >= 0);
	close(before);
	close(other);
	close(terminal);
}

/* ---- after them --------------------------------------------------------------------------- */

static char path[64];
static struct wait_profile profile = { .looks = 12, .nr_stacks = 3 };
static struct profile_run run = { .profile = &profile };

/* What went to @stream. */
static const char *write_out(struct why_sample_options o, FILE *stream, int rc, const char *text)
{
	unsigned fds;
	struct err err = { 0 };
	const char *said;

	captured_begin(stream);
	fds = count_open();
	CHECK_EQ(why_sample_output(&run, &o, &err), rc);
	CHECK_STR(err.text, text);
	fflush(stream);
	CHECK_EQ(count_open(), fds);
	said = captured_end();
	return said;
}

static const char *file_text(void)
{
	static char text[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

	text[size > 0 ? size : 0] = '\0';
	if (fd >= 0)
		close(fd);
	unlink(path);
	return text;
}

static void formats_go_to_a_file_or_to_standard_output(void)
{
	struct why_sample_options o = { .format = WHY_FORMAT_FOLDED, .output = path };
	char wanted[256];

	profile.losses.late = 4;
	profile.losses.failed = 5;
	snprintf(wanted, sizeof(wanted),
		 "corotracer why: 12 looks, 4 left out as too late, 5 failed; 3 stacks; wrote "
		 "'%s'\n",
		 path);
	CHECK_STR(write_out(o, stderr, 0, ""), wanted);
	CHECK_STR(file_text(), "folded\n");
	CHECK_STR(write_out(o, stdout, 0, ""), ""); /* no table */
	o.format = WHY_FORMAT_SPEEDSCOPE;
	write_out(o, stderr, 0, "");
	CHECK_STR(file_text(), "speedscope\n");
	o.format = WHY_FORMAT_PPROF;
	write_out(o, stderr, 0, "");
	CHECK_EQ(strncmp(file_text(), "packed:\x0a\x05pprof", 14), 0);
	o = (struct why_sample_options){ .format = WHY_FORMAT_FOLDED };
	CHECK_STR(write_out(o, stdout, 0, ""), "folded\n");
	CHECK_STR(write_out(o, stderr, 0, ""),
		  "corotracer why: 12 looks, 4 left out as too late, 5 failed; 3 stacks; wrote "
		  "standard output\n");
}

static void the_table_is_for_a_run_without_a_file(void)
{
	struct why_sample_options o = { 0 };

	CHECK_STR(write_out(o, stdout, 0, ""), "7 looks\n");
	CHECK_EQ(nr_shown, 20);
	o.all = true;
	write_out(o, stdout, 0, "");
	CHECK_EQ(nr_shown, 0);
	o.json = true;
	CHECK_STR(write_out(o, stdout, 0, ""), "{\"looks\":7}\n");
	o.html = "page.html";
	CHECK_STR(write_out(o, stdout, 0, ""), "{\"looks\":7}\n");
	CHECK_STR(saved, "page.html " WHY_PAGE " {\"looks\":7}\n");
	CHECK_EQ(nr_shown, 0);
	o = (struct why_sample_options){ .html = "page.html" };
	CHECK_STR(write_out(o, stdout, 0, ""), "");
	CHECK_EQ(nr_shown, 0); /* the page has all of them */
	CHECK_STR(write_out(o, stderr, 0, ""),
		  "corotracer why: 12 looks, 4 left out as too late, 5 failed; 3 stacks; wrote "
		  "'page.html'\n");
	o = (struct why_sample_options){ .json = true, .format = 1, .output = path };
	CHECK_STR(write_out(o, stdout, 0, ""), "{\"looks\":7}\n");
	CHECK_STR(file_text(), "folded\n");
}

static void failures_leave_no_file(void)
{
	struct why_sample_options o = { .format = WHY_FORMAT_FOLDED,
					.output = "/nonexistent/file",
					.json = true };

	captured_begin(stderr);
	CHECK_EQ(why_sample_output(&run, &o, &(struct err){ 0 }), -ENOENT);
	CHECK_STR(captured_end(), "");
	o.output = path;
	folded = -ENOMEM;
	CHECK_STR(write_out(o, stdout, -ENOMEM, "no memory for the profile"), "");
	CHECK_STR(file_text(), "");
	folded = 0;
	o.format = WHY_FORMAT_PPROF;
	gzips = -EIO;
	CHECK_STR(write_out(o, stdout, -EIO, "cannot pack"), "");
	CHECK_STR(file_text(), "");
	gzips = 0;
	proto_error = -ENOMEM;
	CHECK_STR(write_out(o, stdout, -ENOMEM, "no memory for the profile"), "");
	proto_error = 0;
	o = (struct why_sample_options){ .html = "x", .json = true };
	saves = -ENOSPC;
	CHECK_STR(write_out(o, stdout, -ENOSPC, "cannot save"), "");
	CHECK_STR(write_out(o, stderr, -ENOSPC, "cannot save"), "");
	saves = 0;
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/corotracer-test-%d", (int)getpid());
	RUN(outputs_that_exclude_each_other_are_refused);
	RUN(a_terminal_gets_no_binary_profile);
	RUN(formats_go_to_a_file_or_to_standard_output);
	RUN(the_table_is_for_a_run_without_a_file);
	RUN(failures_leave_no_file);
	return 0;
}
