// SPDX-License-Identifier: MIT
// bug_publish_reenters_subscriber.cpp - a coroutine publishes and is resumed while it runs.
//
// publish() resumes all subscribers directly and keeps their handles.  A subscriber that
// publishes itself is resumed from within its own run.
//
// corpus: bug
// class: double-resume
// at: @stuck
// victims: invalidator
// never: deadlock, lost-wakeup, leak
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

class Topic;

class Subscription
{
      public:
	explicit Subscription(Topic *topic);

	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiter = h;
	}
	int await_resume() const noexcept;

	std::coroutine_handle<> waiter;

      private:
	Topic *topic_;
};

class Topic
{
      public:
	void publish(int value)
	{
		last_value = value;
		for (Subscription *s : subscribers)
			if (s->waiter) // the bug: the handle stays while the subscriber runs
				s->waiter.resume();
	}

	int last_value = 0;
	std::vector<Subscription *> subscribers;
};

Subscription::Subscription(Topic *topic) : topic_(topic)
{
	topic->subscribers.push_back(this);
}

int Subscription::await_resume() const noexcept
{
	return topic_->last_value;
}

static Lazy<> view_refresh(Topic &topic, int &nr_seen)
{
	Subscription changes(&topic);

	for (;;) {
		co_await changes;
		nr_seen++;
	}
}

static Lazy<> cache_invalidate(Topic &topic)
{
	Subscription changes(&topic);

	for (;;) {
		int key = co_await changes; // @stuck

		if (key > 0 && key % 40 == 0)
			topic.publish(-key); // dependent keys
	}
}

static Lazy<> key_write(EpollLoop &loop, Topic &topic)
{
	for (int key = 1; key < 200; key++) {
		co_await loop.sleep_ms(5);
		topic.publish(key);
	}
	loop.stop();
}

int main()
{
	EpollLoop loop;
	Topic topic;
	int nr_seen = 0;

	corotracer::InitTracer();
	for (int i = 0; i < 5; i++) {
		std::string name = "view-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), view_refresh, topic, nr_seen));
	}
	detach_lazy(corotracer::named("invalidator", cache_invalidate, topic));
	detach_lazy(corotracer::named("writer", key_write, loop, topic));
	loop.run_for(2400);
	return 0;
}
