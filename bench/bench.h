/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the benchmark programs share.
 *
 * A program measures and writes "key value" lines, to stdout or to the file that
 * BENCH_OUT names (its stdout may belong to somebody else while it is collected).
 * run.sh puts them into relation to each other.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The compiler knows nothing about *@p or any other memory after this. */
#define BENCH_LAUNDER(p) __asm__ volatile("" : "+r"(p) : : "memory")

uint64_t bench_now_ns(void);

/* Onto the CPU that BENCH_CPU names, if it does: the collector has another one. */
void bench_pin(void);

/* Nanoseconds per step of ctp_ticks(), measured for 20 ms. */
double bench_ns_per_tick(void);

/* One result.  The key is made like printf's. */
void bench_emit(double value, const char *key, ...) __attribute__((format(printf, 2, 3)));

/*
 * A region of our own that nobody looks at, in the environment for corotracer_init().
 * It offers what our collector offers, so that the SDK works as it would there.
 */
bool bench_region_alone(uint32_t nr_stations);

/* The same with lanes: room for @nr_lives coroutines, and a few chunks that the caller gives back.
 */
bool bench_region_lanes(uint32_t nr_lives);

/* The collector we are connected to; 0: none. */
pid_t bench_collector_pid(void);

/* CPU time that all threads of @pid have had; 0 when there is no telling. */
uint64_t bench_cpu_ns(pid_t pid);

/* Repeated measurements of one thing. */
struct bench_samples {
	double *values;
	size_t nr, room;
};

void bench_sample(struct bench_samples *s, double value);
double bench_best(struct bench_samples *s);
double bench_median(struct bench_samples *s);
double bench_quantile(struct bench_samples *s, double part);

/* What the command line says after @name as "--name=VALUE", or @otherwise. */
double bench_option(int argc, char **argv, const char *name, double otherwise);

/* "bench-x: why", and out. */
void bench_die(const char *why) __attribute__((noreturn));

#endif
