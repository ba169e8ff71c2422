// SPDX-License-Identifier: MIT
// client.cpp - one connection: a session over a socket, non-blocking.
#include "client.h"

#include <cerrno>
#include <sys/socket.h>

static constexpr size_t RECEIVE = 64 * 1024;

// One buffer per thread: ten thousand silent clients need no memory for it.
ssize_t Client::receive()
{
	static thread_local char buffer[RECEIVE];
	ssize_t n = ::recv(fd(), buffer, sizeof(buffer), MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	session_.hear(buffer, static_cast<size_t>(n));
	return n;
}

Client::Sent Client::send()
{
	for (std::string_view rest = session_.to_send(); !rest.empty(); rest = session_.to_send()) {
		ssize_t n = ::send(fd(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? SOME : GONE;
		session_.sent(static_cast<size_t>(n));
	}
	return ALL;
}
