// SPDX-License-Identifier: MIT
// lazy_when_all.hpp - when_all(): await several tasks at the same time.
#pragma once

#include <vector>

#include "lazy_task.hpp"

// Counts the tasks that have not ended; the end of the last one continues with when_all().
class TaskLatch
{
      public:
	explicit TaskLatch(size_t nr) : left_(nr)
	{
	}
	bool await_ready() const noexcept
	{
		return left_ == 0;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiting_ = h;
	}
	void await_resume() const
	{
		if (failure)
			std::rethrow_exception(failure);
	}
	void count_down(LazyState *last)
	{
		if (--left_ == 0)
			last->continuation = waiting_;
	}

	std::exception_ptr failure;

      private:
	size_t left_;
	std::coroutine_handle<> waiting_;
};

template <class T>
Lazy<> when_all_arm(Lazy<T> task, std::optional<T> &result, TaskLatch &latch,
		    const std::vector<Lazy<>> &arms, size_t i)
{
	try {
		result.emplace(co_await task);
	} catch (...) {
		latch.failure = std::current_exception();
	}
	latch.count_down(&arms[i].handle().promise());
}

template <class T> Lazy<std::vector<T>> when_all(std::vector<Lazy<T>> tasks)
{
	std::vector<std::optional<T>> results(tasks.size());
	TaskLatch latch(tasks.size());
	std::vector<Lazy<>> arms;
	std::vector<T> out;

	for (size_t i = 0; i < tasks.size(); i++)
		arms.push_back(when_all_arm(std::move(tasks[i]), results[i], latch, arms, i));
	for (Lazy<> &arm : arms)
		arm.handle().resume();
	co_await latch;
	for (std::optional<T> &r : results)
		out.push_back(std::move(*r));
	co_return out;
}
