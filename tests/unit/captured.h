/* SPDX-License-Identifier: MIT */
/*
 * captured.h - what a function writes to standard output or standard error.
 *
 *	captured_begin(stderr);
 *	function();
 *	CHECK_STR(captured_end(), "the text\n");
 */
#ifndef CAPTURED_H
#define CAPTURED_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static struct {
	FILE *stream;
	int before, fd;
	char text[1 << 16];
} captured;

/* A check has failed meanwhile: show its message. */
static inline void captured_show(void)
{
	ssize_t size;

	if (!captured.stream)
		return;
	fflush(captured.stream);
	size = pread(captured.fd, captured.text, sizeof(captured.text), 0);
	if (size > 0)
		(void)!write(captured.before, captured.text, (size_t)size);
}

/* One stream at a time. */
static inline void captured_begin(FILE *stream)
{
	static bool is_registered;

	CHECK(!captured.stream);
	if (!is_registered)
		atexit(captured_show);
	is_registered = true;
	fflush(stream);
	captured.stream = stream;
	captured.before = dup(fileno(stream));
	captured.fd = memfd_create("captured", MFD_CLOEXEC);
	CHECK(captured.before >= 0 && captured.fd >= 0);
	CHECK(dup2(captured.fd, fileno(stream)) >= 0);
}

/* The text, until the next call; the stream is as before. */
static inline const char *captured_end(void)
{
	ssize_t size;

	fflush(captured.stream);
	CHECK(dup2(captured.before, fileno(captured.stream)) >= 0);
	size = pread(captured.fd, captured.text, sizeof(captured.text) - 1, 0);
	CHECK(size >= 0 && (size_t)size < sizeof(captured.text) - 1);
	captured.text[size] = '\0';
	close(captured.before);
	close(captured.fd);
	captured.stream = NULL;
	return captured.text;
}

#endif
