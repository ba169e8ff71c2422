// SPDX-License-Identifier: MIT
// census.h - counts that the program keeps of its own coroutines, to compare with a trace.
//
// Disabled without --census FILE.  It is independent of the tracer: the scheduler and the
// awaiters count, each where it performs the action.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

// The counts of one coroutine.  Written by the thread that runs or resumes it, one at a time.
struct Tally {
	std::string name;
	uint64_t suspends = 0;
	uint64_t resumes = 0;
	bool has_ended = false;
};

class Census
{
      public:
	explicit Census(bool wanted) : wanted_(wanted)
	{
	}

	// The entry for a coroutine of that name; nullptr: disabled.  It outlives the coroutine.
	Tally *enter(const std::string &name);

	// Writes a JSON line per coroutine, when no thread counts any more.  False: see errno.
	bool write(const std::string &path) const;

      private:
	bool wanted_;
	std::mutex lock_;
	std::deque<Tally> all_;
};

inline void count_suspend(Tally *tally)
{
	if (tally)
		tally->suspends++;
}

inline void count_resume(Tally *tally)
{
	if (tally)
		tally->resumes++;
}

inline void count_end(Tally *tally)
{
	if (tally)
		tally->has_ended = true;
}
