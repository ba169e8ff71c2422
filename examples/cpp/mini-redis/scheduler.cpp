// SPDX-License-Identifier: MIT
// scheduler.cpp - many coroutines on a few threads, around one epoll.
#include "scheduler.h"

#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>

// Taken from epoll at once; other threads run those that this thread does not run itself.
static constexpr int EVENTS = 16;
// Poll at this interval even if the queue is never empty, so that new events are noticed.
static constexpr unsigned LOOK_EVERY = 64;

int Scheduler::open()
{
	epoll_event event = {};

	epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
	bell_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (epoll_.get() < 0 || bell_.get() < 0)
		return -errno;
	// Edge-triggered: every write wakes one thread, and the counter is never read.
	event.events = EPOLLIN | EPOLLET;
	event.data.fd = bell_.get();
	if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, bell_.get(), &event) != 0)
		return -errno;
	return 0;
}

// ---- waiting --------------------------------------------------------------------

// The caller is a worker and calls take() soon, which wakes other workers if necessary.
void Scheduler::push(const Ready &ready)
{
	queue_.push_back(ready);
}

void Scheduler::post(std::coroutine_handle<> coroutine, Tally *tally)
{
	std::lock_guard guard(lock_);

	push({ coroutine, tally });
}

// Arm for one event.  A descriptor that is new, or was closed and reopened, must be added first.
static int arm(int epoll, const Waiter &waiter)
{
	epoll_event event = {};

	event.events = waiter.events | EPOLLRDHUP | EPOLLONESHOT;
	event.data.fd = waiter.fd;
	if (epoll_ctl(epoll, EPOLL_CTL_MOD, waiter.fd, &event) == 0)
		return 0;
	if (errno == ENOENT && epoll_ctl(epoll, EPOLL_CTL_ADD, waiter.fd, &event) == 0)
		return 0;
	return errno;
}

void Scheduler::wait(Waiter *waiter)
{
	std::lock_guard guard(lock_);
	auto fd = static_cast<size_t>(waiter->fd);

	if (fd >= waiting_.size())
		waiting_.resize(fd + 64);
	waiter->error = is_stopping_ ? ECANCELED : arm(epoll_.get(), *waiter);
	if (waiter->error) {
		push({ waiter->coroutine, waiter->tally });
		return;
	}
	waiting_[fd] = waiter;
	nr_waiting_++;
}

// Remove and return the waiter of @fd.
Waiter *Scheduler::take_waiter(int fd)
{
	auto i = static_cast<size_t>(fd);
	Waiter *waiter = i < waiting_.size() ? waiting_[i] : nullptr;

	if (waiter) {
		waiting_[i] = nullptr;
		nr_waiting_--;
	}
	return waiter;
}

void Scheduler::stop()
{
	std::lock_guard guard(lock_);

	is_stopping_ = true;
	for (size_t fd = 0; fd < waiting_.size(); fd++) {
		Waiter *waiter = take_waiter(static_cast<int>(fd));

		if (!waiter)
			continue;
		waiter->error = ECANCELED;
		waiter->trace->wake();
		push({ waiter->coroutine, waiter->tally });
	}
}

void Scheduler::spawn(Task<> task)
{
	auto coroutine = task.detach();

	post(coroutine, coroutine.promise().tally());
}

// ---- the workers ------------------------------------------------------------------

void Scheduler::wake_a_worker()
{
	uint64_t one = 1;

	if (write(bell_.get(), &one, sizeof(one)) < 0) {
		// The counter is at its maximum.
	}
}

// @fd is ready: make its waiter ready to run.
void Scheduler::dispatch(int fd, uint32_t events)
{
	Waiter *waiter = take_waiter(fd);

	if (!waiter)
		return;
	if (opts_.lose_wakeups && events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		// The bug: the client has disconnected, so the descriptor is closed.  The waiting
		// coroutine is not woken, and nothing else refers to it any more.
		corotracer::closing(fd);
		close(fd);
		return;
	}
	// Before other threads can see it: after that it may be freed.
	waiter->trace->wake(waiter->why);
	push({ waiter->coroutine, waiter->tally });
}

void Scheduler::poll(std::unique_lock<std::mutex> &guard, int timeout_ms)
{
	epoll_event events[EVENTS];
	int nr;

	nr_polling_++;
	guard.unlock();
	nr = epoll_wait(epoll_.get(), events, EVENTS, timeout_ms);
	guard.lock();
	nr_polling_--;
	for (int i = 0; i < nr; i++)
		if (events[i].data.fd != bell_.get())
			dispatch(events[i].data.fd, events[i].events);
}

// False: the scheduler is stopping, and nothing can run any more.
bool Scheduler::take(std::unique_lock<std::mutex> &guard, Ready *next)
{
	while (queue_.empty()) {
		if (is_stopping_ && !nr_waiting_ && !nr_running_) {
			wake_a_worker(); // that worker returns here, too, and wakes the next
			return false;
		}
		poll(guard, -1);
	}
	*next = queue_.front();
	queue_.pop_front();
	nr_running_++;
	if (!queue_.empty() && nr_polling_)
		wake_a_worker();
	return true;
}

void Scheduler::work()
{
	std::unique_lock guard(lock_);
	unsigned turns = 0;
	Ready next;

	while (take(guard, &next)) {
		guard.unlock();
		count_resume(next.tally);
		next.coroutine.resume();
		// The coroutine may be destroyed, or running on another thread.
		guard.lock();
		nr_running_--;
		if (++turns % LOOK_EVERY == 0)
			poll(guard, 0);
	}
}

int Scheduler::run()
{
	std::vector<std::thread> others;
	int error = 0;

	try {
		for (unsigned i = 1; i < opts_.nr_workers; i++)
			others.emplace_back([this] { work(); });
	} catch (const std::system_error &e) {
		error = -e.code().value(); // continue with fewer threads
	}
	work();
	for (std::thread &other : others)
		other.join();
	return others.empty() && opts_.nr_workers > 1 ? error : 0;
}
