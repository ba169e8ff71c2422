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
 * Header-only: no library to link.  docs/cpp.md describes the other ways to trace a promise type
 * and what each of them records.  The guarantees are those of the C SDK (corotracer.h): the SDK
 * does not print, wait for the collector, throw, change errno or install a signal handler.
 */
#ifndef COROTRACER_COROTRACER_CPP_H
#define COROTRACER_COROTRACER_CPP_H

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "coroTracer.h is for C++20 (-std=c++20); C programs use corotracer.h"
#endif

#include <corotracer/cpp/awaiter.h>
#include <corotracer/cpp/context.h>
#include <corotracer/cpp/init.h>
#include <corotracer/cpp/promise.h>
#include <corotracer/cpp/resource.h>
#include <corotracer/cpp/state.h>
#include <corotracer/cpp/traced.h>
#include <corotracer/cpp/wait.h>

/* Programs of the existing coroTracer header may rely on what it includes. */
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#endif
