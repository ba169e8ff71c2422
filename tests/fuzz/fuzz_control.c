/* SPDX-License-Identifier: MIT */
/*
 * fuzz_control.c - requests to a running collector, against hostile clients.
 *
 * A client sends the input in two parts.  A complete line is handled once, without its newline and
 * within its bounds; anything else is not handled, and the socket serves the next client.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/control_socket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#include "text_mutations.h"

static struct control control;
static char control_region[64];
static uint64_t nr_requests, nr_handled;

static void handle_request(void *ctx, uint64_t ticket, const char *request)
{
	(void)ctx;
	MUST_HOLD(strlen(request) < CONTROL_LINE_MAX && !strchr(request, '\n'));
	nr_handled++;
	control_answer(&control, ticket, request[0] == 'l' ? "" : "{}");
}

static void control_end(void)
{
	control_close(&control);
	rmdir(control_region);
}

static void control_begin(void)
{
	const char *tmp = getenv("TMPDIR");
	char region[128];
	struct err err = { 0 };

	snprintf(control_region, sizeof(control_region), "%s/ct_control_XXXXXX",
		 tmp ? tmp : "/tmp");
	MUST_HOLD(mkdtemp(control_region) != NULL);
	snprintf(region, sizeof(region), "%s/r", control_region);
	MUST_HOLD(control_open(&control, region, handle_request, NULL, &err) == 0);
	atexit(control_end);
}

static int connect_client(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/r.control", control_region);
	MUST_HOLD(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t before = nr_handled;
	size_t half = size ? data[0] % (size + 1) : 0;
	bool is_line;
	int fd;

	if (!control_region[0])
		control_begin();
	if (size > 2 * CONTROL_LINE_MAX)
		return 0;
	is_line = size && memchr(data, '\n', size < CONTROL_LINE_MAX ? size : CONTROL_LINE_MAX);
	fd = connect_client();
	(void)!send(fd, data, half, MSG_NOSIGNAL);
	control_serve(&control);
	(void)!send(fd, data + half, size - half, MSG_NOSIGNAL);
	control_serve(&control);
	control_serve(&control);
	close(fd);
	control_serve(&control);
	MUST_HOLD(nr_handled - before <= 1);
	MUST_HOLD(is_line || nr_handled == before);
	nr_requests++;
	return 0;
}

#ifndef FUZZ_LIBFUZZER

int main(int argc, char **argv)
{
	static const char *const seeds[] = { "status\n", "snapshot /tmp/x y\n", "cpu\n", "later",
					     NULL };
	static const char *const words[] = { "snapshot ", "\n", "status", "cpu",
					     "/",         " ",  "\r\n",   NULL };
	struct text_source source = { seeds, words, 0 };
	unsigned long rounds = text_rounds(argc, argv);

	text_inputs(&source, rounds);
	printf("%lu inputs: %llu requests handled\n", rounds, (unsigned long long)nr_handled);
	if (rounds >= 100)
		MUST_HOLD(nr_handled && nr_handled < nr_requests);
	return 0;
}

#endif
