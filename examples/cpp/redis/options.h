// SPDX-License-Identifier: MIT
// options.h - the command line of both servers.
#pragma once

#include <cstdint>
#include <string>

struct ServerOptions {
	uint16_t port = 6379;
	unsigned nr_threads = 4;
	std::string port_file, census;
	// Of mini-redis only.
	uint64_t max_clients = 10000;
	bool lose_wakeups = false;
};

// Of which program, and what it says of itself.
struct Program {
	const char *name, *usage;
	bool is_mini; // has the last two options, too
};

// False: it was told on stderr what is wrong.  --help ends the program.
bool parse_options(const Program &program, int argc, char **argv, ServerOptions *out);

// "mini-redis: cannot do that: No such file or directory"; returns 1.
int fail(const Program &program, const char *what, int error);
