// SPDX-License-Identifier: MIT
// store.h - keys and values, thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

class Store
{
      public:
	enum When { ALWAYS, IF_ABSENT, IF_PRESENT };

	std::optional<std::string> get(std::string_view key) const;

	// Stores the old value in @before, if not null.  False: the value was not changed.
	bool set(std::string_view key, std::string_view value, When when = ALWAYS,
		 std::optional<std::string> *before = nullptr);
	bool remove(std::string_view key);
	bool has(std::string_view key) const;

	enum Sum { ADDED, NO_INTEGER, OVERFLOW };
	Sum add(std::string_view key, int64_t by, int64_t *result);

	size_t size() const;
	void clear();

      private:
	// Allows lookups by string_view, without a temporary string.
	struct Hash {
		using is_transparent = void;
		size_t operator()(std::string_view key) const
		{
			return std::hash<std::string_view>()(key);
		}
	};
	using Map = std::unordered_map<std::string, std::string, Hash, std::equal_to<>>;

	// Sharded, so that clients share a lock only if their keys share a shard.
	struct Shard {
		mutable std::mutex lock;
		Map map;
	};
	static constexpr size_t SHARDS = 64;

	Shard &shard_of(std::string_view key)
	{
		return shards_[Hash()(key) % SHARDS];
	}
	const Shard &shard_of(std::string_view key) const
	{
		return shards_[Hash()(key) % SHARDS];
	}

	std::array<Shard, SHARDS> shards_;
};
