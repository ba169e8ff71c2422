// SPDX-License-Identifier: MIT
// session.h - what one client said and what it will be told; how the bytes travel is not its story.
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

	// Answer what has come in, but not more than others would want to wait for, and no
	// more than may wait to be sent.  True: there is more.
	bool answer();

	// Of the answers, what was not sent yet.
	std::string_view to_send() const
	{
		return std::string_view(out_).substr(sent_);
	}
	void sent(size_t size);

	// It said goodbye, or something that nobody can understand.
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
