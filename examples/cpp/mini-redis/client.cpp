// SPDX-License-Identifier: MIT
// client.cpp - one connection: what came in, what is to go out; without any waiting.
#include "client.h"

#include <cerrno>
#include <sys/socket.h>

#include "redis/reply.h"

static constexpr size_t RECEIVE = 64 * 1024;
// Answers that wait to be sent; a client that does not read them gets no further ones.
static constexpr size_t OUT_AT_MOST = 64 * 1024;
// Commands of one client in a row.
static constexpr unsigned IN_A_ROW = 256;
// Room that is kept between two answers.
static constexpr size_t KEEP_ROOM = 256 * 1024;

Client::Client(Keyspace *keys, Fd fd, uint64_t id) : keys_(keys), fd_(std::move(fd))
{
	state_.id = id;
}

// One buffer a thread: ten thousand clients who say nothing need none.
ssize_t Client::receive()
{
	static thread_local char buffer[RECEIVE];
	ssize_t n = ::recv(fd(), buffer, sizeof(buffer), MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	in_.append(buffer, static_cast<size_t>(n));
	return n;
}

bool Client::answer()
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

Client::Sent Client::send()
{
	while (sent_ < out_.size()) {
		ssize_t n = ::send(fd(), out_.data() + sent_, out_.size() - sent_,
				   MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? SOME : GONE;
		sent_ += static_cast<size_t>(n);
	}
	out_.clear();
	sent_ = 0;
	if (out_.capacity() > KEEP_ROOM)
		out_.shrink_to_fit();
	return ALL;
}
