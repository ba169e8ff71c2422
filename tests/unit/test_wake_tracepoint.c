/* SPDX-License-Identifier: MIT */
/* test_wake_tracepoint.c - the layout of a tracepoint, as tracefs describes it. */
#include "process/wake_tracepoint.h"
#include "check.h"

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

int main(void)
{
	the_offset_of_the_thread_is_read();
	another_layout_is_refused();
	return 0;
}
