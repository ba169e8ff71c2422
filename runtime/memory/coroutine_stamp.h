/* SPDX-License-Identifier: MIT */
/*
 * coroutine_stamp.h - which coroutine a thread runs, for the stream of the thread.
 */
#ifndef RUNTIME_MEMORY_COROUTINE_STAMP_H
#define RUNTIME_MEMORY_COROUTINE_STAMP_H

#include "access_record.h"

/* Parts of a stamp's text; longer ones are cut. */
#define CRT_KIND_MAX     200u
#define CRT_FILE_MAX     400u /* its end is kept */
#define CRT_FUNCTION_MAX 300u
#define CRT_STAMP_MAX    (8u + CRT_KIND_MAX + CRT_FILE_MAX + CRT_FUNCTION_MAX + 16u)

/*
 * The payload of a CRW_CORO unit for the coroutine that @t runs, or none.  Returns its bytes.  No
 * calls of libc: it runs with signals blocked, at the start of a chunk.
 */
uint32_t crt_stamp_text(const struct crt_thread *t, uint32_t cause, uint8_t out[CRT_STAMP_MAX]);

#endif
