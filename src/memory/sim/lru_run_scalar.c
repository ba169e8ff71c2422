/* SPDX-License-Identifier: MIT */
/* lru_run_scalar.c - lru_run.h without vectors, and the choice between the paths. */
#include "memory/sim/lru_run.h"

#define LRU_LANES 1
#define LRU_TAILS 0
#include "memory/sim/lru_run_code.h"

const struct lru_path lru_path_scalar = { "scalar", lru_run_chunk, lru_run_key_chunk, NULL };

/* The best path first; NULL at the end. */
static const struct lru_path *const lru_paths[] = {
#if defined(__x86_64__)
	&lru_path_avx512,
	&lru_path_avx2,
#elif defined(__aarch64__)
	&lru_path_neon,
#endif
	&lru_path_scalar,
	NULL,
};

const struct lru_path *lru_path_of(const char *name)
{
	size_t i;

	for (i = 0; lru_paths[i]; i++) {
		const struct lru_path *p = lru_paths[i];

		if ((!name || !strcmp(name, p->name)) && (!p->works || p->works()))
			return p;
	}
	return NULL;
}
