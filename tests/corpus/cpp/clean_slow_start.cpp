// SPDX-License-Identifier: MIT
// clean_slow_start.cpp - the first coroutine loads a model before anything else exists.
//
// The load takes long and no other coroutine could run meanwhile: there is none yet.
//
// corpus: clean
#include <string>
#include <vector>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static std::vector<uint32_t> model_load()
{
	std::vector<uint32_t> model(1 << 20, 1);

	for (int round = 0; round < 250; round++)
		for (uint32_t &cell : model)
			cell = cell * 1664525u + static_cast<uint32_t>(round);
	return model;
}

static Lazy<> query_serve(EpollLoop &loop, const std::vector<uint32_t> &model, int id)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < 80; i++) {
		co_await loop.sleep_ms(6 + id);
		sum += model[i * 1000];
	}
}

static Lazy<> model_server_start(EpollLoop &loop, std::vector<uint32_t> &model)
{
	co_await loop.sleep_ms(1);
	model = model_load();
	for (int i = 0; i < 8; i++) {
		std::string name = "query-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), query_serve, loop, model, i));
	}
	co_await loop.sleep_ms(800);
	loop.stop();
}

int main()
{
	EpollLoop loop;
	std::vector<uint32_t> model;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("starter", model_server_start, loop, model));
	loop.run_for(5000);
	return 0;
}
