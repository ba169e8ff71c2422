// SPDX-License-Identifier: MIT
// server.cpp - accepts clients, serves each in its own coroutine, ends on a signal.
#include "server.h"

#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/signalfd.h>

#include "await.h"

// Counts a connected client, however the coroutine ends.
class Seat
{
      public:
	explicit Seat(Server *server) : server_(server)
	{
		server_->nr_clients++;
	}
	Seat(const Seat &) = delete;
	~Seat()
	{
		server_->nr_clients--;
	}

      private:
	Server *server_;
};

// Create a coroutine with this name, in the trace and in the census.
template <typename T, typename... Parameters, typename... Args>
static Task<T> make(Server *server, const std::string &name,
		    Task<T> (*body)(Server *, Parameters...), Args &&...args)
{
	Task<T> task = corotracer::named(name.c_str(), body, server, std::forward<Args>(args)...);

	task.set_tally(server->census->enter(name));
	return task;
}

// Send the remaining answers as fast as the client reads.  False: the client is disconnected.
static Task<bool> drain(Server *server, Client *client)
{
	Client::Sent sent = Client::SOME;

	while (sent == Client::SOME) {
		int error = co_await AsyncWritable(server->scheduler, *client);

		sent = error ? Client::GONE : client->send();
	}
	co_return sent == Client::ALL;
}

// Answer all requests that have arrived.  A client that sends faster than it reads is made to wait,
// and one with many requests yields to the others.
static Task<> serve(Server *server, Fd fd, uint64_t id)
{
	Client client(&server->keys, std::move(fd), id);
	Seat seat(server);
	auto name = [id, nr = 0]() mutable {
		return "client " + std::to_string(id) + " answers " + std::to_string(++nr);
	};
	bool is_there = true;

	while (is_there && !client.is_leaving()) {
		ssize_t n = co_await AsyncRead(server->scheduler, &client);
		bool more = n > 0;

		is_there = n > 0 || n == -EAGAIN || n == -EINTR;
		while (is_there && more) {
			more = client.answer();
			switch (client.send()) {
			case Client::ALL:
				if (more)
					co_await Yield(server->scheduler);
				break;
			case Client::SOME:
				is_there = co_await make(server, name(), drain, &client);
				break;
			case Client::GONE:
				is_there = false;
			}
		}
	}
}

// Serve a new client; above the limit it gets an error reply, as from Redis.
static void welcome(Server *server, Fd fd)
{
	static const char full[] = "-ERR max number of clients reached\r\n";
	int yes = 1;

	if (server->nr_clients >= server->max_clients) {
		server->nr_refused++;
		send(fd.get(), full, sizeof(full) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	uint64_t id = ++server->nr_accepted;

	server->scheduler->spawn(
		make(server, "client " + std::to_string(id), serve, std::move(fd), id));
}

// No descriptor is left for a new client: close the spare one, to accept and disconnect the client.
static void turn_away(Server *server)
{
	server->spare = Fd();
	Fd one(accept(server->listener.get(), nullptr, nullptr));

	one = Fd();
	server->nr_refused++;
	server->spare = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static Task<> accept_clients(Server *server)
{
	int fd;

	while ((fd = co_await AsyncAccept(server->scheduler, server->listener.get())) !=
	       -ECANCELED) {
		if (fd >= 0)
			welcome(server, Fd(fd));
		else if (fd == -EMFILE || fd == -ENFILE)
			turn_away(server);
	}
}

static Task<> stop_on_signal(Server *server)
{
	signalfd_siginfo info;

	co_await AsyncSignal(server->scheduler, server->signals.get());
	if (read(server->signals.get(), &info, sizeof(info)) == sizeof(info))
		server->scheduler->stop();
}

void start(Server *server)
{
	server->scheduler->spawn(make(server, "acceptor", accept_clients));
	server->scheduler->spawn(make(server, "signals", stop_on_signal));
}
