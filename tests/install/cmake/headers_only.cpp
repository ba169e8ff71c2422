// SPDX-License-Identifier: MIT
// headers_only.cpp - the SDK without its library: the program defines the slow path.
#define CTP_SLOW_LINKAGE static
#include <corotracer/attach.h>
#include <corotracer/version.h>

#include <cstdio>
#include <cstring>

static ctp_process process;
static thread_local ctp_thread thread;

static void wipe_in_child()
{
	if (process.session)
		std::memset(static_cast<void *>(process.session), 0, sizeof(ctp_session));
}

static void leave_thread(void *leaving)
{
	ctp_thread_leave(static_cast<ctp_thread *>(leaving), process.session);
}

static const ctp_hooks hooks = { wipe_in_child, leave_thread, nullptr };

int main()
{
	ctp_probe probe;

	if (ctp_attach(&process, &hooks) &&
	    ctp_probe_begin(&probe, &thread, process.session, 0, "consumer", 0, 0)) {
		ctp_suspend(&probe, &thread, process.session, 1, 0, CTP_REASON_UNKNOWN);
		ctp_resume(&probe, &thread, process.session);
		ctp_probe_end(&probe, &thread, process.session, 0);
	}
	std::printf("%s %s\n", COROTRACER_VERSION,
		    process.session->generation ? "traced" : "untraced");
	return 0;
}
