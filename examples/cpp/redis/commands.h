// SPDX-License-Identifier: MIT
// commands.h - the commands of the server: one table, one function each.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store.h"

using Args = std::vector<std::string_view>;

// State that all clients of a server share.
struct Keyspace {
	Store store;
	std::atomic<uint64_t> commands{ 0 }; // answered so far
};

// State of one client.
struct ClientState {
	uint64_t id = 0;
	bool wants_to_leave = false; // after QUIT: answer, then close
};

// Append the answer to @args, which has at least one word, to @out.
void run_command(Keyspace *keys, ClientState *client, const Args &args, std::string *out);
