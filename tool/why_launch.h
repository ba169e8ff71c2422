/* SPDX-License-Identifier: MIT */
/* why_launch.h - `corotracer why -- CMD`: start a program and wait until it hangs. */
#ifndef TOOL_WHY_LAUNCH_H
#define TOOL_WHY_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the program did. */
enum why_launch_result {
	WHY_LAUNCH_HANGS, /* it is to be looked at */
	WHY_LAUNCH_ENDED,
	WHY_LAUNCH_FAILED, /* after an error message */
};

struct why_launch_options {
	uint64_t hang_ns;  /* no thread has run for so long */
	uint64_t after_ns; /* so long after the start; 0: wait for a hang */
	bool stdout_to_stderr;
};

/* Start the program and wait.  Sets *@pid, and *@status if the program has ended. */
enum why_launch_result why_launch(char **argv, const struct why_launch_options *o, pid_t *pid,
				  int *status);

/* Wait until the program has ended; returns its exit status. */
int why_launch_wait(pid_t pid);

/* End the program: SIGTERM, and SIGKILL if it has not ended after two seconds. */
void why_launch_end(pid_t pid);

#endif
