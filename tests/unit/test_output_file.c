/* SPDX-License-Identifier: MIT */
/* test_output_file.c - the buffer of an output file. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

int main(void)
{
	RUN(text_in_place_then_a_large_piece_stay_in_the_buffer);
	RUN(a_signal_leaves_no_file_that_another_thread_creates);
	return 0;
}
