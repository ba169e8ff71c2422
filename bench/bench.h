/* SPDX-License-Identifier: MIT */
/*
 * bench.h - helpers that the benchmark programs share.
 *
 * A program measures and writes "key value" lines, to stdout or to the file that
 * BENCH_OUT names (while the program is collected, its stdout may be in use).
 * run.sh computes the ratios.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The compiler forgets what it knows about *@p and all other memory. */
#define BENCH_LAUNDER(p) __asm__ volatile("" : "+r"(p) : : "memory")

uint64_t bench_now_ns(void);

/* Pin the process to the CPU that BENCH_CPU names, if set: the collector uses another one. */
void bench_pin(void);

/* Nanoseconds per step of ctp_ticks(), measured during 20 ms. */
double bench_ns_per_tick(void);

/* Write one result.  @key is a printf format. */
void bench_emit(double value, const char *key, ...) __attribute__((format(printf, 2, 3)));

/*
 * Create a region without a collector and put it into the environment for corotracer_init(). It
 * offers the same extensions as the collector, so that the SDK takes the same paths.
 */
bool bench_region_alone(uint32_t nr_stations);

/* As bench_region_alone(), with lanes: room for @nr_lives coroutines, and a few chunks, which
 * the caller returns to the pool.
 */
bool bench_region_lanes(uint32_t nr_lives);

/* The pid of the collector of this process; 0 if there is none. */
pid_t bench_collector_pid(void);

/* CPU time of all threads of @pid in ns; 0 if it is unknown. */
uint64_t bench_cpu_ns(pid_t pid);

/* Repeated measurements of one quantity. */
struct bench_samples {
	double *values;
	size_t nr, room;
};

void bench_sample(struct bench_samples *s, double value);
double bench_best(struct bench_samples *s);
double bench_median(struct bench_samples *s);
double bench_quantile(struct bench_samples *s, double part);

/* The value of "--name=VALUE" on the command line, or @otherwise. */
double bench_option(int argc, char **argv, const char *name, double otherwise);

/* Print "bench-x: why" and exit. */
void bench_die(const char *why) __attribute__((noreturn));

#endif
