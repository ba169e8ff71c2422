// SPDX-License-Identifier: MIT
// listen.cpp - a listening socket on the loopback interface.
#include "listen.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static constexpr int BACKLOG = 1024;

int listen_on_loopback(uint16_t *port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
	sockaddr_in addr = {};
	socklen_t size = sizeof(addr);
	auto *generic = reinterpret_cast<sockaddr *>(&addr);

	if (fd < 0)
		return -1;
	addr.sin_family = AF_INET;
	addr.sin_port = htons(*port);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, generic, size) != 0 || listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, generic, &size) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	*port = ntohs(addr.sin_port);
	return fd;
}

bool write_port(const std::string &path, uint16_t port)
{
	std::string part = path + ".part";
	FILE *f = std::fopen(part.c_str(), "w");

	if (!f)
		return false;
	std::fprintf(f, "%u\n", port);
	return std::fclose(f) == 0 && std::rename(part.c_str(), path.c_str()) == 0;
}
