/* SPDX-License-Identifier: MIT */
/*
 * config.h - where the machine of a simulation comes from: JSON, this computer, the command line.
 *
 * Each of them fills a struct sim_config and says what is wrong, by the name of the key.
 */
#ifndef MEMORY_SIM_CONFIG_H
#define MEMORY_SIM_CONFIG_H

#include "memory/sim/sim.h"

#define SIM_LINE_MIN  32u
#define SIM_LINE_MAX  4096u
#define SIM_WAYS_MAX  64u /* cache.h says the same */
#define SIM_CACHE_MAX (16ull << 30)
#define SIM_TLB_MAX   (1u << 20)
#define SIM_PAGE_MIN  4096u
#define SIM_PAGE_MAX  (1u << 30)

/* "lru" ... as they are written in configurations; the number of a name, or -1. */
const char *sim_policy_name(enum sim_policy policy);
const char *sim_inclusion_name(enum sim_inclusion inclusion);
const char *sim_prefetch_name(enum sim_prefetch prefetch);
int sim_policy_find(const char *text);
int sim_inclusion_find(const char *text);
int sim_prefetch_find(const char *text);

#define SIM_SHARE_DEFAULT UINT32_MAX /* all for the last of several levels, else private */

/* "32768", "32K", "8M", "1G".  False: no size. */
bool sim_size_of(const char *text, uint64_t *out);

/* What was left open is decided: SIM_SHARE_DEFAULT. */
void sim_config_finish(struct sim_config *c);

/*
 * A file: ours ("levels": [...]) or the existing suite's ("caches": [...], sizes as powers of
 * two, one chain for all threads).  0 or a negative errno with the path of the key.
 */
int sim_config_read(struct sim_config *c, const char *path, struct err *err);
int sim_config_parse(struct sim_config *c, const char *text, size_t size, const char *path,
		     struct err *err);

/*
 * This computer's data caches, as @root/cpu0/cache tells ("/sys/devices/system/cpu").  What
 * the kernel does not tell is taken to be LRU, write-back, non-inclusive.
 */
int sim_config_host(struct sim_config *c, const char *root, struct err *err);

/* "L1=32K,8,64" and words behind it: "fifo", "write-through", "share=all" ...  Level by level. */
int sim_config_level_text(struct sim_config *c, const char *text, struct err *err);

/* "64,4": entries and ways. */
int sim_config_tlb_text(struct sim_config *c, const char *text, struct err *err);

#endif
