/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/child.h - is what a coroutine awaits a coroutine of ours, and which?
 *
 * In "co_await child()" the awaited object is somebody's task type.  Its promise_type says
 * that it is traced, but which of its members leads to the promise is the type's secret.
 * Yet somewhere it holds the frame's address, or the promise's; and the frames of those who
 * were born on this thread lately are known.  So the object's words are compared with
 * these: no word is followed, and a match is a coroutine that still lives, because its
 * life says so.  A task that was born longer ago, or elsewhere, is not recognised; its type
 * can tell by itself (corotracer_wait(), see wait.h).
 */
#ifndef COROTRACER_CPP_CHILD_H
#define COROTRACER_CPP_CHILD_H

#include <corotracer/cpp/state.h>
#include <corotracer/cpp/wait.h>

#include <cstring>
#include <type_traits>

namespace corotracer
{
inline namespace v1
{

class PromiseMixin;

namespace detail
{

/* A task type whose coroutines are traced. */
template <class T>
concept TracedTask = std::is_base_of_v<PromiseMixin, typename T::promise_type>;

/* Bytes from a frame's start to its promise: behind two pointers, aligned. */
template <class Promise> constexpr uintptr_t promise_offset()
{
	return (2 * sizeof(void *) + alignof(Promise) - 1) / alignof(Promise) * alignof(Promise);
}

/* And from there to the part that is ours. */
template <class Promise> uintptr_t mixin_offset()
{
	constexpr uintptr_t somewhere = alignof(Promise) * 4096;

	return reinterpret_cast<uintptr_t>(
		       static_cast<PromiseMixin *>(reinterpret_cast<Promise *>(somewhere))) -
	       somewhere;
}

/* The id of the newborn whose PromiseMixin is at @address; 0: none that lives. */
inline uint64_t newborn_id(uintptr_t address)
{
	for (const Newborn &n : self()->newborn)
		if (n.life && n.promise == ~address && ctp_load_relaxed(&n.life->id) == n.id)
			return n.id;
	return 0;
}

template <TracedTask T> Wait child_of(const T &task)
{
	using Promise = typename T::promise_type;
	constexpr size_t words = sizeof(T) / sizeof(uintptr_t) < 8 ? sizeof(T) / sizeof(uintptr_t)
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

#endif
