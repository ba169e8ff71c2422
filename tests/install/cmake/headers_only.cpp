// SPDX-License-Identifier: MIT
// headers_only.cpp - the SDK without its library: the slow path is the program's own.
#define CTP_SLOW_LINKAGE static
#include <corotracer/attach.h>
#include <corotracer/version.h>

#include <cstdio>
#include <cstring>

static ctp_process process = { nullptr, 0, nullptr, 0, -1, 0, 0 };
static thread_local ctp_thread thread;

static void wipe_in_child()
{
	if (process.session)
		std::memset(static_cast<void *>(process.session), 0, sizeof(ctp_session));
}

int main()
{
	ctp_probe probe;

	if (ctp_attach(&process, wipe_in_child) &&
	    ctp_probe_begin(&probe, &thread, process.session, 0, "consumer")) {
		ctp_probe_write(&probe, &thread, process.session, 1, 0);
		ctp_probe_write(&probe, &thread, process.session, 0, 1);
		ctp_probe_end(&probe, &thread, process.session);
	}
	std::printf("%s %s\n", COROTRACER_VERSION,
		    process.session->generation ? "traced" : "untraced");
	return 0;
}
