// SPDX-License-Identifier: MIT
// buggy.cpp - C++20 programs with one bug each, named after the detector that must find it.
#include "detector_coro.h"

static Task reader(Queue &queue)
{
	co_await corotracer::receiving(&queue, queue.wait());
}

static void busy_for(int ms)
{
	static Queue other;

	for (; ms > 0; ms -= 10) {
		named("other", reader, other);
		other.serve_one();
		pause_ms(10);
	}
}

// Every twentieth is removed from the queue, and dropped.
static void lost_channel()
{
	static Queue queue;

	for (int i = 0; i < 44; i++) {
		named("reader", reader, queue);
		if (i % 20 == 3)
			queue.take();
		else
			queue.serve_one();
	}
	busy_for(300);
}

// Woken, and the ready queue loses it.
static void lost_ready()
{
	static Queue queue;

	named("reader", reader, queue);
	corotracer::wake(queue.take());
	busy_for(1200);
}

static Task connection(Queue &queue, int fd)
{
	co_await corotracer::reading(fd, queue.wait());
}

// The poller closes a descriptor after the peer hung up, and drops its waiter.
static void closed()
{
	static Queue queue;

	named("connection", connection, queue, 77);
	corotracer::closing(77);
	busy_for(50);
}

static Task locker(Queue &queue, const int *mine, const int *yours)
{
	co_await queue.wait();
	corotracer::acquired(mine);
	co_await corotracer::locking(yours, queue.wait());
}

static void deadlock()
{
	static Queue queue;
	static const int locks[2] = {};

	named("locker", locker, queue, &locks[0], &locks[1]);
	named("locker", locker, queue, &locks[1], &locks[0]);
	queue.serve_one();
	queue.serve_one();
	busy_for(50);
}

static Task sleeper(Queue &queue)
{
	co_await queue.wait();
	co_await queue.wait();
	pause_ms(1500);
	co_await queue.wait();
}

// Another coroutine of the thread is ready meanwhile.
static void blocking()
{
	static Queue queue, other;

	named("blocker", sleeper, queue);
	queue.serve_one();
	named("other", reader, other);
	busy_for(150);
	corotracer::wake(other.waiting.front());
	queue.serve_one();
	other.take().resume();
	queue.serve_one();
}

static const Scenario scenarios[] = {
	{ "lost-wakeup/channel", lost_channel },
	{ "lost-wakeup/ready", lost_ready },
	{ "closed-under-waiter", closed },
	{ "deadlock", deadlock },
	{ "blocking", blocking },
	{ nullptr, nullptr },
};

int main(int argc, char **argv)
{
	return corpus_main(argc, argv, scenarios);
}
