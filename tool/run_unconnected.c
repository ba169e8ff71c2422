/* SPDX-License-Identifier: MIT */
/* run_unconnected.c - print which processes have the SDK and did not connect, and why. */
#include "run_unconnected.h"

#include <stdio.h>
#include <string.h>

#include <corotracer/ctp.h>
#include <corotracer/request.h>

#include "base/text.h"

struct unconnected_reason {
	const char *text, *hint;
};

/* By CTP_WHY_*. */
static const struct unconnected_reason unconnected_reasons[] = {
	[CTP_WHY_NO_COROUTINE] = { "it had created no coroutine when it was last looked at", NULL },
	[CTP_WHY_NO_ENVIRONMENT] = { CTP_ENV_SHM " is not set in it",
				     "sudo, env -i, su and ssh clear the environment: start "
				     "corotracer behind them, as in "
				     "'sudo corotracer run -- PROGRAM'" },
	[CTP_WHY_SECURE] = { "it is a setuid, setgid or privileged program, and ignores the "
			     "environment",
			     "trace it as root with 'corotracer run -p PID'" },
	[CTP_WHY_NOT_OPENED] = { "it has closed the descriptors that it inherited, and cannot open "
				 "the region",
				 "its user, its root directory or its mounts hide the file: name "
				 "another one with "
				 "--shm PATH, or trace it with 'corotracer run -p PID'" },
	[CTP_WHY_NOT_REGION] = { "what " CTP_ENV_SHM " names is not the region", NULL },
	[CTP_WHY_VERSION] = { "its SDK is for another version of the region",
			      "build it with the SDK of this version" },
	[CTP_WHY_NOT_MAPPED] = { "it cannot map the region",
				 "its address space may be limited (ulimit -v): use a smaller "
				 "--buffer" },
	[CTP_WHY_NO_MEMORY] = { "it has no memory", NULL },
};

static const struct unconnected_reason *unconnected_reason_of(const struct sdk_process *p)
{
	static const struct unconnected_reason ended = {
		"it ended before it was looked at: it created no coroutine, or could not connect",
		"with CTP_VERBOSE=1 it prints why it is not traced"
	};
	static const struct unconnected_reason unknown = {
		"it created no coroutine, or could not connect; its SDK does not say",
		"with CTP_VERBOSE=1 it prints why it is not traced"
	};
	uint32_t why = p->why & 0xff;

	if (!p->is_seen)
		return &ended;
	if (why >= sizeof(unconnected_reasons) / sizeof(unconnected_reasons[0]) ||
	    !unconnected_reasons[why].text)
		return &unknown;
	return &unconnected_reasons[why];
}

bool run_unconnected_failed(const struct collector_result *r)
{
	uint32_t i;

	if (r->nr_connected || r->totals.written)
		return false;
	for (i = 0; i < r->nr_unconnected; i++) {
		if (sdk_process_failed(&r->unconnected[i]))
			return true;
	}
	return false;
}

void run_unconnected_text(const struct collector_result *r)
{
	uint32_t i;

	for (i = 0; i < r->nr_unconnected; i++) {
		const struct sdk_process *p = &r->unconnected[i];
		const struct unconnected_reason *reason = unconnected_reason_of(p);
		int error = (int)(p->why >> 8);
		char name[TEXT_SIZE];

		fprintf(stderr,
			"corotracer: process %u (%s) has the SDK and did not connect: %s%s%s\n",
			p->pid, text_safe(p->name, name, sizeof(name)), reason->text,
			error ? ": " : "", error ? strerror(error) : "");
		if (reason->hint)
			fprintf(stderr, "hint: %s\n", reason->hint);
	}
}

void run_unconnected_json(struct printer *p, const struct collector_result *r)
{
	uint32_t i;

	print_list(p, "unconnected");
	for (i = 0; i < r->nr_unconnected; i++) {
		const struct sdk_process *one = &r->unconnected[i];
		uint32_t error = one->why >> 8;

		print_row(p);
		print_number(p, "pid", NULL, one->pid);
		print_string(p, "program", one->name);
		print_string(p, "reason", sdk_process_reason(one));
		print_string(p, "error", error ? strerror((int)error) : NULL);
		print_row_end(p);
	}
	print_list_end(p);
}
