// SPDX-License-Identifier: MIT
// options.cpp - the command line of both servers.
#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>

#include "words.h"

static bool parse_number(const Program &program, int64_t min, int64_t max, int64_t *out)
{
	if (parse_integer(optarg, out) && *out >= min && *out <= max)
		return true;
	std::fprintf(stderr, "%s: '%s' is no number from %lld to %lld\n", program.name, optarg,
		     static_cast<long long>(min), static_cast<long long>(max));
	return false;
}

static bool parse_option(const Program &program, int c, ServerOptions *out)
{
	int64_t n = 0;
	bool good = true;

	switch (c) {
	case 'p':
		good = parse_number(program, 0, 65535, &n);
		out->port = static_cast<uint16_t>(n);
		return good;
	case 't':
		good = parse_number(program, 1, 256, &n);
		out->nr_threads = static_cast<unsigned>(n);
		return good;
	case 'm':
		good = parse_number(program, 1, 1000000, &n);
		out->max_clients = static_cast<uint64_t>(n);
		return good;
	case 'l':
		out->lose_wakeups = true;
		return true;
	case 'f':
		out->port_file = optarg;
		return true;
	case 'c':
		out->census = optarg;
		return true;
	case 'h':
		std::fputs(program.usage, stdout);
		std::exit(0);
	default:
		std::fputs(program.usage, stderr);
		return false;
	}
}

bool parse_options(const Program &program, int argc, char **argv, ServerOptions *out)
{
	static const option table[] = {
		{ "max-clients", required_argument, nullptr, 'm' },
		{ "lose-wakeups", no_argument, nullptr, 'l' },
		{ "port", required_argument, nullptr, 'p' },
		{ "port-file", required_argument, nullptr, 'f' },
		{ "threads", required_argument, nullptr, 't' },
		{ "census", required_argument, nullptr, 'c' },
		{ "help", no_argument, nullptr, 'h' },
		{},
	};
	const option *known = program.is_mini ? table : table + 2;
	int c;

	while ((c = getopt_long(argc, argv, "h", known, nullptr)) != -1)
		if (!parse_option(program, c, out))
			return false;
	if (optind < argc) {
		std::fputs(program.usage, stderr);
		return false;
	}
	return true;
}

int fail(const Program &program, const char *what, int error)
{
	std::fprintf(stderr, "%s: %s: %s\n", program.name, what, std::strerror(error));
	return 1;
}
