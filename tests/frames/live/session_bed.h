/* SPDX-License-Identifier: MIT */
/*
 * session_bed.h - attach to the buffers of a program that does one thing for each letter that it
 * gets, and answers, so that nothing depends on time.
 *
 * The test defines program_main(), which runs in a child with one end of a socket.
 */
#ifndef SESSION_BED_H
#define SESSION_BED_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "frames/live/attach_resize.h"
#include "frames/live/attach_session.h"
#include "frames/spec/frames_abi.h"

static void program_main(int fd);

static struct {
	pid_t pid;
	int fd;
} program;

/* Descriptors of this process. */
static unsigned count_fds(void)
{
	unsigned nr = 0;
	int fd;

	for (fd = 0; fd < 64; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static unsigned fds_before;

static void program_start(void)
{
	int pair[2];

	fds_before = count_fds();

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	program.pid = fork();
	if (program.pid == 0) {
		close(pair[0]);
		program_main(pair[1]);
	}
	close(pair[1]);
	program.fd = pair[0];
}

/* @nr times @letter. */
static void program_does(char letter, unsigned nr)
{
	char answer = 0;

	while (nr--) {
		CHECK_EQ(write(program.fd, &letter, 1), 1);
		CHECK_EQ(read(program.fd, &answer, 1), 1);
		CHECK_EQ(answer, letter);
	}
}

static void program_end(void)
{
	close(program.fd);
	kill(program.pid, SIGKILL);
	CHECK_EQ(waitpid(program.pid, NULL, 0), program.pid);
}

/* ---- what a session passes on ---------------------------------------------- */

static char text[8192];
static const struct attach *session;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t size = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + size, sizeof(text) - size, fmt, args);
	va_end(args);
	CHECK(strlen(text) < sizeof(text) - 1);
}

static const char *noted(void)
{
	static char last[sizeof(text)];

	memcpy(last, text, sizeof(text));
	text[0] = '\0';
	return last;
}

static int note_begin(void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	note("begin\n");
	return 0;
}

/* "frame TICKET TYPE n" */
static void note_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	const struct desc *d = &session->live.desc;
	uint32_t type;
	uint64_t n = 0;
	size_t i;

	(void)arg;
	memcpy(&type, image + 4, sizeof(type));
	CHECK(type >= 1 && type <= d->nr_frames);
	for (i = 0; i < d->frames[type - 1].nr_fields; i++) {
		const struct desc_field *f = &d->frames[type - 1].fields[i];

		if (!strcmp(f->name, "n"))
			memcpy(&n, image + f->offset, sizeof(n));
	}
	note("frame %llu %s %llu\n", (unsigned long long)ticket, d->frames[type - 1].name,
	     (unsigned long long)n);
}

static void note_lost(void *arg, uint64_t nr)
{
	(void)arg;
	note("lost %llu\n", (unsigned long long)nr);
}

static void note_resized(void *arg, uint32_t from, uint32_t to)
{
	(void)arg;
	note("resized %u to %u\n", from, to);
}

static int flush_fails;

static int note_flush(void *arg, struct err *err)
{
	(void)arg;
	return flush_fails ? err_set(err, -ENOSPC, "the disk is full") : 0;
}

static void note_words(void *arg, int level, const char *words)
{
	(void)arg;
	if (level < 2)
		note("%d: %s\n", level, words);
}

static struct attach_config config_of(const char *buffer, uint64_t slots)
{
	return (struct attach_config){
		.pid = program.pid,
		.buffer = buffer,
		.slots = slots,
		.is_hosted = true,
		.sink = { NULL, note_begin, note_frame, note_lost, note_resized, note_flush,
			  note_words },
	};
}

/* Open and start; the first message has the handle. */
static void session_start(struct attach *a, const struct attach_config *config)
{
	struct err err = { 0 };
	char expected[200];

	session = a;
	text[0] = '\0';
	CHECK_EQ(attach_open(a, config, &err), 0);
	CHECK_EQ(attach_start(a, &err), 0);
	snprintf(expected, sizeof(expected),
		 "1: set the handle of '%s' to %d; a ring of %u slots\n", a->live.place->name,
		 a->handle, a->stats.slots);
	CHECK(strstr(text, expected) != NULL);
	*strstr(text, expected) = '\0';
}

/* One step now; returns what attach_step_hosted() does. */
static int session_step(struct attach *a, struct err *err)
{
	memset(err, 0, sizeof(*err));
	return attach_step_hosted(a, clock_now_ns(), err);
}

/* The program goes on, and needs a quarter of a second if it does not save a frame. */
static void session_detach(struct attach *a)
{
	attach_stop(a);
	attach_release(a);
	CHECK(!a->control_segment.map && !a->data_segment.map && !a->old_segment.map);
}

/* The program is killed first; nothing of the session stays. */
static void session_end(struct attach *a)
{
	int id = a->control_segment.id, data = a->data_segment.id;
	struct shmid_ds ds;

	program_end();
	session_detach(a);
	CHECK_EQ(count_fds(), fds_before);
	CHECK(id == 0 || shmctl(id, IPC_STAT, &ds) < 0);
	CHECK(data == 0 || shmctl(data, IPC_STAT, &ds) < 0);
}

#endif
