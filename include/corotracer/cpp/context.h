/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/context.h - connect coroutines with the user's own traces.
 *
 *	corotracer::set_traceparent(request.header("traceparent"));	// the one that runs here
 *	handle.promise().set_traceparent(text);				// a given one
 *
 * From then on the waits of the coroutine, and of coroutines that it creates, belong to that span:
 * `corotracer export otlp` makes them its children.  The coroutine that runs here is known after
 * its first resume.
 */
#ifndef COROTRACER_CPP_CONTEXT_H
#define COROTRACER_CPP_CONTEXT_H

#include <corotracer/cpp/promise.h>

#include <string_view>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{

/*
 * "00-TRACE_ID-SPAN_ID-FLAGS" as in the W3C Trace Context; empty: no span from now on.  False if
 * the text is neither.  Without the tool it is not checked.
 */
inline bool set_traceparent(std::string_view traceparent)
{
	return !detail::gate_is_open() ||
	       detail::write_context(detail::thread_for(detail::session()).current, traceparent);
}

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
