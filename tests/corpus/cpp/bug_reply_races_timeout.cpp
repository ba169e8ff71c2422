// SPDX-License-Identifier: MIT
// bug_reply_races_timeout.cpp - two threads resume one coroutine: the reply and the timeout.
//
// The timeout asks whether the query is done.  That flag is set when the reply has been handled,
// so a timeout resumes a coroutine that is handling its reply.  Only the large reply of query-3
// takes that long.
//
// corpus: bug
// class: double-resume
// at: @stuck
// victims: query-3
// also: query-*
// never: deadlock, lost-wakeup, leak
#include <atomic>
#include <chrono>
#include <map>
#include <string>

#include "pool_executor.hpp"

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Query {
	std::atomic<bool> is_done{ false };
	std::atomic<bool> is_running{ false }, has_raced{ false };
	std::coroutine_handle<> waiter;
};

// Two threads: one delivers replies after 5 ms, the other timeouts after 15 ms.
class Backend
{
      public:
	Backend()
	    : replies_([this] { deliver(replies_due_, true); }),
	      timeouts_([this] { deliver(timeouts_due_, false); })
	{
	}
	~Backend()
	{
		is_stopping_ = true;
		replies_.join();
		timeouts_.join();
	}
	void send(Query *query)
	{
		std::lock_guard guard(lock_);

		replies_due_[query] = Clock::now() + milliseconds(5);
		timeouts_due_[query] = Clock::now() + milliseconds(15);
	}

      private:
	using Due = std::map<Query *, Clock::time_point>;

	Query *take_due(Due &due)
	{
		std::lock_guard guard(lock_);

		for (auto i = due.begin(); i != due.end(); ++i) {
			Query *query = i->first;

			if (i->second > Clock::now())
				continue;
			due.erase(i);
			return query;
		}
		return nullptr;
	}

	void resume(Query *query)
	{
		if (query->is_running)
			query->has_raced = true;
		query->waiter.resume();
	}

	void deliver(Due &due, bool is_reply)
	{
		while (!is_stopping_) {
			Query *query = take_due(due);

			if (!query)
				std::this_thread::sleep_for(milliseconds(1));
			else if (is_reply || !query->is_done) // the bug: it may be running
				resume(query);
		}
	}

	std::mutex lock_;
	Due replies_due_, timeouts_due_;
	std::atomic<bool> is_stopping_{ false };
	std::thread replies_, timeouts_;
};

struct ReplyOrTimeout {
	Backend *backend;
	Query *query;

	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h) const
	{
		query->is_running = false;
		query->waiter = h;
		backend->send(query);
	}
	void await_resume() const noexcept
	{
	}
};

static void reply_parse(milliseconds takes)
{
	for (auto end = Clock::now() + takes; Clock::now() < end;)
		;
}

static PoolJob query_repeat(Backend &backend, Query &query, int id)
{
	for (int round = 0;; round++) {
		query.is_done = false;
		co_await ReplyOrTimeout{ &backend, &query }; // @stuck
		query.is_running = true;
		reply_parse(milliseconds(id == 3 && round == 10 ? 30 : 0));
		query.is_done = true;
		std::this_thread::yield();
	}
}

int main()
{
	static Query queries[6];

	corotracer::InitTracer();
	Backend backend;
	for (int i = 0; i < 6; i++) {
		std::string name = "query-" + std::to_string(i);

		corotracer::named(name.c_str(), query_repeat, backend, queries[i], i);
	}
	for (int i = 0; i < 100; i++)
		std::this_thread::sleep_for(milliseconds(10));
	// On a loaded machine the timeout may run the whole query, and the reply come too late.
	return queries[3].has_raced ? 0 : 75;
}
