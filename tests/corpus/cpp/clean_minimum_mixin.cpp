// SPDX-License-Identifier: MIT
// clean_minimum_mixin.cpp - a server that uses only the base class of the SDK.
//
// No names, reasons, resources or wakes.  Half of the connections are idle from the beginning,
// and the others become idle one by one.
//
// corpus: clean
#include "epoll_loop.hpp"
#include "pool_executor.hpp"

// An awaiter without a reason.
struct Input {
	EpollLoop::IoWait wait;

	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		wait.await_suspend(h);
	}
	void await_resume() const noexcept
	{
	}
};

static PoolJob echo_serve(EpollLoop &loop, int fd)
{
	char buffer[64];

	for (;;) {
		co_await Input{ loop.readable(fd) };
		ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n <= 0 || write(fd, buffer, static_cast<size_t>(n)) != n)
			co_return;
	}
}

static void client_send(const std::vector<int> &clients, int round)
{
	char buffer[64];

	for (size_t i = 0; i < clients.size() / 2; i++) {
		if (static_cast<size_t>(round) > i * 10)
			continue;
		while (read(clients[i], buffer, sizeof(buffer)) > 0)
			;
		if (write(clients[i], "ping", 4) != 4)
			return;
	}
}

int main()
{
	EpollLoop loop;
	std::vector<int> clients;

	corotracer::InitTracer();
	for (int i = 0; i < 20; i++) {
		SocketPair pair;

		echo_serve(loop, pair.fd[0]);
		clients.push_back(pair.fd[1]);
	}
	for (int round = 0; round < 25; round++) {
		client_send(clients, round * 4);
		loop.run_for(50);
	}
	return 0;
}
