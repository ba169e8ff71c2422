// SPDX-License-Identifier: MIT
// census.h - what the program itself counted of its coroutines, to hold a trace against.
//
// Off unless asked for (--census FILE).  It knows nothing of the tracer: the scheduler and
// the awaiters count, each at the place where it does the thing.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

// Of one coroutine.  Written by whoever runs it, or is about to; these follow each other.
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

	// For a coroutine of that name; nullptr: nobody counts.  It stays when the coroutine goes.
	Tally *enter(const std::string &name);

	// A line of JSON per coroutine.  When no thread counts any more.  False: see errno.
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
