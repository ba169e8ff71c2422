/* SPDX-License-Identifier: MIT */
/*
 * corotracer/coroTracer.h - trace the coroutines of a C++20 program.
 *
 *	#include <corotracer/coroTracer.h>
 *
 *	struct task {
 *		struct promise_type : corotracer::PromiseMixin {
 *			...				// as before
 *		};
 *	};
 *
 *	int main()
 *	{
 *		corotracer::InitTracer();		// once, early
 *		...
 *	}
 *
 * Run the program under the tool: corotracer run -o trace.jsonl -- ./program
 *
 * Header-only: nothing to link.  docs/cpp.md has the other ways in, and what each of them
 * sees.  The manners are those of the C SDK (corotracer.h): nothing here prints, waits for
 * the collector, throws, changes errno or installs a signal handler.
 */
#ifndef COROTRACER_COROTRACER_CPP_H
#define COROTRACER_COROTRACER_CPP_H

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "coroTracer.h is for C++20 (-std=c++20); C programs use corotracer.h"
#endif

#include <corotracer/cpp/awaiter.h>
#include <corotracer/cpp/promise.h>
#include <corotracer/cpp/resource.h>
#include <corotracer/cpp/state.h>
#include <corotracer/cpp/traced.h>
#include <corotracer/cpp/wait.h>

#endif
