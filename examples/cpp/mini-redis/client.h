// SPDX-License-Identifier: MIT
// client.h - one connection: a session over a socket, non-blocking.
#pragma once

#include "fd.h"
#include "redis/session.h"

class Client
{
      public:
	Client(Keyspace *keys, Fd fd, uint64_t id) : fd_(std::move(fd)), session_(keys, id)
	{
	}

	int fd() const
	{
		return fd_.get();
	}
	bool is_leaving() const
	{
		return session_.is_leaving();
	}
	bool answer()
	{
		return session_.answer();
	}

	// Reads what is available.  0: the client has closed; -EAGAIN: nothing yet; other -errno.
	ssize_t receive();

	// Everything is sent; the client reads slowly; the client is disconnected.
	enum Sent { ALL, SOME, GONE };
	Sent send();

      private:
	Fd fd_;
	Session session_;
};
