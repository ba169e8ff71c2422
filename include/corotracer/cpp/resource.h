/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/resource.h - events of resources: descriptors closed, locks taken and released.
 *
 *	corotracer::closing(fd);	// before close(): coroutines that wait for it are not woken
 *	corotracer::acquired(&lock);	// the coroutine that runs here holds it from now on
 *	corotracer::released(&lock);
 *
 * The coroutine that runs here is known after its first resume.
 *
 * Optional.  With these events the report can prove what it could otherwise only suspect:
 * descriptors that are closed while a coroutine waits for them, and deadlocks.
 */
#ifndef COROTRACER_CPP_RESOURCE_H
#define COROTRACER_CPP_RESOURCE_H

#include <corotracer/cpp/events.h>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

CTP_CPP_HIDDEN void write_resource(uint32_t kind, uint64_t resource, std::source_location where)
{
	ctp_session *s = session();
	Thread *t = &thread_for(s);

	if (s)
		ctp_resource(&t->ctp, s, kind, t->current, resource, site_id(s, where));
}

} // namespace detail

template <class CtpResource>
void closing(CtpResource fd, std::source_location where = std::source_location::current())
{
	detail::write_resource(CTP_REC_CLOSE, detail::resource_number(fd), where);
}

template <class CtpResource>
void acquired(CtpResource lock, std::source_location where = std::source_location::current())
{
	detail::write_resource(CTP_REC_ACQUIRE, detail::resource_number(lock), where);
}

template <class CtpResource>
void released(CtpResource lock, std::source_location where = std::source_location::current())
{
	detail::write_resource(CTP_REC_RELEASE, detail::resource_number(lock), where);
}

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
