// SPDX-License-Identifier: MIT
// await.h - the awaiters of the server.
//
// The wait comes first, then the system call: a client that was just answered has usually not
// sent anything yet, so an immediate call would be wasted.
#pragma once

#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client.h"
#include "scheduler.h"

// Wait until a descriptor is ready.
class AsyncWait
{
      public:
	AsyncWait(Scheduler *scheduler, int fd, uint32_t events, corotracer::Wait why)
	    : scheduler_(scheduler)
	{
		waiter_.fd = fd;
		waiter_.events = events;
		waiter_.why = why;
	}

	bool await_ready() const noexcept
	{
		return false;
	}
	template <typename Promise> void await_suspend(std::coroutine_handle<Promise> self)
	{
		waiter_.coroutine = self;
		waiter_.trace = &self.promise();
		waiter_.tally = self.promise().tally();
		count_suspend(waiter_.tally);
		// Another thread may resume the coroutine before this returns: do not use *this.
		scheduler_->wait(&waiter_);
	}
	// For the trace: the reason and the resource.
	corotracer::Wait corotracer_wait() const
	{
		return waiter_.why;
	}
	// 0, or a negative errno if the call would fail.
	int await_resume() const noexcept
	{
		return -waiter_.error;
	}

      protected:
	int fd() const
	{
		return waiter_.fd;
	}
	int error() const
	{
		return -waiter_.error;
	}

      private:
	Scheduler *scheduler_;
	Waiter waiter_;
};

// Wait until the client has sent something; returns as Client::receive().
class AsyncRead : public AsyncWait
{
      public:
	AsyncRead(Scheduler *scheduler, Client *client)
	    : AsyncWait(scheduler, client->fd(), EPOLLIN, corotracer::reading(client->fd())),
	      client_(client)
	{
	}
	ssize_t await_resume()
	{
		return error() ? error() : client_->receive();
	}

      private:
	Client *client_;
};

// Wait until there is room to send: 0 or a negative errno.
class AsyncWritable : public AsyncWait
{
      public:
	AsyncWritable(Scheduler *scheduler, const Client &client)
	    : AsyncWait(scheduler, client.fd(), EPOLLOUT, corotracer::writing(client.fd()))
	{
	}
};

// Wait until a client connects: a descriptor, or a negative errno.
class AsyncAccept : public AsyncWait
{
      public:
	AsyncAccept(Scheduler *scheduler, int fd)
	    : AsyncWait(scheduler, fd, EPOLLIN, corotracer::accepting(fd))
	{
	}
	int await_resume()
	{
		int client;

		if (error())
			return error();
		client = accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
		return client < 0 ? -errno : client;
	}
};

// Wait until one of the signals of @fd, a signalfd, arrives: 0 or a negative errno.
class AsyncSignal : public AsyncWait
{
      public:
	AsyncSignal(Scheduler *scheduler, int fd)
	    : AsyncWait(scheduler, fd, EPOLLIN, corotracer::waiting(CTP_REASON_SIGNAL))
	{
	}
};

// Let other coroutines run first.
class Yield
{
      public:
	explicit Yield(Scheduler *scheduler) : scheduler_(scheduler)
	{
	}

	bool await_ready() const noexcept
	{
		return false;
	}
	template <typename Promise> void await_suspend(std::coroutine_handle<Promise> self)
	{
		Tally *tally = self.promise().tally();

		count_suspend(tally);
		scheduler_->post(self, tally);
	}
	void await_resume() const noexcept
	{
	}
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::yielding();
	}

      private:
	Scheduler *scheduler_;
};
