// SPDX-License-Identifier: MIT
// clean.cpp - correct C++20 programs that resemble buggy ones.
#include "detector_coro.h"

static Task reader(Queue &queue)
{
	co_await corotracer::receiving(&queue, queue.wait());
}

static void all_served()
{
	static Queue queue;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 10; i++)
			named("reader", reader, queue);
		while (!queue.waiting.empty())
			queue.serve_one();
	}
}

static Task connection(Queue &queue, int fd, int times)
{
	while (times-- > 0)
		co_await corotracer::reading(fd, queue.wait());
	corotracer::closing(fd);
}

// Some are idle when the program ends.
static void idle_connections()
{
	static Queue busy, idle;

	for (int i = 0; i < 5; i++)
		named("connection", connection, idle, 100 + i, 1);
	for (int i = 0; i < 120; i++) {
		named("connection", connection, busy, 50, 3);
		while (!busy.waiting.empty())
			busy.serve_one();
		pause_ms(10);
	}
}

static Task locker(Queue &queue, const int *first, const int *second)
{
	for (int i = 0; i < 10; i++) {
		corotracer::acquired(first);
		corotracer::acquired(second);
		corotracer::released(second);
		corotracer::released(first);
		co_await corotracer::locking(first, queue.wait());
	}
}

static void locks_in_order()
{
	static Queue queue;
	static const int locks[2] = {};

	named("locker", locker, queue, &locks[0], &locks[1]);
	named("locker", locker, queue, &locks[0], &locks[1]);
	while (!queue.waiting.empty())
		queue.serve_one();
}

// A wake-up that comes early, and is stored by the queue.
static Task eager_waker(Queue &queue)
{
	for (int i = 0; i < 50; i++)
		co_await queue.wait();
}

static void served_at_once()
{
	static Queue queue;

	named("eager", eager_waker, queue);
	while (!queue.waiting.empty())
		queue.serve_one();
}

static const Scenario scenarios[] = {
	{ "all-served", all_served },
	{ "idle-connections", idle_connections },
	{ "locks-in-order", locks_in_order },
	{ "served-at-once", served_at_once },
	{ nullptr, nullptr },
};

int main(int argc, char **argv)
{
	return corpus_main(argc, argv, scenarios);
}
