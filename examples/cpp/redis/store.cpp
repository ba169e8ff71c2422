// SPDX-License-Identifier: MIT
// store.cpp - keys and values, thread-safe.
#include "store.h"

#include "words.h"

std::optional<std::string> Store::get(std::string_view key) const
{
	const Shard &shard = shard_of(key);
	std::lock_guard guard(shard.lock);
	auto found = shard.map.find(key);

	if (found == shard.map.end())
		return std::nullopt;
	return found->second;
}

bool Store::set(std::string_view key, std::string_view value, When when,
		std::optional<std::string> *before)
{
	Shard &shard = shard_of(key);
	std::lock_guard guard(shard.lock);
	auto found = shard.map.find(key);
	bool there = found != shard.map.end();

	if (before && there)
		*before = found->second;
	if (when != ALWAYS && there != (when == IF_PRESENT))
		return false;
	if (there)
		found->second.assign(value);
	else
		shard.map.emplace(key, value);
	return true;
}

bool Store::remove(std::string_view key)
{
	Shard &shard = shard_of(key);
	std::lock_guard guard(shard.lock);
	auto found = shard.map.find(key);

	if (found == shard.map.end())
		return false;
	shard.map.erase(found);
	return true;
}

bool Store::has(std::string_view key) const
{
	const Shard &shard = shard_of(key);
	std::lock_guard guard(shard.lock);

	return shard.map.find(key) != shard.map.end();
}

Store::Sum Store::add(std::string_view key, int64_t by, int64_t *result)
{
	Shard &shard = shard_of(key);
	std::lock_guard guard(shard.lock);
	auto found = shard.map.find(key);
	int64_t value = 0;

	if (found != shard.map.end() && !parse_integer(found->second, &value))
		return NO_INTEGER;
	if (__builtin_add_overflow(value, by, result))
		return OVERFLOW;
	if (found != shard.map.end())
		found->second = std::to_string(*result);
	else
		shard.map.emplace(key, std::to_string(*result));
	return ADDED;
}

size_t Store::size() const
{
	size_t nr = 0;

	for (const Shard &shard : shards_) {
		std::lock_guard guard(shard.lock);
		nr += shard.map.size();
	}
	return nr;
}

void Store::clear()
{
	for (Shard &shard : shards_) {
		std::lock_guard guard(shard.lock);
		shard.map.clear();
	}
}
