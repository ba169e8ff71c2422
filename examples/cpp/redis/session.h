// SPDX-License-Identifier: MIT
// session.h - the requests of one client and the answers to them; without any I/O.
#pragma once

#include <string>
#include <string_view>

#include "redis/commands.h"
#include "redis/request.h"

class Session
{
      public:
	Session(Keyspace *keys, uint64_t id) : keys_(keys)
	{
		state_.id = id;
	}

	void hear(const char *bytes, size_t size)
	{
		in_.append(bytes, size);
	}

	// Answer the requests that have arrived, limited so that other clients do not wait too long
	// and unsent answers do not grow.  True: there are more requests.
	bool answer();

	// The part of the answers that is not sent yet.
	std::string_view to_send() const
	{
		return std::string_view(out_).substr(sent_);
	}
	void sent(size_t size);

	// The client sent QUIT, or corrupt data.
	bool is_leaving() const
	{
		return is_leaving_;
	}

      private:
	Keyspace *keys_;
	ClientState state_;
	RequestReader in_;
	std::string out_;
	size_t sent_ = 0; // of out_
	bool is_leaving_ = false;
};
