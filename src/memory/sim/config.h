/* SPDX-License-Identifier: MIT */
/*
 * config.h - read the machine of a simulation: JSON, this computer, the command line.
 *
 * Each source fills a struct sim_config; an error names the key that is wrong.
 */
#ifndef MEMORY_SIM_CONFIG_H
#define MEMORY_SIM_CONFIG_H

#include "memory/sim/sim.h"

#define SIM_LINE_MIN  32u
#define SIM_LINE_MAX  4096u
#define SIM_WAYS_MAX  64u /* equals CACHE_WAYS_MAX in cache.h */
#define SIM_CACHE_MAX (16ull << 30)
#define SIM_TLB_MAX   (1u << 20)
#define SIM_PAGE_MIN  4096u
#define SIM_PAGE_MAX  (1u << 30)

/*
 * Names as in configurations ("lru" ...).  The find functions return the number of a name, or
 * -1.
 */
const char *sim_policy_name(enum sim_policy policy);
const char *sim_inclusion_name(enum sim_inclusion inclusion);
const char *sim_prefetch_name(enum sim_prefetch prefetch);
int sim_policy_find(const char *text);
int sim_inclusion_find(const char *text);
int sim_prefetch_find(const char *text);

#define SIM_SHARE_DEFAULT UINT32_MAX /* all cores for the last of several levels; else 1 */

/* "32768", "32K", "8M", "1G".  Returns false if the text is not a size. */
bool sim_size_of(const char *text, uint64_t *out);

/* Replace SIM_SHARE_DEFAULT by its meaning. */
void sim_config_finish(struct sim_config *c);

/*
 * Read a file in the corotracer format ("levels": [...]) or in the format of the Cacheray suite
 * ("caches": [...], sizes as powers of two, one chain of caches for all threads).  Returns 0, or
 * a negative errno with the path of the key.
 */
int sim_config_read(struct sim_config *c, const char *path, struct err *err);
int sim_config_parse(struct sim_config *c, const char *text, size_t size, const char *path,
		     struct err *err);

/*
 * Read this computer's data caches from @root/cpu0/cache (@root is "/sys/devices/system/cpu").
 * Properties that the kernel does not report are set to LRU, write-back, non-inclusive.
 */
int sim_config_host(struct sim_config *c, const char *root, struct err *err);

/* Append one level: "L1=32K,8,64", then optional words: "fifo", "write-through", "share=all" ... */
int sim_config_level_text(struct sim_config *c, const char *text, struct err *err);

/* Append one TLB: "64,4" is entries and ways. */
int sim_config_tlb_text(struct sim_config *c, const char *text, struct err *err);

#endif
