/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/handle.h - find the PromiseMixin in the frame of a std::coroutine_handle<>.
 *
 * A handle without a promise type carries only the frame's address.  The first word of a frame
 * is the function that resumes it, one for each coroutine function, and all frames of one
 * coroutine function hold their PromiseMixin at the same offset.  So the first traced suspension
 * of a coroutine enters (function, offset) into a table, and wake() looks the function up.
 *
 * The table has no entry for an untraced coroutine function, or for one whose coroutines have not
 * been suspended at a traced await yet.  Then the lookup fails, and no other word of the frame is
 * read.  Entries are never removed.
 */
#ifndef COROTRACER_CPP_HANDLE_H
#define COROTRACER_CPP_HANDLE_H

#include <corotracer/cpp/state.h>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

struct FrameKind {
	uintptr_t resume; /* 0: unused entry */
	uintptr_t offset; /* bytes from the frame to its PromiseMixin; 0: not stored yet */
};

inline constexpr uint32_t nr_frame_kinds = 4096;
inline constexpr uint32_t frame_kind_tries = 64;

CTP_CPP_STATE inline constinit FrameKind frame_kinds[nr_frame_kinds] = {};

inline uintptr_t frame_resume(const void *frame)
{
	return ctp_load_relaxed(static_cast<const uintptr_t *>(frame));
}

/* The entry of @resume; with @enter it is added.  Returns NULL if there is none, or no room. */
CTP_CPP_HIDDEN FrameKind *frame_kind(uintptr_t resume, bool enter)
{
	uint32_t at = static_cast<uint32_t>((resume >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32);

	for (uint32_t tries = 0; resume && tries < frame_kind_tries; tries++, at++) {
		FrameKind *kind = &frame_kinds[at % nr_frame_kinds];

		if (!ctp_load_relaxed(&kind->resume) &&
		    (!enter || ctp_cas_relaxed(&kind->resume, uintptr_t(0), resume)))
			return enter ? kind : nullptr;
		if (ctp_load_relaxed(&kind->resume) == resume)
			return kind;
	}
	return nullptr;
}

/* The coroutine of @frame is about to be suspended; @mixin is in its promise. */
CTP_CPP_HIDDEN void frame_enter(const void *frame, const void *mixin)
{
	FrameKind *kind = frame_kind(frame_resume(frame), true);

	/* All coroutines of the function store the same offset. */
	if (kind)
		ctp_store_relaxed(&kind->offset, reinterpret_cast<uintptr_t>(mixin) -
							 reinterpret_cast<uintptr_t>(frame));
}

/* The PromiseMixin in @frame; NULL if unknown. */
CTP_CPP_HIDDEN const void *frame_mixin(const void *frame)
{
	const FrameKind *kind = frame ? frame_kind(frame_resume(frame), false) : nullptr;
	uintptr_t offset = kind ? ctp_load_relaxed(&kind->offset) : 0;

	/* The compiler may know the size of this frame (std::noop_coroutine) and would warn. */
	__asm__("" : "+r"(frame));
	return offset ? static_cast<const char *>(frame) + offset : nullptr;
}

} // namespace detail
} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
