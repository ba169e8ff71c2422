// SPDX-License-Identifier: MIT
// server.h - the same Redis on Asio: its threads, its sockets, its coroutines.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/signal_set.hpp>
#include <asio/strand.hpp>

#include "redis/census.h"
#include "redis/commands.h"

struct Server {
	explicit Server(Census *books) : census(books)
	{
	}

	asio::io_context context;
	asio::ip::tcp::acceptor acceptor{ asio::make_strand(
		context) }; // the strand of accept and stop
	asio::signal_set signals{ acceptor.get_executor(), SIGINT, SIGTERM };
	Census *census;
	Keyspace keys;
	std::atomic<uint64_t> nr_accepted{ 0 };

	// The connected sockets, to close them when the server stops.
	std::mutex lock;
	std::map<uint64_t, std::shared_ptr<asio::ip::tcp::socket>> sockets;
	bool is_stopping = false;
};

// Run on @nr_threads threads, until SIGTERM or SIGINT arrives and all clients are disconnected.
void serve_until_told(Server *server, unsigned nr_threads);
