/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/resource.h - what becomes of the things that coroutines wait for.
 *
 *	corotracer::closing(fd);	// before close(): whoever waits for it waits in vain
 *	corotracer::acquired(&lock);	// the coroutine that runs here holds it now
 *	corotracer::released(&lock);
 *
 * Which coroutine runs here is known from its first resume on.
 *
 * Nobody has to.  Who does gets proof where the report could only suspect: of descriptors
 * closed under a waiter, and of deadlocks.
 */
#ifndef COROTRACER_CPP_RESOURCE_H
#define COROTRACER_CPP_RESOURCE_H

#include <corotracer/cpp/events.h>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

CTP_CPP_HIDDEN void write_resource(uint32_t kind, uint64_t resource, std::source_location where)
{
	ctp_session *s = session();
	Thread *t = self();

	if (s)
		ctp_resource(&t->ctp, s, kind, t->current, resource, site_id(s, where));
}

} // namespace detail

template <class R> void closing(R fd, std::source_location where = std::source_location::current())
{
	detail::write_resource(CTP_REC_CLOSE, detail::resource_number(fd), where);
}

template <class R>
void acquired(R lock, std::source_location where = std::source_location::current())
{
	detail::write_resource(CTP_REC_ACQUIRE, detail::resource_number(lock), where);
}

template <class R>
void released(R lock, std::source_location where = std::source_location::current())
{
	detail::write_resource(CTP_REC_RELEASE, detail::resource_number(lock), where);
}

} // namespace v1
} // namespace corotracer

#endif
