// SPDX-License-Identifier: MIT
// bug_member_joins_own_group.cpp - a coroutine awaits all tasks of its group, itself included.
//
// corpus: bug
// class: deadlock
// at: @stuck
// victims: janitor
// never: lost-wakeup, wake-before-suspend, closed-under-waiter
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

// Waits for a task that has been started.
struct MemberJoin {
	const Lazy<> &task;

	bool await_ready() const noexcept
	{
		return task.handle().done();
	}
	void await_suspend(std::coroutine_handle<> h) const
	{
		task.handle().promise().continuation = h;
	}
	void await_resume() const noexcept
	{
	}
	corotracer::Wait corotracer_wait() const
	{
		return task.corotracer_wait();
	}
};

struct TaskGroup {
	std::vector<Lazy<>> members;

	void add(Lazy<> task)
	{
		members.push_back(std::move(task));
		members.back().handle().resume();
	}
};

static Lazy<> import_file(EpollLoop &loop, int id)
{
	for (int i = 0; i < 30; i++)
		co_await loop.sleep_ms(5 + id);
}

// Removes the temporary files when all imports have ended.
static Lazy<> files_clean(EpollLoop &loop, TaskGroup &group)
{
	co_await loop.sleep_ms(50);
	for (const Lazy<> &member : group.members)
		co_await MemberJoin{ member }; // @stuck
}

static Lazy<> progress_print(EpollLoop &loop, int &percent)
{
	for (; percent < 100; percent++)
		co_await loop.sleep_ms(9);
}

int main()
{
	EpollLoop loop;
	auto *group = new TaskGroup; // its frames are never destroyed
	int percent = 0;

	corotracer::InitTracer();
	group->members.reserve(16);
	for (int i = 0; i < 8; i++) {
		std::string name = "import-" + std::to_string(i);

		group->add(corotracer::named(name.c_str(), import_file, loop, i));
	}
	group->add(corotracer::named("janitor", files_clean, loop, *group));
	detach_lazy(corotracer::named("progress", progress_print, loop, percent));
	loop.run_for(1500);
	return 0;
}
