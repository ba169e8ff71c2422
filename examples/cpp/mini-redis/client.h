// SPDX-License-Identifier: MIT
// client.h - one connection: a session over a socket, without any waiting.
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

	// What is there now.  0: the other side has closed; -EAGAIN: nothing yet; -errno.
	ssize_t receive();

	// Nothing is left to be sent; the other side is slow; it is gone.
	enum Sent { ALL, SOME, GONE };
	Sent send();

      private:
	Fd fd_;
	Session session_;
};
