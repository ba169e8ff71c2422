// SPDX-License-Identifier: MIT
// bug_file_lock_in_handler.cpp - a coroutine waits for a file lock in a system call.
//
// A backup holds the lock of the journal for a while; the coroutine that writes the journal asks
// for it with flock() and stops its loop.
//
// corpus: bug
// class: blocking
// at: @stuck|@blocks|@next
// victims: journal
// never: lost-wakeup, wake-before-suspend, leak
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <sys/file.h>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static int journal_file_open(const std::string &path)
{
	return open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
}

static Lazy<> journal_write(EpollLoop &loop, int fd)
{
	for (;;) {
		co_await loop.sleep_ms(15); // @stuck
		flock(fd, LOCK_EX);         // @blocks
		if (pwrite(fd, "entry\n", 6, 0) != 6)
			co_return;
		flock(fd, LOCK_UN);
		co_await loop.yield_now(); // @next
	}
}

static Lazy<> reader_serve(EpollLoop &loop, int id)
{
	for (;;)
		co_await loop.sleep_ms(5 + id);
}

static void backup_run(const std::string &path, std::atomic<bool> &is_over)
{
	int fd = journal_file_open(path);

	while (!is_over) {
		std::this_thread::sleep_for(std::chrono::milliseconds(250));
		flock(fd, LOCK_EX);
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		flock(fd, LOCK_UN);
	}
	close(fd);
}

int main()
{
	EpollLoop loop;
	char path[] = "/tmp/corpus-journal-XXXXXX";
	std::atomic<bool> is_over{ false };
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	corotracer::InitTracer();
	std::thread backup(backup_run, std::string(path), std::ref(is_over));
	detach_lazy(corotracer::named("journal", journal_write, loop, fd));
	for (int i = 0; i < 8; i++) {
		std::string name = "request-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), reader_serve, loop, i));
	}
	loop.run_for(1300);
	is_over = true;
	backup.join();
	unlink(path);
	return 0;
}
