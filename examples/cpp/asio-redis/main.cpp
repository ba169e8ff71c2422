// SPDX-License-Identifier: MIT
// main.cpp - asio-redis: the small Redis again, on Asio's coroutines.
//
//	corotracer run -o trace.jsonl -- asio-redis --port 6379
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <getopt.h>
#include <string>

#include <corotracer/coroTracer.h>

#include "redis/listen.h"
#include "redis/words.h"
#include "server.h"

struct Options {
	uint16_t port = 6379;
	unsigned nr_threads = 4;
	std::string port_file, census;
};

static const char usage[] =
	"usage: asio-redis [--port N] [--threads N]\n"
	"\n"
	"Serves Redis clients on 127.0.0.1, each in a coroutine of Asio's.  SIGTERM or Ctrl-C\n"
	"ends it.\n"
	"\n"
	"  --port N          listen there (default 6379); 0: on any that is free\n"
	"  --port-file FILE  write the port to FILE once clients may come\n"
	"  --threads N       threads that run the coroutines (default 4)\n"
	"  --census FILE     at the end, write what each coroutine did as the server counted it\n";

static bool parse_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
	if (parse_integer(text, out) && *out >= min && *out <= max)
		return true;
	std::fprintf(stderr, "asio-redis: '%s' is no number from %lld to %lld\n", text,
		     static_cast<long long>(min), static_cast<long long>(max));
	return false;
}

static bool parse_option(int c, Options *o)
{
	int64_t n = 0;

	switch (c) {
	case 'p':
		if (!parse_number(optarg, 0, 65535, &n))
			return false;
		o->port = static_cast<uint16_t>(n);
		return true;
	case 't':
		if (!parse_number(optarg, 1, 256, &n))
			return false;
		o->nr_threads = static_cast<unsigned>(n);
		return true;
	case 'f':
		o->port_file = optarg;
		return true;
	case 'c':
		o->census = optarg;
		return true;
	case 'h':
		std::fputs(usage, stdout);
		std::exit(0);
	default:
		std::fputs(usage, stderr);
		return false;
	}
}

static bool parse_options(int argc, char **argv, Options *o)
{
	static const option table[] = {
		{ "port", required_argument, nullptr, 'p' },
		{ "port-file", required_argument, nullptr, 'f' },
		{ "threads", required_argument, nullptr, 't' },
		{ "census", required_argument, nullptr, 'c' },
		{ "help", no_argument, nullptr, 'h' },
		{},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", table, nullptr)) != -1)
		if (!parse_option(c, o))
			return false;
	if (optind < argc) {
		std::fputs(usage, stderr);
		return false;
	}
	return true;
}

static int fail(const char *what)
{
	std::fprintf(stderr, "asio-redis: %s: %s\n", what, std::strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	Options o;

	if (!parse_options(argc, argv, &o))
		return 2;
	corotracer::InitTracer();

	Census census(!o.census.empty());
	Server server(&census);
	int fd = listen_on_loopback(&o.port);

	if (fd < 0)
		return fail("cannot listen on that port");
	server.acceptor.assign(asio::ip::tcp::v4(), fd);
	if (!o.port_file.empty() && !write_port(o.port_file, o.port))
		return fail("cannot write the port file");
	std::printf("asio-redis: ready on 127.0.0.1:%u, %u threads\n", o.port, o.nr_threads);
	std::fflush(stdout);
	serve_until_told(&server, o.nr_threads);
	std::printf("asio-redis: stopped; %llu commands from %llu clients\n",
		    static_cast<unsigned long long>(server.keys.commands),
		    static_cast<unsigned long long>(server.nr_accepted));
	if (!o.census.empty() && !census.write(o.census))
		return fail("cannot write the census");
	return 0;
}
