// SPDX-License-Identifier: MIT
// store.h - keys and values, for many threads at once.
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

	// What was there before goes to @before, if that is wanted.  False: it stays as it was.
	bool set(std::string_view key, std::string_view value, When when = ALWAYS,
		 std::optional<std::string> *before = nullptr);
	bool remove(std::string_view key);
	bool has(std::string_view key) const;

	enum Sum { ADDED, NO_INTEGER, OVERFLOW };
	Sum add(std::string_view key, int64_t by, int64_t *result);

	size_t size() const;
	void clear();

      private:
	// Found by a view, without a string made for it.
	struct Hash {
		using is_transparent = void;
		size_t operator()(std::string_view key) const
		{
			return std::hash<std::string_view>()(key);
		}
	};
	using Map = std::unordered_map<std::string, std::string, Hash, std::equal_to<>>;

	// Two clients meet at a lock only if their keys do.
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
