/* SPDX-License-Identifier: MIT */
/* test_output_path.c - a new trace never destroys another file: earlier traces are kept as
 * NAME.old. */
#include "collect/output_path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "trace/ctf.h"

static struct err err;
static char folder[] = "/tmp/corotracer-path-XXXXXX";

static const char *in_folder(const char *name)
{
	static char paths[4][96];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void file_write(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "we");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The text of a file; "-": there is none. */
static const char *file_text(const char *name)
{
	static char text[64];
	FILE *file = fopen(in_folder(name), "re");
	size_t size;

	if (!file)
		return "-";
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	fclose(file);
	return text;
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(in_folder(name), &st) == 0;
}

static int path_open(struct output_path *p, const char *name)
{
	memset(&err, 0, sizeof(err));
	return place_open(p, in_folder(name), TRACE_FORMAT_AUTO, &err);
}

static void earlier_files_are_kept_with_their_sidecar(void)
{
	struct output_path p;

	file_write("t", "first");
	file_write("t.meta", "facts");
	file_write("t.old", "before");
	CHECK_EQ(path_open(&p, "t"), 0);
	CHECK(p.is_file && p.is_open && p.kept_trace && p.kept_sidecar && !p.is_stdout);
	CHECK_STR(file_text("t.old"), "first");
	CHECK_STR(file_text("t.meta.old"), "facts");
	CHECK_STR(file_text("t"), "");
	CHECK(!is_there("t.meta"));
	place_undo(&p);
	place_close(&p);
	CHECK_STR(file_text("t"), "first");
	CHECK_STR(file_text("t.meta"), "facts");
	CHECK(!is_there("t.old") && !is_there("t.meta.old"));
}

static void an_empty_file_is_used_and_a_new_one_is_removed_again(void)
{
	struct output_path p;

	file_write("e", "");
	CHECK_EQ(path_open(&p, "e"), 0);
	CHECK(p.is_file && !p.kept_trace && !is_there("e.old"));
	place_close(&p);
	CHECK_EQ(path_open(&p, "n"), 0);
	CHECK(is_there("n"));
	place_undo(&p);
	place_close(&p);
	CHECK(!is_there("n"));
	CHECK(p.fd == -1 && !p.path && !p.is_open);
}

static void a_trace_that_is_being_written_is_left_alone(void)
{
	struct output_path p, second;

	CHECK_EQ(path_open(&p, "busy"), 0);
	CHECK_EQ(write(p.fd, "x", 1), 1);
	CHECK_EQ(path_open(&second, "busy"), -EBUSY);
	CHECK(strstr(err.text, "another collector is writing"));
	place_undo(&second);
	place_close(&second);
	CHECK_STR(file_text("busy"), "x");
	place_close(&p);
	CHECK_EQ(path_open(&second, "busy"), 0);
	CHECK_STR(file_text("busy.old"), "x");
	place_close(&second);
}

static void a_link_is_written_through(void)
{
	struct output_path p;
	struct stat st;

	file_write("real", "long ago");
	CHECK_EQ(symlink("real", in_folder("link")), 0);
	CHECK_EQ(path_open(&p, "link"), 0);
	CHECK(lstat(in_folder("link"), &st) == 0 && S_ISLNK(st.st_mode) && !p.kept_trace);
	CHECK_STR(file_text("real"), "");
	place_close(&p);
}

static void what_cannot_be_written_has_a_hint(void)
{
	struct output_path p;

	CHECK_EQ(path_open(&p, "no/such/folder"), -ENOENT);
	CHECK(strstr(err.text, "cannot write the trace to") && err.hint[0]);
	place_close(&p);
	CHECK_EQ(place_open(&p, "-", TRACE_FORMAT_CTF, &err), -EINVAL);
	CHECK(strstr(err.text, "is a directory"));
	place_close(&p);
}

/* A directory with the beginning of a trace. */
static void make_trace(const char *name)
{
	struct output_path p;
	char metadata[64];

	CHECK_EQ(path_open(&p, name), 0);
	place_close(&p);
	snprintf(metadata, sizeof(metadata), "%s/metadata", name);
	file_write(metadata, CTF_FIRST_LINE CTF_SECOND_LINE "1 */\n");
}

static void earlier_directories_are_kept_and_the_one_before_is_removed(void)
{
	struct output_path p;
	int i;

	for (i = 0; i < 3; i++)
		make_trace("d.ctf");
	CHECK_EQ(place_open(&p, in_folder("d.ctf///"), TRACE_FORMAT_AUTO, &err), 0);
	CHECK_STR(p.path, in_folder("d.ctf"));
	place_undo(&p);
	place_close(&p);
	make_trace("d.ctf");
	CHECK(is_there("d.ctf/metadata") && is_there("d.ctf.old/metadata"));
	CHECK_EQ(path_open(&p, "d.ctf"), 0);
	CHECK(p.kept_trace && p.made && !is_there("d.ctf/metadata"));
	place_undo(&p);
	place_close(&p);
	CHECK(is_there("d.ctf/metadata") && !is_there("d.ctf.old"));
}

static void other_directories_are_refused(void)
{
	struct output_path p;

	CHECK_EQ(mkdir(in_folder("o.ctf"), 0700), 0);
	file_write("o.ctf/thesis.tex", "years of work");
	CHECK_EQ(path_open(&p, "o.ctf"), -ENOTEMPTY);
	CHECK(strstr(err.text, "exists and is not a corotracer trace"));
	place_undo(&p);
	place_close(&p);
	CHECK_STR(file_text("o.ctf/thesis.tex"), "years of work");
	file_write("file.ctf", "text");
	CHECK_EQ(path_open(&p, "file.ctf"), -ENOTEMPTY);
	place_close(&p);
	/* The same holds for NAME.old. */
	make_trace("k.ctf");
	CHECK_EQ(mkdir(in_folder("k.ctf.old"), 0700), 0);
	file_write("k.ctf.old/notes", "kept");
	CHECK_EQ(path_open(&p, "k.ctf"), -ENOTEMPTY);
	place_undo(&p);
	place_close(&p);
	CHECK_STR(file_text("k.ctf.old/notes"), "kept");
	CHECK(is_there("k.ctf/metadata"));
}

static void a_directory_that_is_being_written_is_left_alone(void)
{
	struct output_path p, second;

	CHECK_EQ(path_open(&p, "b.ctf"), 0);
	CHECK_EQ(path_open(&second, "b.ctf"), -EBUSY);
	place_undo(&second);
	place_close(&second);
	CHECK(is_there("b.ctf"));
	place_undo(&p);
	place_close(&p);
	CHECK(!is_there("b.ctf"));
}

int main(void)
{
	char command[128];

	CHECK(mkdtemp(folder) != NULL);
	RUN(earlier_files_are_kept_with_their_sidecar);
	RUN(an_empty_file_is_used_and_a_new_one_is_removed_again);
	RUN(a_trace_that_is_being_written_is_left_alone);
	RUN(a_link_is_written_through);
	RUN(what_cannot_be_written_has_a_hint);
	RUN(earlier_directories_are_kept_and_the_one_before_is_removed);
	RUN(other_directories_are_refused);
	RUN(a_directory_that_is_being_written_is_left_alone);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0;
}
