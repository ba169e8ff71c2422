// SPDX-License-Identifier: MIT
// clean_sigterm_midway.cpp - a server under load is terminated in the middle of its work.
//
// corpus: clean
// signal: TERM 0.9
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

static Lazy<> block_store(EpollLoop &loop, AsyncLock &disk)
{
	co_await disk.take();
	co_await loop.sleep_ms(2);
	disk.unlock();
}

static Lazy<> upload_serve(EpollLoop &loop, Permits &memory, AsyncLock &disk, int id)
{
	for (;;) {
		co_await memory.acquire();
		co_await loop.sleep_ms(3 + id % 4);
		co_await block_store(loop, disk);
		memory.release();
	}
}

int main()
{
	EpollLoop loop;
	Permits memory(&loop, 4);
	AsyncLock disk(&loop);

	corotracer::InitTracer();
	for (int i = 0; i < 16; i++) {
		std::string name = "upload-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), upload_serve, loop, memory, disk, i));
	}
	loop.run_for(10000);
	return 0;
}
