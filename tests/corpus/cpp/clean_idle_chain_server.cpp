// SPDX-License-Identifier: MIT
// clean_idle_chain_server.cpp - a server with deep chains of tasks, most of which are idle.
//
// Each connection is a chain of five tasks, linked by symmetric transfer.  Some clients talk all
// the time; the others said something at the beginning and keep their connection.
//
// corpus: clean
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<ssize_t> socket_read(EpollLoop &loop, int fd, char *buffer, size_t size)
{
	co_await loop.readable(fd);
	co_return read(fd, buffer, size);
}

static Lazy<std::string> line_read(EpollLoop &loop, int fd)
{
	std::string line;
	char buffer[64];

	while (line.find('\n') == std::string::npos) {
		ssize_t n = co_await socket_read(loop, fd, buffer, sizeof(buffer));

		if (n <= 0)
			break;
		line.append(buffer, static_cast<size_t>(n));
	}
	co_return line;
}

static Lazy<std::string> request_read(EpollLoop &loop, int fd)
{
	std::string request = co_await line_read(loop, fd);

	co_return request;
}

static Lazy<bool> request_handle(EpollLoop &loop, int fd)
{
	std::string request = co_await request_read(loop, fd);

	if (request.empty())
		co_return false;
	co_await loop.writable(fd);
	co_return write(fd, request.data(), request.size()) > 0;
}

static Lazy<> connection_run(EpollLoop &loop, int fd)
{
	bool is_open = true;

	while (is_open)
		is_open = co_await request_handle(loop, fd);
}

static Lazy<> line_client(EpollLoop &loop, int fd, int id)
{
	char buffer[64];

	for (int i = 0; i < (id % 4 == 0 ? 1000 : 2); i++) {
		co_await loop.sleep_ms(5 + id % 7);
		if (write(fd, "get\n", 4) != 4)
			co_return;
		co_await loop.readable(fd);
		if (read(fd, buffer, sizeof(buffer)) <= 0)
			co_return;
	}
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 24; i++) {
		std::string server = "conn-" + std::to_string(i);
		std::string client = "client-" + std::to_string(i);
		SocketPair pair;

		detach_lazy(corotracer::named(server.c_str(), connection_run, loop, pair.fd[0]));
		detach_lazy(corotracer::named(client.c_str(), line_client, loop, pair.fd[1], i));
	}
	loop.run_for(1500);
	return 0;
}
