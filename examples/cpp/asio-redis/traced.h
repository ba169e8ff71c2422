// SPDX-License-Identifier: MIT
// traced.h - trace Asio's coroutines with a completion token.
//
//	asio::awaitable<void> serve(tcp::socket socket)
//	{
//		traced::Coroutine self("client 7");
//
//		co_await socket.async_read_some(buffer, self.reading(socket.native_handle()));
//	}
//
// The promise of an asio::awaitable belongs to Asio: it cannot have another base class, and its
// await_transform accepts only Asio's types.  Asio does offer the completion token, which is
// sufficient: it is called to start the operation, when the coroutine is suspended and cannot be
// resumed yet, and the handler that it passes is called on the thread that is about to resume the
// coroutine.
//
// A coroutine in the trace is one flow of control, from the line where it is created to the end of
// its scope: an awaitable that another one awaits is part of it, as it is of Asio's "thread of
// execution".  Not recorded: a co_await with another token, and the time between co_spawn() and
// the first line.
//
// The cost in addition to the two events: a token of 48 bytes by value, and one more pointer in the
// handler.  No allocation, no lock, no type erasure.
#pragma once

#include <optional>
#include <source_location>
#include <utility>

#include <asio/associator.hpp>
#include <asio/async_result.hpp>
#include <asio/use_awaitable.hpp>

#include <corotracer/coroTracer.h>

namespace traced
{

class Coroutine;

// Passed to an asynchronous operation instead of asio::use_awaitable.
struct Token {
	Coroutine *self;
	corotracer::Wait why;
	std::source_location where;
	const void *code; // the site as an address
};

// Marks a function that the coroutine itself calls and that takes the caller's address.
#define TRACED_HERE    [[gnu::noinline]]
#define TRACED_ADDRESS __builtin_return_address(0)

// A local variable of the coroutine that it represents.
class Coroutine
{
      public:
	using Where = std::source_location;

	// Created at this line, and running.
	explicit Coroutine(const char *name, Where where = Where::current()) : life_(name, where)
	{
		life_.write_trace(0, true);
	}
	Coroutine(const Coroutine &) = delete;

	// Wait for a descriptor, with this reason.
	TRACED_HERE Token reading(int fd, Where where = Where::current())
	{
		return { this, corotracer::reading(fd), where, TRACED_ADDRESS };
	}
	TRACED_HERE Token writing(int fd, Where where = Where::current())
	{
		return { this, corotracer::writing(fd), where, TRACED_ADDRESS };
	}
	TRACED_HERE Token accepting(int fd, Where where = Where::current())
	{
		return { this, corotracer::accepting(fd), where, TRACED_ADDRESS };
	}
	// Wait for any other reason.
	TRACED_HERE Token waiting(corotracer::Wait why = {}, Where where = Where::current())
	{
		return { this, why, where, TRACED_ADDRESS };
	}

	// Called by the handler below.
	void suspended(const Token &token)
	{
		wait_.emplace(Nothing{ token.why }, &life_, token.where);
		code_ = token.code;
		wait_->await_suspend(Frame::from_address(&code_));
	}
	void resumed()
	{
		wait_->await_resume();
		wait_.reset();
	}

      private:
	// Asio does not say which frame is suspended.  The trace reads only the first word of a
	// frame, the address of its code: this stands for a frame with nothing but that word.
	struct Unknown {
		std::suspend_always final_suspend() noexcept;
	};
	using Frame = std::coroutine_handle<Unknown>;

	// An awaiter that only carries the reason: Asio does the rest.
	struct Nothing {
		corotracer::Wait why;

		corotracer::Wait corotracer_wait() const
		{
			return why;
		}
		bool await_ready() const
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<>) const
		{
		}
		void await_resume() const
		{
		}
	};

	corotracer::PromiseMixin life_;
	const void *code_ = nullptr;
	std::optional<corotracer::TracedAwaiter<Nothing>> wait_;
};

// The operation is complete, and this thread resumes the coroutine.
template <typename Handler> struct Resuming {
	Coroutine *self;
	Handler handler;

	template <typename... Args> void operator()(Args &&...args)
	{
		self->resumed();
		std::move(handler)(std::forward<Args>(args)...);
	}
};

#undef TRACED_HERE
#undef TRACED_ADDRESS

static_assert(sizeof(Token) <= 48);

} // namespace traced

// Forwards the inner handler's executor, allocator and cancellation slot.
template <template <typename, typename> class Associator, typename Handler, typename Default>
struct asio::associator<Associator, traced::Resuming<Handler>, Default>
    : Associator<Handler, Default> {
	static auto get(const traced::Resuming<Handler> &resuming,
			const Default &otherwise = Default()) noexcept
	{
		return Associator<Handler, Default>::get(resuming.handler, otherwise);
	}
};

template <typename R, typename... Args> class asio::async_result<traced::Token, R(Args...)>
{
	using Plain = asio::use_awaitable_t<>;

      public:
	using return_type = typename asio::async_result<Plain, R(Args...)>::return_type;

	template <typename Initiation, typename... InitArgs>
	static return_type initiate(Initiation initiation, traced::Token token, InitArgs... args)
	{
		Plain plain;

		return asio::async_initiate<Plain, R(Args...)>(
			Starting<Initiation>{ std::move(initiation), token }, plain,
			std::move(args)...);
	}

      private:
	// The coroutine is suspended; once the operation has started it may be resumed at any time.
	template <typename Initiation> struct Starting {
		Initiation initiation;
		traced::Token token;

		template <typename Handler, typename... InitArgs>
		void operator()(Handler &&handler, InitArgs &&...args)
		{
			using Inner = std::decay_t<Handler>;

			token.self->suspended(token);
			std::move(initiation)(
				traced::Resuming<Inner>{ token.self,
							 std::forward<Handler>(handler) },
				std::forward<InitArgs>(args)...);
		}
	};
};
