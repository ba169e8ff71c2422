/* SPDX-License-Identifier: MIT */
/* end_signal.c - end by the signal that ended another process. */
#include "end_signal.h"

#include <signal.h>
#include <sys/resource.h>

#include "cmd.h"
#include "json_file.h"

int end_by_signal(int sig)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;

	json_file_finish(EXIT_OK);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + sig;
}
