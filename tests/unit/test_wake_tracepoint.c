/* SPDX-License-Identifier: MIT */
/* test_wake_tracepoint.c - the layout of a tracepoint, as tracefs describes it. */
#include "process/wake_tracepoint.h"
#include "check.h"

#include <errno.h>

static void the_offset_of_the_thread_is_read(void)
{
	struct wake_tracepoint w = { 0 };

	CHECK(wake_tracepoint_parse(
		&w, "name: sched_waking\nID: 375\nformat:\n"
		    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"));
	CHECK_EQ(w.number, 375);
	CHECK_EQ(w.tid_at, 24);
}

static void another_layout_is_refused(void)
{
	struct wake_tracepoint w = { 0 };

	CHECK(!wake_tracepoint_parse(&w, ""));
	CHECK(!wake_tracepoint_parse(&w, "name: x\nID: 3\nformat:\n"
					 "\tfield:int common_pid;\toffset:4;\tsize:4;\n"));
	CHECK(!wake_tracepoint_parse(&w, "field:pid_t pid;\toffset:24;\n"));
}

static void a_refusal_has_a_hint(void)
{
	static const struct {
		int why;
		const char *text, *hint;
	} refusals[] = {
		{ ENOENT, "cannot record wake-ups: No such file or directory",
		  "mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing" },
		{ EACCES, "cannot record wake-ups: Permission denied",
		  "run as root, or with CAP_PERFMON and read access to /sys/kernel/tracing" },
		{ EPERM, "cannot record wake-ups: Operation not permitted",
		  "run as root, or with CAP_PERFMON and read access to /sys/kernel/tracing" },
		{ EMFILE, "cannot record wake-ups: Too many open files",
		  "raise the limit of open files (ulimit -n)" },
		{ EIO, "cannot record wake-ups: Input/output error", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct err err = { 0 };

		wake_tracepoint_explain(refusals[i].why, &err);
		CHECK_STR(err.text, refusals[i].text);
		CHECK_STR(err.hint, refusals[i].hint);
		CHECK_EQ(err.code, -refusals[i].why);
	}
}

int main(void)
{
	the_offset_of_the_thread_is_read();
	another_layout_is_refused();
	a_refusal_has_a_hint();
	return 0;
}
