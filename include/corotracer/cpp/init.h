/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/init.h - InitTracer(), and the region as variables of the existing coroTracer
 * header: g_header, g_stations and g_uds_fd.
 *
 * The variables are null and -1 until InitTracer() has attached.  What they point to stays mapped
 * while the process exists.
 */
#ifndef COROTRACER_CPP_INIT_H
#define COROTRACER_CPP_INIT_H

#include <corotracer/cpp/raw_stations.h>
#include <corotracer/cpp/state.h>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{

CTP_CPP_STATE inline constinit GlobalHeader *g_header = nullptr;
CTP_CPP_STATE inline constinit StationData *g_stations = nullptr;
CTP_CPP_STATE inline constinit int g_uds_fd = -1;

/*
 * Attach to the collector that the environment names.  Call it once, early in main(); more calls do
 * no harm, and without a call the first coroutine attaches.  Without a collector it has no effect;
 * CTP_VERBOSE=1 prints the reason on stderr.
 */
inline void InitTracer()
{
	ctp_session *s = detail::attach() > 0 ? detail::session() : nullptr;

	if (!s)
		return;
	ctp_store_relaxed(&g_stations, reinterpret_cast<StationData *>(s->stations));
	ctp_store_relaxed(&g_uds_fd, static_cast<int>(ctp_load_relaxed(&s->sock)));
	ctp_store_relaxed(&g_header, reinterpret_cast<GlobalHeader *>(s->header));
}

/* Wake the collector, for programs that write stations themselves.  Never blocks. */
CTP_CPP_HIDDEN void trigger_uds_wakeup()
{
	const char wake_byte = CTP_WAKE_BYTE;
	ctp_session *s = detail::session();
	int saved = errno, fd = s ? ctp_load_relaxed(&s->sock) : -1;

	/* The program may have closed the socket, and the number may be another file's. */
	if (fd >= 0 &&
	    ctp_sock_is(fd, ctp_load_relaxed(&s->sock_dev), ctp_load_relaxed(&s->sock_ino)))
		syscall(SYS_sendto, fd, &wake_byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
	errno = saved;
}

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
