// SPDX-License-Identifier: MIT
// stations.cpp - a program of the existing coroTracer header: a runtime that claims and writes its
// stations itself, through g_header and g_stations.
#include "coroTracer.h"

class Fiber
{
      public:
	explicit Fiber(uint64_t id)
	{
		if (!corotracer::g_header)
			return;
		uint32_t index = corotracer::g_header->allocated_count.fetch_add(
			1, std::memory_order_relaxed);

		if (index >= corotracer::g_header->max_stations)
			return;
		station = &corotracer::g_stations[index];
		station->header.probe_id = id;
		station->header.birth_ts = corotracer::get_ns();
		station->header.is_dead = false;
	}

	~Fiber()
	{
		if (station)
			station->header.is_dead = true;
	}

	void write(uint64_t addr, bool is_active)
	{
		if (!station)
			return;
		corotracer::Epoch &slot = station->slots[nr_events++ % 8];
		uint64_t seq = slot.seq.load(std::memory_order_relaxed);

		slot.seq.store(seq + 1, std::memory_order_release);
		std::atomic_thread_fence(std::memory_order_release);
		slot.addr = addr;
		slot.tid = corotracer::get_tid();
		slot.timestamp = corotracer::get_ns();
		slot.is_active = is_active;
		slot.seq.store(seq + 2, std::memory_order_release);
		std::atomic_thread_fence(std::memory_order_seq_cst);
		wake();
	}

	uint64_t nr_events = 0;

      private:
	static void wake()
	{
		uint32_t asleep = 1;

		if (corotracer::g_header->tracer_sleeping.load(std::memory_order_acquire) == 1 &&
		    corotracer::g_header->tracer_sleeping.compare_exchange_strong(
			    asleep, 0, std::memory_order_acq_rel))
			corotracer::trigger_uds_wakeup();
	}

	corotracer::StationData *station = nullptr;
};

int main()
{
	corotracer::InitTracer();
	std::cout << "attached " << (corotracer::g_header != nullptr) << " socket "
		  << (corotracer::g_uds_fd >= 0) << " version "
		  << (corotracer::g_header ? corotracer::g_header->version : 0) << std::endl;
	Fiber first(1001), second(1002);

	// No more than the eight slots hold: nothing is lost, however slow the collector is.
	for (int i = 0; i < 4; i++) {
		first.write(reinterpret_cast<uint64_t>(&first), false);
		second.write(reinterpret_cast<uint64_t>(&second), false);
		first.write(0, true);
		second.write(0, true);
	}
	std::cout << "written " << first.nr_events + second.nr_events << std::endl;
	return 0;
}
