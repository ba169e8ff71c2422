/* SPDX-License-Identifier: MIT */
/*
 * corotracer/memory_hook.h - pass the coroutine that runs on a thread to the memory runtime.
 *
 * A program that is built with `corotracer mem cc` records its loads and stores.  The SDKs call
 * cacheray_coroutine() at each creation, resume, suspend and end, so that the memory trace has the
 * coroutine of each access, also without a collector of coroutines.  The reference is weak: without
 * the memory runtime it is NULL.  The inline functions of the SDKs contain the call only when the
 * file is compiled for memory tracing (-fsanitize=thread): in other programs they do not change.
 */
#ifndef COROTRACER_MEMORY_HOOK_H
#define COROTRACER_MEMORY_HOOK_H

#include <stdint.h>

#include <corotracer/header_begin.h>

/* Values of `what`. */
#define CTP_MEMORY_CREATED   1u /* about: its name, or NULL */
#define CTP_MEMORY_RESUMED   2u /* about: unused */
#define CTP_MEMORY_SUSPENDED 3u /* about: the site, or NULL */
#define CTP_MEMORY_STAYED    4u /* it did not suspend after all */
#define CTP_MEMORY_ENDED     5u /* it returned or was cancelled; its frame may still exist */
#define CTP_MEMORY_DESTROYED 6u
#define CTP_MEMORY_CODE      7u /* about: address of its code, the kind of one without a name */
#define CTP_MEMORY_PAUSED    8u /* until the resume that follows, accesses are the SDK's */
#define CTP_MEMORY_WHAT      0xffu
/* The end of the coroutine is not reported: the next resume on its thread ends it there. */
#define CTP_MEMORY_LOOSE 0x100u
/* The site is a std::source_location, the name that of a C++ function. */
#define CTP_MEMORY_CPP 0x200u

/* A site: the start of struct corotracer_site, and of the data of a std::source_location. */
struct ctp_memory_site {
	const char *file;
	const char *function;
	uint32_t line;
};

/*
 * @coroutine is its struct ctp_probe, which identifies it until it is destroyed; @id is its id in
 * the trace of coroutines, 0 if it has none.
 */
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak, visibility("default"))) void
cacheray_coroutine(uint32_t what, const void *coroutine, uint64_t id, const void *about);
#ifdef __cplusplus
}
#endif

#if defined(__SANITIZE_THREAD__)
#define CTP_MEMORY_HOOK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CTP_MEMORY_HOOK 1
#endif
#endif
#ifndef CTP_MEMORY_HOOK
#define CTP_MEMORY_HOOK 0
#endif

#if CTP_MEMORY_HOOK

#include <corotracer/probe.h>

/* Code that records no accesses of its own. */
#if defined(__clang__)
#define CTP_MEMORY_QUIET __attribute__((noinline, unused, no_sanitize("thread")))
#else
#define CTP_MEMORY_QUIET __attribute__((noinline, unused, no_sanitize_thread))
#endif

/* @gate: of the SDK's request block.  0: the probe's ctp_life may not be mapped. */
static CTP_MEMORY_QUIET void ctp_memory_stamp(uint32_t what, const struct ctp_probe *p,
					      const volatile uint32_t *gate, const void *about)
{
	const volatile struct ctp_life *life = *gate ? p->life : NULL;

	cacheray_coroutine(what, p, life ? life->id : 0, about);
}

#define CTP_MEMORY_STAMP(what, probe, gate, about)                          \
	do {                                                                \
		if (cacheray_coroutine)                                     \
			ctp_memory_stamp((what), (probe), (gate), (about)); \
	} while (0)

#else

#define CTP_MEMORY_STAMP(what, probe, gate, about) \
	do {                                       \
	} while (0)

#endif

#include <corotracer/header_end.h>

#endif
