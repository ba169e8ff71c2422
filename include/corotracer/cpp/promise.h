/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/promise.h - what a traced coroutine carries: PromiseMixin, and the events
 * that it can write.
 */
#ifndef COROTRACER_CPP_PROMISE_H
#define COROTRACER_CPP_PROMISE_H

#include <corotracer/cpp/site.h>
#include <corotracer/cpp/state.h>
#include <corotracer/cpp/wait.h>

#include <coroutine>
#include <source_location>

namespace corotracer
{
inline namespace v1
{

class PromiseMixin;
template <class Inner> struct TracedAwaiter;

namespace detail
{

/* The function that resumes a frame is its first word, with gcc and with clang: it tells whose
 * code this is, and can be symbolised. */
inline uint64_t resume_function(const void *frame)
{
	return static_cast<uint64_t>(*static_cast<const uintptr_t *>(frame));
}

/*
 * Templates, so that each exists once although it is not inline: the code of an event is too
 * much to have it at every co_await, and a call costs a nanosecond.
 */
template <class = void>
__attribute__((noinline)) void write_suspend(ctp_probe *p, uint64_t addr,
					     std::source_location where, Wait wait)
{
	ctp_session *s = session();
	uint32_t site = site_id(s, where);

	if (wait.has_resource)
		ctp_suspend_on(p, &thread.ctp, s, addr, site, wait.reason, wait.resource);
	else
		ctp_suspend(p, &thread.ctp, s, addr, site, wait.reason);
}

template <class = void> __attribute__((noinline)) void write_resume(ctp_probe *p)
{
	ctp_resume(p, &thread.ctp, session());
}

} // namespace detail

/*
 * Inherit it in a promise_type, and every co_await in its coroutines is traced.  A promise
 * with an await_transform of its own hides ours: see trace_await() for the way in.
 */
class PromiseMixin
{
      public:
	/* A coroutine is born; @name may be NULL, and is copied. */
	explicit PromiseMixin(const char *name = nullptr)
	{
		begin(name, std::source_location());
	}

	/* A copy is not a coroutine: it is untraced, and what is assigned to stays who it is. */
	PromiseMixin(const PromiseMixin &) noexcept
	{
	}

	PromiseMixin &operator=(const PromiseMixin &) noexcept
	{
		return *this;
	}

	~PromiseMixin()
	{
		if (is_traced())
			ctp_probe_end(&probe_, &detail::thread.ctp, detail::session(), 0);
	}

	template <class Awaitable>
	TracedAwaiter<Awaitable &&>
	await_transform(Awaitable &&awaitable,
			std::source_location where = std::source_location::current())
	{
		return TracedAwaiter<Awaitable &&>(static_cast<Awaitable &&>(awaitable), this,
						   where);
	}

	template <class A>
	TracedAwaiter<A>
	await_transform(Annotated<A> &&said,
			std::source_location where = std::source_location::current())
	{
		return TracedAwaiter<A>(static_cast<A>(said.awaitable), this, where, said.wait);
	}

	/* One transition, told by hand: suspended at @addr, or running again. */
	void write_trace(uint64_t addr, bool is_active)
	{
		if (!is_traced())
			return;
		if (is_active)
			detail::write_resume(&probe_);
		else
			detail::write_suspend(&probe_, addr, std::source_location(), Wait{});
	}

	bool is_traced() const
	{
		return probe_.life || probe_.station;
	}

	/* The number by which a trace knows this coroutine; 0 while untraced. */
	uint64_t id() const
	{
		return ctp_probe_id(&probe_);
	}

      private:
	template <class Inner> friend struct TracedAwaiter;

	void begin(const char *name, std::source_location where)
	{
		detail::Thread &t = detail::thread;

		if (!detail::attach())
			return;
		if (!name)
			name = t.birth_name;
		t.birth_name = nullptr;
		ctp_probe_begin(&probe_, &t.ctp, detail::session(), 0, name, t.current,
				detail::site_id(detail::session(), where));
	}

	ctp_probe probe_ = {};
};

/*
 * Call @function with @args; the coroutine that is born first meanwhile has this name.
 *
 *	corotracer::named("session 7", session, fd);
 */
template <class F, class... Args>
decltype(auto) named(const char *name, F &&function, Args &&...args)
{
	detail::thread.birth_name = name;
	return static_cast<F &&>(function)(static_cast<Args &&>(args)...);
}

} // namespace v1
} // namespace corotracer

#endif
