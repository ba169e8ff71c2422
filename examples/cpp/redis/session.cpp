// SPDX-License-Identifier: MIT
// session.cpp - the requests of one client and the answers to them.
#include "session.h"

#include "reply.h"

// The limit of unsent answers; a client that does not read gets no further answers.
static constexpr size_t OUT_AT_MOST = 64 * 1024;
// The limit of consecutive commands of one client.
static constexpr unsigned IN_A_ROW = 256;
// The capacity that is kept between two answers.
static constexpr size_t KEEP_ROOM = 256 * 1024;

bool Session::answer()
{
	for (unsigned nr = 0; nr < IN_A_ROW && out_.size() < OUT_AT_MOST; nr++) {
		switch (in_.next()) {
		case RequestReader::MORE:
			return false;
		case RequestReader::BROKEN:
			reply_error(&out_, in_.error());
			is_leaving_ = true;
			return false;
		case RequestReader::COMMAND:
			run_command(keys_, &state_, in_.args(), &out_);
			is_leaving_ = state_.wants_to_leave;
			if (is_leaving_)
				return false;
		}
	}
	return true;
}

void Session::sent(size_t size)
{
	sent_ += size;
	if (sent_ < out_.size())
		return;
	out_.clear();
	sent_ = 0;
	if (out_.capacity() > KEEP_ROOM)
		out_.shrink_to_fit();
}
