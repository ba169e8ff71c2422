/* SPDX-License-Identifier: MIT */
/* test_output_file.c - the buffer of an output file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/output_file.h"
#include "base/temp_names.h"
#include "check.h"

/* Writing in place may end past the limit; what follows must still fit the buffer. */
static void text_in_place_then_a_large_piece_stay_in_the_buffer(void)
{
	static char large[OUTFILE_ROOM + 100];
	struct err err = { 0 };
	struct outfile f;
	size_t i;

	memset(large, 'x', sizeof(large));
	CHECK_EQ(outfile_open(&f, "/dev/null", &err), 0);
	while (f.at < f.limit)
		outfile_put(&f, "y", 1);
	f.at--;
	for (i = 0; i < 20; i++)
		*f.at++ = 'z';
	CHECK(f.at > f.limit);
	outfile_put(&f, large, sizeof(large));
	CHECK(f.at <= f.limit + OUTFILE_ROOM);
	CHECK_EQ(f.bytes + (uint64_t)(f.at - f.buf), OUTFILE_BUFFER + 19 + sizeof(large));
	CHECK_EQ(outfile_commit(&f, &err), 0);
	outfile_close(&f);
}

static char dir[] = "/tmp/test_output_file.XXXXXX";

static unsigned nr_files(void)
{
	DIR *d = opendir(dir);
	unsigned nr = 0;

	CHECK(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr - 2; /* . and .. */
}

static void *create_files(void *arg)
{
	struct temp_name *entry;
	char name[64];
	int i, fd;

	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%s/file.XXXXXX", dir);
		fd = temp_name_create(name, &entry);
		if (fd >= 0)
			close(fd);
	}
	return arg;
}

/* The signal is for the main thread; the other one creates files meanwhile. */
static void end_by_signal_while_files_are_created(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, create_files, NULL) == 0)
		pthread_join(thread, NULL);
	for (;;)
		pause();
}

static void a_signal_leaves_no_file_that_another_thread_creates(void)
{
	int round, status;
	pid_t child;

	CHECK(mkdtemp(dir));
	for (round = 0; round < 20; round++) {
		child = fork();
		if (child == 0)
			end_by_signal_while_files_are_created();
		while (nr_files() < 5)
			usleep(100);
		kill(child, SIGTERM);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		CHECK_EQ(nr_files(), 0);
	}
	rmdir(dir);
}

/* ---- names and failures -------------------------------------------------------------------- */

static char place[] = "/tmp/test_output_file.XXXXXX";

static const char *place_name(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static void text_is(const char *name, const char *wanted)
{
	char text[64] = "";
	FILE *f = fopen(place_name(name), "r");

	CHECK(f != NULL);
	CHECK(fread(text, 1, sizeof(text) - 1, f) == strlen(wanted));
	fclose(f);
	CHECK_STR(text, wanted);
}

static void write_text(const char *name, const char *text, bool does_commit)
{
	struct err err = { 0 };
	struct outfile f;

	CHECK_EQ(outfile_open(&f, place_name(name), &err), 0);
	CHECK(f.temporary && !strncmp(f.temporary, f.path, strlen(f.path)));
	outfile_put(&f, text, strlen(text));
	CHECK(outfile_room(&f) == f.at);
	if (does_commit)
		CHECK_EQ(outfile_commit(&f, &err), 0);
	outfile_close(&f);
	outfile_close(&f); /* harmless */
}

static void a_file_appears_whole_and_keeps_its_mode(void)
{
	struct stat st;
	mode_t mask = umask(027);

	CHECK(mkdtemp(place) != NULL);
	write_text("a", "one", true);
	text_is("a", "one");
	CHECK(stat(place_name("a"), &st) == 0 && (st.st_mode & 0777) == 0640);
	CHECK(chmod(place_name("a"), 0604) == 0);
	write_text("a", "other", false);
	text_is("a", "one"); /* not committed */
	write_text("a", "two", true);
	text_is("a", "two");
	CHECK(stat(place_name("a"), &st) == 0 && (st.st_mode & 0777) == 0604);
	/* A link stays one, and its target is written. */
	CHECK(symlink("a", place_name("link")) == 0);
	write_text("link", "three", true);
	text_is("a", "three");
	CHECK(lstat(place_name("link"), &st) == 0 && S_ISLNK(st.st_mode));
	umask(mask);
}

static void expect_open_error(const char *path, bool by_name, int code, const char *text,
			      const char *hint)
{
	struct err err = { 0 };
	struct outfile f;

	CHECK_EQ(by_name ? outfile_reserve(&f, path, &err) : outfile_open(&f, path, &err), code);
	CHECK(strstr(err.text, text) && strstr(err.hint, hint));
	outfile_close(&f);
}

static void names_that_cannot_be_written_are_errors(void)
{
	expect_open_error(place, false, -EISDIR, "it is a directory", "");
	expect_open_error(place_name("none/a"), false, -ENOENT, "cannot write '",
			  "its directory must exist and be writable");
	expect_open_error("/dev/null", true, -EINVAL, "it is not a regular file", "");
	expect_open_error("/dev/fd/77", false, -ENOENT, "cannot write '/dev/fd/77'", "");
}

static void standard_output_has_many_names(void)
{
	static const char *const names[] = { "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" };
	struct err err = { 0 };
	struct outfile f;
	size_t i;

	for (i = 0; i < 4; i++) {
		int ends[2], before = dup(STDOUT_FILENO);
		char text[8] = "";

		CHECK(pipe(ends) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0);
		CHECK_EQ(outfile_open(&f, names[i], &err), 0);
		CHECK_STR(f.path, "-");
		CHECK(!f.temporary);
		outfile_put(&f, "abc", 3);
		CHECK_EQ(outfile_commit(&f, &err), 0);
		outfile_close(&f);
		CHECK(dup2(before, STDOUT_FILENO) >= 0);
		CHECK_EQ(read(ends[0], text, sizeof(text) - 1), 3);
		CHECK_STR(text, "abc");
		close(before);
		close(ends[0]);
		close(ends[1]);
	}
}

static void a_full_disk_is_an_error_with_a_hint(void)
{
	static char large[OUTFILE_BUFFER + 1];
	struct err err = { 0 };
	struct outfile f;
	FILE *stream;

	CHECK_EQ(outfile_open(&f, "/dev/full", &err), 0);
	CHECK(!f.temporary); /* a device keeps its name */
	outfile_put(&f, large, sizeof(large));
	CHECK_EQ(f.error, -ENOSPC);
	CHECK(!outfile_flush(&f));
	CHECK_EQ(outfile_commit(&f, &err), -ENOSPC);
	CHECK_STR(err.text, "cannot write '/dev/full': No space left on device");
	CHECK_STR(err.hint, "free some space, or write to another file system");
	outfile_close(&f);
	CHECK_EQ(outfile_open(&f, "/dev/full", &err), 0);
	stream = outfile_stream(&f, &err);
	CHECK(stream != NULL);
	fwrite(large, 1, sizeof(large), stream);
	errno = 0;
	CHECK(fwrite(large, 1, sizeof(large), stream) < sizeof(large) || fflush(stream) != 0);
	CHECK_EQ(errno, ENOSPC);
	CHECK(ferror(stream));
	outfile_end_stream(&f, stream);
	CHECK_EQ(f.error, -ENOSPC);
	outfile_close(&f);
	err = (struct err){ .code = -EFBIG };
	outfile_hint(&err);
	CHECK_STR(err.hint, "raise the limit of the file size (ulimit -f)");
	err = (struct err){ .code = -EIO };
	outfile_hint(&err);
	CHECK_STR(err.hint, "");
}

/* ---- reading and writing --------------------------------------------------------------------- */

static bool stop_at_once(unsigned waited_ms)
{
	return waited_ms >= 100;
}

static void reads_and_writes_say_how_far_they_came(void)
{
	char text[16] = "", *memory = NULL;
	int ends[2], fd = open(place_name("b"), O_RDWR | O_CREAT, 0600), other;
	struct err err = { 0 };
	size_t size, filled = 0;

	CHECK_EQ(io_pwrite(fd, "0123456789", 10, 0), 10);
	CHECK_EQ(io_pread(fd, text, 4, 8), 2);
	CHECK_STR(text, "89");
	CHECK_EQ(io_pread(fd, text, 4, 10), 0);
	CHECK_EQ(io_pread(-1, text, 4, 0), -1);
	CHECK_EQ(io_pwrite(-1, text, 4, 0), -1);
	CHECK_EQ(io_read(-1, text, 4), -EBADF);
	CHECK_EQ(io_write(-1, text, 4), -EBADF);
	other = open(place_name("b"), O_RDONLY);
	CHECK(!io_is_locked(fd));
	CHECK(flock(other, LOCK_EX) == 0);
	CHECK(io_is_locked(fd));
	close(other);
	CHECK(!io_is_locked(fd));
	close(fd);
	/* A pipe that is full and not read. */
	CHECK(pipe2(ends, O_NONBLOCK) == 0);
	while (write(ends[1], text, 1) == 1)
		filled++;
	CHECK_EQ(io_write_unless(ends[1], "x", 1, stop_at_once), -ECANCELED);
	while (filled--)
		CHECK_EQ(read(ends[0], text, 1), 1);
	CHECK_EQ(io_write_unless(ends[1], "x", 1, stop_at_once), 1);
	CHECK_EQ(io_read(ends[0], text, 4), 1);
	close(ends[0]);
	close(ends[1]);
	CHECK_EQ(io_end_memory(open_memstream(&memory, &size), &memory), 0);
	free(memory);
	fd = io_temporary(&err);
	CHECK(fd >= 0 && io_write(fd, "x", 1) == 1);
	close(fd);
	CHECK_EQ(setenv("TMPDIR", "/none", 1), 0);
	CHECK_EQ(io_temporary(&err), -ENOENT);
	CHECK_STR(err.hint, "TMPDIR names another folder");
	unsetenv("TMPDIR");
}

static void nothing_is_left(void)
{
	unlink(place_name("a"));
	unlink(place_name("b"));
	unlink(place_name("link"));
	CHECK(rmdir(place) == 0);
}

int main(void)
{
	RUN(text_in_place_then_a_large_piece_stay_in_the_buffer);
	RUN(a_signal_leaves_no_file_that_another_thread_creates);
	RUN(a_file_appears_whole_and_keeps_its_mode);
	RUN(names_that_cannot_be_written_are_errors);
	RUN(standard_output_has_many_names);
	RUN(a_full_disk_is_an_error_with_a_hint);
	RUN(reads_and_writes_say_how_far_they_came);
	RUN(nothing_is_left);
	return 0;
}
