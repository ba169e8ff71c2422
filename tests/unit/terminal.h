/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - what a function writes to a terminal.
 *
 *	terminal_begin(stderr, 24);
 *	function();
 *	CHECK_STR(terminal_end(), "the text\n");
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "check.h"

static struct {
	FILE *stream;
	int before, fd;
	char text[1 << 13];
} terminal;

/* With @lines lines.  The text must fit into the buffer of the kernel: 4 KiB. */
static inline void terminal_begin(FILE *stream, unsigned short lines)
{
	const struct winsize size = { .ws_row = lines, .ws_col = 80 };
	struct termios raw;
	int fd;

	terminal.fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(terminal.fd >= 0 && grantpt(terminal.fd) == 0 && unlockpt(terminal.fd) == 0);
	fd = open(ptsname(terminal.fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(fd >= 0 && tcgetattr(fd, &raw) == 0);
	cfmakeraw(&raw);
	CHECK(tcsetattr(fd, TCSANOW, &raw) == 0 && ioctl(fd, TIOCSWINSZ, &size) == 0);
	fflush(stream);
	terminal.stream = stream;
	terminal.before = dup(fileno(stream));
	CHECK(terminal.before >= 0 && dup2(fd, fileno(stream)) >= 0);
	close(fd);
}

static inline const char *terminal_end(void)
{
	size_t used = 0;
	ssize_t got;

	fflush(terminal.stream);
	fcntl(terminal.fd, F_SETFL, O_NONBLOCK);
	while ((got = read(terminal.fd, terminal.text + used, sizeof(terminal.text) - 1 - used)) >
	       0)
		used += (size_t)got;
	terminal.text[used] = '\0';
	CHECK(dup2(terminal.before, fileno(terminal.stream)) >= 0);
	close(terminal.before);
	close(terminal.fd);
	return terminal.text;
}

#endif
