// SPDX-License-Identifier: MIT
// main.cpp - mini-redis: a small Redis on coroutines, to be looked at.
//
//	corotracer run -o trace.jsonl -- mini-redis --port 6379
//	corotracer run -o trace.jsonl -- mini-redis --port 6379 --lose-wakeups
//
// The second forgets every coroutine whose client goes away; the trace tells which these are,
// where they wait, and on which descriptor.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <getopt.h>
#include <string>
#include <sys/signalfd.h>

#include <corotracer/coroTracer.h>

#include "redis/listen.h"
#include "redis/words.h"
#include "server.h"

struct Options {
	uint16_t port = 6379;
	unsigned nr_workers = 4;
	uint64_t max_clients = 10000;
	bool lose_wakeups = false;
	std::string port_file, census;
};

static const char usage[] =
	"usage: mini-redis [--port N] [--workers N] [--lose-wakeups]\n"
	"\n"
	"Serves Redis clients on 127.0.0.1, each in a coroutine.  SIGTERM or Ctrl-C ends it.\n"
	"\n"
	"  --port N          listen there (default 6379); 0: on any that is free\n"
	"  --port-file FILE  write the port to FILE once clients may come\n"
	"  --workers N       threads that run the coroutines (default 4)\n"
	"  --max-clients N   as many at a time, and no more (default 10000)\n"
	"  --lose-wakeups    a bug: close what a client has left, and forget who waits for it\n"
	"  --census FILE     at the end, write what each coroutine did as the server counted it\n";

static bool parse_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
	if (parse_integer(text, out) && *out >= min && *out <= max)
		return true;
	std::fprintf(stderr, "mini-redis: '%s' is no number from %lld to %lld\n", text,
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
	case 'w':
		if (!parse_number(optarg, 1, 256, &n))
			return false;
		o->nr_workers = static_cast<unsigned>(n);
		return true;
	case 'm':
		if (!parse_number(optarg, 1, 1000000, &n))
			return false;
		o->max_clients = static_cast<uint64_t>(n);
		return true;
	case 'l':
		o->lose_wakeups = true;
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
		{ "workers", required_argument, nullptr, 'w' },
		{ "max-clients", required_argument, nullptr, 'm' },
		{ "lose-wakeups", no_argument, nullptr, 'l' },
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

static int fail(const char *what, int error)
{
	std::fprintf(stderr, "mini-redis: %s: %s\n", what, std::strerror(error));
	return 1;
}

// SIGINT and SIGTERM come through a descriptor, like everything else.
static int open_signals()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, nullptr);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int serve_until_told(Server *server, const Options &o)
{
	int error = server->scheduler->open();
	uint16_t port = o.port;

	if (error)
		return fail("cannot make an epoll", -error);
	server->signals = Fd(open_signals());
	server->spare = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	server->listener = Fd(listen_on_loopback(&port));
	if (server->listener.get() < 0)
		return fail("cannot listen on that port", errno);
	if (!o.port_file.empty() && !write_port(o.port_file, port))
		return fail("cannot write the port file", errno);
	std::printf("mini-redis: ready on 127.0.0.1:%u, %u workers\n", port, o.nr_workers);
	std::fflush(stdout);
	start(server);
	error = server->scheduler->run();
	return error ? fail("cannot start a thread", -error) : 0;
}

int main(int argc, char **argv)
{
	Options o;

	if (!parse_options(argc, argv, &o))
		return 2;
	corotracer::InitTracer();

	// Static: what was forgotten still points to these when main() is over.
	static Census census(!o.census.empty());
	static Scheduler scheduler({ o.nr_workers, o.lose_wakeups });
	static Server server(&scheduler, &census);

	server.max_clients = o.max_clients;
	if (serve_until_told(&server, o))
		return 1;
	std::printf("mini-redis: stopped; %llu commands from %llu clients\n",
		    static_cast<unsigned long long>(server.keys.commands),
		    static_cast<unsigned long long>(server.nr_accepted));
	if (!o.census.empty() && !census.write(o.census))
		return fail("cannot write the census", errno);
	return 0;
}
