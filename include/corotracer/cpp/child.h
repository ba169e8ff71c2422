/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/child.h - find the traced coroutine behind an awaited task object.
 *
 * In "co_await child()" the awaited object has a task type of the program.  Its promise_type
 * shows that it is traced, but not which member leads to the promise.  One of its words holds the
 * address of the frame or of the promise, and the thread keeps a list of the coroutines that it
 * created last.  So the words of the object are compared with that list.  No word is dereferenced,
 * and a match is accepted only if the coroutine still exists according to its ctp_life.  A task
 * that was created earlier, or on another thread, is not recognised; its type can provide a
 * corotracer_wait() instead (wait.h).
 */
#ifndef COROTRACER_CPP_CHILD_H
#define COROTRACER_CPP_CHILD_H

#include <corotracer/cpp/state.h>
#include <corotracer/cpp/wait.h>

#include <coroutine>
#include <cstring>
#include <type_traits>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{

class PromiseMixin;

namespace detail
{

/* The promise of coroutines that return @CtpType, as the compiler looks it up. */
template <class CtpType> using PromiseOf = typename std::coroutine_traits<CtpType>::promise_type;

/* A task type whose coroutines are traced. */
template <class CtpType>
concept TracedTask = std::is_base_of_v<PromiseMixin, PromiseOf<CtpType>>;

/* Bytes from the start of a frame to its promise, which follows two pointers, aligned. */
template <class Promise> constexpr uintptr_t promise_offset()
{
	return (2 * sizeof(void *) + alignof(Promise) - 1) / alignof(Promise) * alignof(Promise);
}

/* Bytes from the promise to its PromiseMixin. */
template <class Promise> uintptr_t mixin_offset()
{
	constexpr uintptr_t somewhere = alignof(Promise) * 4096;

	return reinterpret_cast<uintptr_t>(
		       static_cast<PromiseMixin *>(reinterpret_cast<Promise *>(somewhere))) -
	       somewhere;
}

/* The id of the recent coroutine whose PromiseMixin is at @address; 0 if there is none. */
inline uint64_t newborn_id(uintptr_t address)
{
	for (const Newborn &n : self()->newborn)
		if (n.life && n.promise == ~address && ctp_load_relaxed(&n.life->id) == n.id)
			return n.id;
	return 0;
}

template <TracedTask CtpType> Wait child_of(const CtpType &task)
{
	using Promise = PromiseOf<CtpType>;
	constexpr size_t words = sizeof(CtpType) / sizeof(uintptr_t) < 8
					 ? sizeof(CtpType) / sizeof(uintptr_t)
					 : 8;
	const uintptr_t ours = mixin_offset<Promise>();

	for (size_t i = 0; i < words; i++) {
		uintptr_t word;
		uint64_t id;

		memcpy(&word, reinterpret_cast<const char *>(&task) + i * sizeof(word),
		       sizeof(word));
		id = newborn_id(word + promise_offset<Promise>() + ours);
		if (!id)
			id = newborn_id(word + ours);
		if (id)
			return joining(id);
	}
	return Wait{};
}

} // namespace detail
} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
