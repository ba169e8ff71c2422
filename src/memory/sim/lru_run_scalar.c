/* SPDX-License-Identifier: MIT */
/* lru_run_scalar.c - lru_run.h without vectors, and the choice between the paths. */
#include "memory/sim/lru_run.h"

#define LRU_LANES 1
#define LRU_TAILS 0
#include "memory/sim/lru_run_code.h"

const struct lru_path lru_path_scalar = { "scalar", lru_run_chunk, NULL };

/* The best path first. */
static const struct lru_path *const lru_paths[] = {
#if defined(__x86_64__)
	&lru_path_avx512,
	&lru_path_avx2,
#elif defined(__aarch64__)
	&lru_path_neon,
#endif
	&lru_path_scalar,
};

const struct lru_path *lru_path_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(lru_paths) / sizeof(*lru_paths); i++) {
		const struct lru_path *p = lru_paths[i];

		if ((!name || !strcmp(name, p->name)) && (!p->works || p->works()))
			return p;
	}
	return NULL;
}
