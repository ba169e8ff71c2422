// SPDX-License-Identifier: MIT
// main.cpp - asio-redis: the same small Redis, on Asio's coroutines.
//
//	corotracer run -o trace.jsonl -- asio-redis --port 6379
#include <cerrno>
#include <cstdio>

#include <corotracer/coroTracer.h>

#include "redis/listen.h"
#include "redis/options.h"
#include "server.h"

static const Program program = {
	"asio-redis",
	"usage: asio-redis [--port N] [--threads N]\n"
	"\n"
	"Serves Redis clients on 127.0.0.1, each in a coroutine of Asio's.  SIGTERM or Ctrl-C\n"
	"ends it.\n"
	"\n"
	"  --port N          listen there (default 6379); 0: on any that is free\n"
	"  --port-file FILE  write the port to FILE once clients may come\n"
	"  --threads N       threads that run the coroutines (default 4)\n"
	"  --census FILE     at the end, write what each coroutine did as the server counted it\n",
	false,
};

int main(int argc, char **argv)
{
	ServerOptions o;

	if (!parse_options(program, argc, argv, &o))
		return 2;
	corotracer::InitTracer();

	Census census(!o.census.empty());
	Server server(&census);
	int fd = listen_on_loopback(&o.port);

	if (fd < 0)
		return fail(program, "cannot listen on that port", errno);
	server.acceptor.assign(asio::ip::tcp::v4(), fd);
	if (!o.port_file.empty() && !write_port(o.port_file, o.port))
		return fail(program, "cannot write the port file", errno);
	std::printf("asio-redis: ready on 127.0.0.1:%u, %u threads\n", o.port, o.nr_threads);
	std::fflush(stdout);
	serve_until_told(&server, o.nr_threads);
	std::printf("asio-redis: stopped; %llu commands from %llu clients\n",
		    static_cast<unsigned long long>(server.keys.commands),
		    static_cast<unsigned long long>(server.nr_accepted));
	if (!o.census.empty() && !census.write(o.census))
		return fail(program, "cannot write the census", errno);
	return 0;
}
