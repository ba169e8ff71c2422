// SPDX-License-Identifier: MIT
// bug_widget_resumed_by_decoder.cpp - a coroutine of the UI thread is resumed on another thread.
//
// The decoder posts its results to the UI thread.  For a picture that it cannot decode it
// resumes the waiting coroutine directly, on its own thread.
//
// corpus: bug
// class: wrong-thread
// at: @stuck
// victims: widget-3
// never: lost-wakeup, wake-before-suspend, leak, deadlock
#include <atomic>
#include <chrono>
#include <string>

#include "pool_executor.hpp"

class Decoder;

class Picture
{
      public:
	Picture(Decoder *decoder, int nr) : number(nr), decoder_(decoder)
	{
	}
	Picture(const Picture &) = delete;

	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h);
	bool await_resume() const noexcept
	{
		return is_good;
	}

	int number;
	bool is_good = true;
	std::coroutine_handle<> waiter;

      private:
	Decoder *decoder_;
};

class Decoder
{
      public:
	explicit Decoder(PoolExecutor *ui) : ui_(ui), thread_([this] { run_decoder(); })
	{
	}
	~Decoder()
	{
		start_decode(nullptr);
		thread_.join();
	}
	void start_decode(Picture *picture)
	{
		std::lock_guard guard(lock_);

		queue_.push_back(picture);
		some_queued_.notify_one();
	}

      private:
	void run_decoder()
	{
		while (Picture *picture = next_picture()) {
			std::this_thread::sleep_for(std::chrono::microseconds(500));
			picture->is_good = picture->number % 100 != 99;
			if (picture->is_good)
				ui_->post(picture->waiter);
			else
				picture->waiter.resume(); // the bug: not the UI thread
		}
	}

	Picture *next_picture()
	{
		std::unique_lock guard(lock_);

		some_queued_.wait(guard, [this] { return !queue_.empty(); });
		Picture *picture = queue_.front();

		queue_.pop_front();
		return picture;
	}

	PoolExecutor *ui_;
	std::mutex lock_;
	std::condition_variable some_queued_;
	std::deque<Picture *> queue_;
	std::thread thread_;
};

void Picture::await_suspend(std::coroutine_handle<> h)
{
	waiter = h;
	decoder_->start_decode(this);
}

struct Gallery {
	std::atomic<int> nr_bad{ 0 };
	std::atomic<int> nr_shown{ 0 };
};

static PoolJob widget_show(PoolExecutor &ui, Decoder &decoder, int first, Gallery &gallery)
{
	co_await ui.schedule();
	for (int i = 0; i < 110; i++) {
		Picture picture(&decoder, first + i);
		bool is_good = co_await picture; // @stuck

		if (!is_good)
			gallery.nr_bad++; // shows a grey box
	}
	gallery.nr_shown++;
}

int main()
{
	static Gallery gallery;

	corotracer::InitTracer();
	PoolExecutor ui(1);
	Decoder decoder(&ui);

	for (int i = 0; i < 8; i++) {
		std::string name = "widget-" + std::to_string(i);

		corotracer::named(name.c_str(), widget_show, ui, decoder, i == 3 ? 0 : -200,
				  gallery);
	}
	while (gallery.nr_shown < 8)
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	return 0;
}
