// SPDX-License-Identifier: MIT
// server.h - accepts clients, serves each in its own coroutine, ends on a signal.
#pragma once

#include <atomic>
#include <cstdint>

#include "redis/commands.h"
#include "scheduler.h"

struct Server {
	Server(Scheduler *on, Census *books) : scheduler(on), census(books)
	{
	}

	Scheduler *scheduler;
	Census *census;
	Keyspace keys;
	Fd listener, signals, spare; // spare: closed when descriptors run out
	uint64_t max_clients = 10000;
	std::atomic<uint64_t> nr_clients{ 0 };  // connected now
	std::atomic<uint64_t> nr_accepted{ 0 }; // so far
	std::atomic<uint64_t> nr_refused{ 0 };
};

// Spawn the two coroutines that spawn the others.
void start(Server *server);
