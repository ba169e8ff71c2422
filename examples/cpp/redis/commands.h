// SPDX-License-Identifier: MIT
// commands.h - what the server can do: one table, one function each.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store.h"

using Args = std::vector<std::string_view>;

// What all clients of a server share.
struct Keyspace {
	Store store;
	std::atomic<uint64_t> commands{ 0 }; // answered so far
};

// What is a client's own.
struct ClientState {
	uint64_t id = 0;
	bool wants_to_leave = false; // it said QUIT: answer, then close
};

// The answer to @args, which has a word at least, is appended to @out.
void run_command(Keyspace *keys, ClientState *client, const Args &args, std::string *out);
