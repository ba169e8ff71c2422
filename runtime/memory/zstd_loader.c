/* SPDX-License-Identifier: MIT */
/*
 * zstd_loader.c - zstd inside the traced program: loaded at run time if the system has it.
 *
 * It works in memory that this file provides, so that it never calls the program's allocator,
 * which may be traced itself.
 */
#include "zstd_loader.h"

#include <dlfcn.h>

#include "sys.h"

typedef size_t (*estimate_fn)(int level);
typedef void *(*init_fn)(void *memory, size_t size);

/* NULL in a statically linked program. */
void *dlopen(const char *path, int flags) __attribute__((weak));
void *dlsym(void *handle, const char *name) __attribute__((weak));

static void zstd_load(struct cray_zstd *z, int level)
{
	void *lib = level && dlopen ? dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
	estimate_fn estimate;
	init_fn init;
	size_t size;

	if (!lib)
		return;
	estimate = (estimate_fn)dlsym(lib, "ZSTD_estimateCCtxSize");
	init = (init_fn)dlsym(lib, "ZSTD_initStaticCCtx");
	*(void **)&z->compress = dlsym(lib, "ZSTD_compressCCtx");
	*(void **)&z->is_error = dlsym(lib, "ZSTD_isError");
	*(void **)&z->set = dlsym(lib, "ZSTD_CCtx_setParameter");
	*(void **)&z->compress2 = dlsym(lib, "ZSTD_compress2");
	if (!estimate || !init || !z->compress || !z->is_error)
		return;
	size = estimate(level);
	if (z->is_error(size))
		return;
	z->context = crt_memory(size);
	if (z->context && !init(z->context, size)) {
		crt_memory_free(z->context, size);
		z->context = NULL;
	}
}

struct cray_maker *crt_maker_new(int level)
{
	struct cray_zstd zstd = { 0 };

	zstd_load(&zstd, level);
	return cray_maker_new(level, &zstd);
}
