// SPDX-License-Identifier: MIT
// client.h - one connection: what came in, what is to go out; without any waiting.
#pragma once

#include <string>

#include "fd.h"
#include "redis/commands.h"
#include "redis/request.h"

class Client
{
      public:
	Client(Keyspace *keys, Fd fd, uint64_t id);

	int fd() const
	{
		return fd_.get();
	}

	// What is there now.  0: the other side has closed; -EAGAIN: nothing yet; -errno.
	ssize_t receive();

	// Answer what has come in, but not more than others would want to wait for, and no
	// more than fits.  True: there is more.
	bool answer();

	// Nothing is left to be sent; the other side is slow; it is gone.
	enum Sent { ALL, SOME, GONE };
	Sent send();

	// It said goodbye, or something that nobody can understand.
	bool is_leaving() const
	{
		return is_leaving_;
	}

      private:
	Keyspace *keys_;
	Fd fd_;
	ClientState state_;
	RequestReader in_;
	std::string out_;
	size_t sent_ = 0; // of out_
	bool is_leaving_ = false;
};
