// SPDX-License-Identifier: MIT
// clean_cancelled_tasks.cpp - tasks are cancelled and destroyed while they wait.
//
// A preview is computed in the background and cancelled as soon as the user moves on.  The
// program announces each cancellation.
//
// corpus: clean
#include <memory>
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<> preview_render(EpollLoop &loop)
{
	for (int part = 0; part < 20; part++)
		co_await loop.sleep_ms(4);
}

// The caller destroys the task.
static void preview_cancel(EpollLoop &loop, Lazy<> &task)
{
	if (task.handle().done())
		return;
	loop.forget_coroutine(task.handle());
	task.traced().cancelled();
}

static Lazy<> user_browse(EpollLoop &loop, int id)
{
	for (int page = 0; page < 40; page++) {
		Lazy<> preview = preview_render(loop);

		preview.handle().resume();
		co_await loop.sleep_ms(page % 8 == 0 ? 120 : 10 + id);
		preview_cancel(loop, preview);
	}
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 8; i++) {
		std::string name = "user-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), user_browse, loop, i));
	}
	loop.run_for(1500);
	return 0;
}
