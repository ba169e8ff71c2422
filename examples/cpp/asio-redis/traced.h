// SPDX-License-Identifier: MIT
// traced.h - coroutines of Asio's, in the trace.
//
//	asio::awaitable<void> serve(tcp::socket socket)
//	{
//		traced::Coroutine self("client 7");
//
//		co_await socket.async_read_some(buffer, self.reading(socket.native_handle()));
//	}
//
// The promise of an asio::awaitable is Asio's own: it takes no base class of ours, and its
// await_transform takes nothing but what Asio knows.  What Asio does offer is the completion
// token, and that sees just what is needed: it is called to start the operation, when the
// coroutine has been suspended and nothing can have resumed it yet, and what it passes as the
// handler is called on the thread that is about to resume the coroutine.
//
// A coroutine in the trace is one flow of control, from the line where it is made to the end
// of its scope: an awaitable that is awaited by another is part of it, as it is of Asio's
// "thread of execution".  What is not seen: a co_await that is given another token, and
// the time between co_spawn() and the first line.
//
// The cost, beside that of the two events: a token of 48 bytes by value, and one pointer more
// in the handler.  No allocation, no lock, no type erasure.
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

// What to give an asynchronous operation instead of asio::use_awaitable.
struct Token {
	Coroutine *self;
	corotracer::Wait why;
	std::source_location where;
	const void *code; // the same, as an address
};

// A function of this kind is called by the coroutine itself, and takes its address.
#define TRACED_HERE    [[gnu::noinline]]
#define TRACED_ADDRESS __builtin_return_address(0)

// Lies in the frame of the coroutine that it stands for, as a variable of its own.
class Coroutine
{
      public:
	using Where = std::source_location;

	// Born where it stands, and running.
	explicit Coroutine(const char *name, Where where = Where::current()) : life_(name, where)
	{
		life_.write_trace(0, true);
	}
	Coroutine(const Coroutine &) = delete;

	// On a descriptor, for that.
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
	// For any other reason.
	TRACED_HERE Token waiting(corotracer::Wait why = {}, Where where = Where::current())
	{
		return { this, why, where, TRACED_ADDRESS };
	}

	// For the handler below.
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
	// Asio does not tell which frame it is that is suspended.  What the trace takes from a
	// frame is its first word, the address of its code: here that is all there is of it.
	struct Unknown {
		std::suspend_always final_suspend() noexcept;
	};
	using Frame = std::coroutine_handle<Unknown>;

	// All there is to await is the wait itself: Asio does the rest.
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

// The operation is complete, and this thread is where the coroutine goes on.
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

// As the handler inside: its executor, its allocator, its cancellation slot.
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
	// The coroutine is suspended; once the operation has begun it may go on any time.
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
