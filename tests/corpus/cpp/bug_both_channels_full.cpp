// SPDX-License-Identifier: MIT
// bug_both_channels_full.cpp - a client and its server both wait for room in a full channel.
//
// The client sends its whole batch before it reads a reply.  A batch that is larger than both
// channels stops both sides.
//
// corpus: bug
// class: deadlock|stalled|lost-wakeup
// at: @stuck|@server
// victims: client-2, server-2
// never: wake-before-suspend, closed-under-waiter, leak
#include <memory>
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

struct Link {
	BoundedChannel<int> requests, replies;

	explicit Link(EpollLoop *loop) : requests(loop, 4), replies(loop, 4)
	{
	}
};

static Lazy<> server_run(EpollLoop &loop, Link &link)
{
	for (;;) {
		std::optional<int> request = link.requests.try_receive();

		if (!request) {
			co_await link.requests.item();
			continue;
		}
		co_await loop.sleep_ms(1);
		while (!link.replies.try_send(*request * 2))
			co_await link.replies.room(); // @server
	}
}

static Lazy<> client_batch(Link &link, int nr)
{
	for (int i = 0; i < nr; i++)
		while (!link.requests.try_send(i))
			co_await link.requests.room(); // @stuck
	for (int i = 0; i < nr; i++)
		while (!link.replies.try_receive())
			co_await link.replies.item();
}

static Lazy<> link_client(EpollLoop &loop, Link &link, int id)
{
	for (int batch = 0; batch < 100; batch++) {
		std::string name = "client-" + std::to_string(id);

		co_await loop.sleep_ms(8);
		co_await corotracer::named(name.c_str(), client_batch, link,
					   id == 2 && batch == 20 ? 30 : 6);
	}
}

int main()
{
	EpollLoop loop;
	std::vector<std::unique_ptr<Link>> links;

	corotracer::InitTracer();
	for (int i = 0; i < 5; i++) {
		std::string name = "server-" + std::to_string(i);

		links.push_back(std::make_unique<Link>(&loop));
		detach_lazy(corotracer::named(name.c_str(), server_run, loop, *links.back()));
		detach_lazy(link_client(loop, *links.back(), i));
	}
	loop.run_for(1600);
	return 0;
}
