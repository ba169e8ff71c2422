/* SPDX-License-Identifier: MIT */
/* cmd_mem_ctl.c - corotracer mem ctl: start and stop recording in a running program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mem.h"
#include "memory/collect/region_control.h"
#include "wire.h"

struct mem_ctl_options {
	int window_ms;
};

static const struct opt options[] = {
	{ 0, "for", "MS", "with start: stop again after MS milliseconds",
	  OPT_NUMBER(struct mem_ctl_options, window_ms, 1, 86400000) },
	{ .name = NULL },
};

static const struct {
	const char *word;
	uint32_t request;
} ctl_requests[] = {
	{ "start", CRW_REQUEST_START },
	{ "stop", CRW_REQUEST_STOP },
	{ "mark", CRW_REQUEST_MARK },
};

static uint32_t ctl_request_of(const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(ctl_requests) / sizeof(ctl_requests[0]); i++) {
		if (!strcmp(word, ctl_requests[i].word))
			return ctl_requests[i].request;
	}
	message_print("mem ctl", "unknown request '%s'", word);
	fputs("hint: start, stop or mark\n", stderr);
	return 0;
}

static bool ctl_send(uint32_t pid, uint32_t request, const char *text)
{
	struct err err = { 0 };

	if (region_control_send(pid, request, text, &err) == 0)
		return true;
	message_error("mem ctl", &err);
	return false;
}

static int ctl_run(uint32_t pid, uint32_t request, const char *text, int window_ms)
{
	struct timespec rest = { window_ms / 1000, window_ms % 1000 * 1000000L };

	if (!ctl_send(pid, request, text))
		return EXIT_FAILED;
	if (!window_ms)
		return EXIT_OK;
	nanosleep(&rest, NULL);
	return ctl_send(pid, CRW_REQUEST_STOP, NULL) ? EXIT_OK : EXIT_FAILED;
}

/* A longer text would be cut without a word in the trace. */
static bool ctl_text_fits(const char *text)
{
	size_t size = text ? strlen(text) : 0;

	if (size <= CRW_MARK_MAX)
		return true;
	message_print("mem ctl", "the text of the mark has %zu bytes: expected at most %u", size,
		      CRW_MARK_MAX);
	return false;
}

static int run_mem_ctl(int argc, char **argv)
{
	struct mem_ctl_options o = { 0 };
	const char *text;
	int first, status = opts_parse(&command_mem_ctl, &o, argc, argv, &first);
	unsigned long pid;
	uint32_t request;
	char *end;

	if (status != OPTS_PARSED)
		return status;
	if (argc - first < 2) {
		message_print("mem ctl", "missing argument %s", argc == first ? "PID" : "REQUEST");
		fputs("hint: see 'corotracer help mem ctl'\n", stderr);
		return EXIT_USAGE;
	}
	pid = strtoul(argv[first], &end, 10);
	if (*end || !pid || pid > INT32_MAX) {
		message_print("mem ctl", "invalid process number '%s'", argv[first]);
		return EXIT_USAGE;
	}
	request = ctl_request_of(argv[first + 1]);
	if (!request)
		return EXIT_USAGE;
	if (argc - first > (request == CRW_REQUEST_MARK ? 3 : 2)) {
		message_print("mem ctl", "unexpected argument '%s'", argv[argc - 1]);
		return EXIT_USAGE;
	}
	if (o.window_ms && request != CRW_REQUEST_START) {
		message_print("mem ctl", "--for needs the request start");
		return EXIT_USAGE;
	}
	text = argc - first > 2 ? argv[first + 2] : NULL;
	return ctl_text_fits(text) ? ctl_run((uint32_t)pid, request, text, o.window_ms)
				   : EXIT_USAGE;
}

const struct command command_mem_ctl = {
	.name = "mem ctl",
	.instrument = "memory",
	.args = "[OPTIONS] PID start|stop|mark [TEXT]",
	.summary = "start and stop recording in a running program, or add a mark",
	.details = "The program must be built with 'corotracer mem cc' and run with the option\n"
		   "control=1, which adds a thread that waits for requests:\n"
		   "  CACHERAY_OPTIONS=control=1:start=0 corotracer mem run -- ./app &\n"
		   "  corotracer mem ctl --for 200 PID start\n"
		   "The command returns when the program has served the request.\n",
	.opts = options,
	.run = run_mem_ctl,
};
