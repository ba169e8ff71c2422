// SPDX-License-Identifier: MIT
// options.h - the command line of both servers.
#pragma once

#include <cstdint>
#include <string>

struct ServerOptions {
	uint16_t port = 6379;
	unsigned nr_threads = 4;
	std::string port_file, census;
	// Only for mini-redis.
	uint64_t max_clients = 10000;
	bool lose_wakeups = false;
};

// The name and the usage text of a program.
struct Program {
	const char *name, *usage;
	bool is_mini; // has the last two options, too
};

// False: the error was printed on stderr.  --help ends the program.
bool parse_options(const Program &program, int argc, char **argv, ServerOptions *out);

// Prints "mini-redis: cannot do that: No such file or directory"; returns 1.
int fail(const Program &program, const char *what, int error);
