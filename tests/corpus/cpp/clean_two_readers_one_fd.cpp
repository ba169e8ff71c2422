// SPDX-License-Identifier: MIT
// clean_two_readers_one_fd.cpp - several coroutines wait for the same descriptor.
//
// Two consumers, one of them started later, take messages from one socket, as several threads
// would.  A writer waits for room in the same socket.
//
// corpus: clean
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<> message_consume(EpollLoop &loop, int fd, int after_ms)
{
	char buffer[16];

	co_await loop.sleep_ms(after_ms);
	for (;;) {
		co_await loop.readable(fd);
		if (read(fd, buffer, 4) == 4) // the other consumer may have been faster
			co_await loop.sleep_ms(1);
	}
}

static Lazy<> status_write(EpollLoop &loop, int fd)
{
	for (;;) {
		co_await loop.writable(fd);
		if (write(fd, "okay", 4) != 4)
			co_await loop.sleep_ms(1);
		co_await loop.sleep_ms(25);
	}
}

static Lazy<> message_produce(EpollLoop &loop, int fd)
{
	char buffer[256];

	for (int i = 0; i < 90; i++) {
		co_await loop.sleep_ms(8);
		for (int burst = 0; burst <= i % 3; burst++)
			if (write(fd, "work", 4) != 4)
				co_return;
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
	}
	// Silence: both consumers wait, and that is fine.
}

int main()
{
	EpollLoop loop;
	SocketPair pair;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("consumer-0", message_consume, loop, pair.fd[0], 0));
	detach_lazy(corotracer::named("status", status_write, loop, pair.fd[0]));
	detach_lazy(corotracer::named("producer", message_produce, loop, pair.fd[1]));
	detach_lazy(corotracer::named("consumer-1", message_consume, loop, pair.fd[0], 200));
	loop.run_for(1400);
	return 0;
}
