// SPDX-License-Identifier: MIT
// census.cpp - counts that the program keeps of its own coroutines, to compare with a trace.
#include "census.h"

#include <cinttypes>
#include <cstdio>

Tally *Census::enter(const std::string &name)
{
	if (!wanted_)
		return nullptr;
	std::lock_guard guard(lock_);
	Tally &tally = all_.emplace_back();

	tally.name = name;
	return &tally;
}

bool Census::write(const std::string &path) const
{
	FILE *f = std::fopen(path.c_str(), "w");

	if (!f)
		return false;
	// The program chooses the names: letters, digits, spaces.
	for (const Tally &t : all_)
		std::fprintf(f,
			     "{\"name\":\"%s\",\"suspends\":%" PRIu64 ",\"resumes\":%" PRIu64
			     ",\"ended\":%s}\n",
			     t.name.c_str(), t.suspends, t.resumes, t.has_ended ? "true" : "false");
	bool failed = std::ferror(f);

	return std::fclose(f) == 0 && !failed;
}
