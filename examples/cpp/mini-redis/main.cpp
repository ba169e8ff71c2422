// SPDX-License-Identifier: MIT
// main.cpp - mini-redis: a small Redis on coroutines, to be traced.
//
//	corotracer run -o trace.jsonl -- mini-redis --port 6379
//	corotracer run -o trace.jsonl -- mini-redis --port 6379 --lose-wakeups
//
// The second one never wakes a coroutine whose client has disconnected; the trace shows these
// coroutines, their sites and their descriptors.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/signalfd.h>

#include <corotracer/coroTracer.h>

#include "redis/listen.h"
#include "redis/options.h"
#include "server.h"

static const Program program = {
	"mini-redis",
	"usage: mini-redis [--port N] [--threads N] [--lose-wakeups]\n"
	"\n"
	"Serves Redis clients on 127.0.0.1, each in a coroutine.  SIGTERM or Ctrl-C ends it.\n"
	"\n"
	"  --port N          listen there (default 6379); 0: on any that is free\n"
	"  --port-file FILE  write the port to FILE once clients may come\n"
	"  --threads N       workers that run the coroutines (default 4)\n"
	"  --max-clients N   as many at a time, and no more (default 10000)\n"
	"  --lose-wakeups    a bug: close what a client has left, and forget who waits for it\n"
	"  --census FILE     at the end, write what each coroutine did as the server counted it\n",
	true,
};

// SIGINT and SIGTERM arrive through a descriptor, like all other events.
static int open_signals()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, nullptr);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int serve_until_told(Server *server, const ServerOptions &o)
{
	int error = server->scheduler->open();
	uint16_t port = o.port;

	if (error)
		return fail(program, "cannot make an epoll", -error);
	server->signals = Fd(open_signals());
	if (server->signals.get() < 0)
		return fail(program, "cannot make a signalfd", errno);
	server->spare = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	server->listener = Fd(listen_on_loopback(&port));
	if (server->listener.get() < 0)
		return fail(program, "cannot listen on that port", errno);
	if (!o.port_file.empty() && !write_port(o.port_file, port))
		return fail(program, "cannot write the port file", errno);
	std::printf("mini-redis: ready on 127.0.0.1:%u, %u workers\n", port, o.nr_threads);
	std::fflush(stdout);
	start(server);
	error = server->scheduler->run();
	return error ? fail(program, "cannot start a thread", -error) : 0;
}

int main(int argc, char **argv)
{
	ServerOptions o;

	if (!parse_options(program, argc, argv, &o))
		return 2;
	corotracer::InitTracer();

	// Static: coroutines that were never woken still point to these after main() returns.
	static Census census(!o.census.empty());
	static Scheduler scheduler({ o.nr_threads, o.lose_wakeups });
	static Server server(&scheduler, &census);

	server.max_clients = o.max_clients;
	if (serve_until_told(&server, o))
		return 1;
	std::printf("mini-redis: stopped; %llu commands from %llu clients\n",
		    static_cast<unsigned long long>(server.keys.commands),
		    static_cast<unsigned long long>(server.nr_accepted));
	if (!o.census.empty() && !census.write(o.census))
		return fail(program, "cannot write the census", errno);
	return 0;
}
