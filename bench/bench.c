/* SPDX-License-Identifier: MIT */
/* bench.c - helpers that the benchmark programs share. */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void bench_die(const char *why)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
	exit(1);
}

/* ---- time and CPU ----------------------------------------------------------- */

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void bench_pin(void)
{
	const char *cpu = getenv("BENCH_CPU");
	cpu_set_t set;

	if (!cpu || !*cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)strtoul(cpu, NULL, 10), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fprintf(stderr, "bench: cannot pin to CPU %s: %s\n", cpu, strerror(errno));
}

double bench_ns_per_tick(void)
{
	uint64_t ns = bench_now_ns(), ticks = ctp_ticks();

	while (bench_now_ns() - ns < 20000000)
		;
	ticks = ctp_ticks() - ticks;
	ns = bench_now_ns() - ns;
	if (!ticks)
		bench_die("no cycle counter that we could read on this machine");
	return (double)ns / (double)ticks;
}

/* ---- results ------------------------------------------------------------------ */

void bench_emit(double value, const char *key, ...)
{
	const char *path = getenv("BENCH_OUT");
	FILE *f = path && *path ? fopen(path, "a") : stdout;
	va_list ap;

	if (!f)
		bench_die("cannot write to what BENCH_OUT names");
	va_start(ap, key);
	vfprintf(f, key, ap);
	va_end(ap);
	fprintf(f, " %.6g\n", value);
	if (f != stdout)
		fclose(f);
}

void bench_sample(struct bench_samples *s, double value)
{
	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		s->values = reallocarray(s->values, s->room, sizeof(*s->values));
		if (!s->values)
			bench_die("no memory");
	}
	s->values[s->nr++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double nth(struct bench_samples *s, size_t n)
{
	if (!s->nr)
		return 0;
	qsort(s->values, s->nr, sizeof(*s->values), compare);
	return s->values[n];
}

double bench_best(struct bench_samples *s)
{
	return nth(s, 0);
}

double bench_median(struct bench_samples *s)
{
	return nth(s, s->nr / 2);
}

double bench_quantile(struct bench_samples *s, double part)
{
	return s->nr ? nth(s, (size_t)((double)(s->nr - 1) * part)) : 0;
}

double bench_option(int argc, char **argv, const char *name, double otherwise)
{
	size_t len = strlen(name);
	int i;

	for (i = 1; i < argc; i++) {
		const char *arg = argv[i];

		if (strncmp(arg, "--", 2) == 0 && strncmp(arg + 2, name, len) == 0 &&
		    arg[2 + len] == '=')
			return strtod(arg + 3 + len, NULL);
	}
	return otherwise;
}

/* ---- regions and collectors ---------------------------------------------------- */

static void region_fill(struct ctp_header *h, uint32_t nr_stations)
{
	struct ctp_ext_header *ext = ctp_header_ext(h);

	h->magic_number = CTP_MAGIC;
	h->version = CTP_VERSION;
	h->max_stations = nr_stations;
	ext->magic = CTP_EXT_MAGIC;
	ext->version = CTP_EXT_VERSION;
	ext->features = CTP_EXT_MEMBARRIER;
}

static uint64_t place(struct ctp_pool *pool, uint64_t offset, uint32_t unit, uint32_t limit)
{
	pool->offset = offset;
	pool->unit = unit;
	pool->limit = limit;
	pool->committed = limit; /* a memfd allocates pages when they are written */
	return (offset + (uint64_t)unit * limit + 4095) / 4096 * 4096;
}

/* Place the pools behind @from; returns the end.  @h NULL: compute only the size. */
static uint64_t lanes_fill(struct ctp_header *h, uint64_t from, uint32_t nr_lives)
{
	struct ctp_header nowhere;
	struct ctp_ext_lanes *lanes = ctp_header_lanes(h ? h : &nowhere);

	from = place(&lanes->lanes, (from + 4095) / 4096 * 4096, sizeof(struct ctp_lane), 16);
	from = place(&lanes->chunks, from, sizeof(struct ctp_chunk), 16);
	from = place(&lanes->lives, from, sizeof(struct ctp_life), nr_lives);
	from = place(&lanes->sites, from, sizeof(struct ctp_site), 64);
	lanes->version = CTP_LANES_VERSION;
	lanes->map_size = from;
	lanes->lane_chunks = 16;
	lanes->magic = CTP_LANES_MAGIC;
	if (h)
		ctp_header_ext(h)->features |= CTP_EXT_LANES;
	return from;
}

/* @nr_lives 0: stations only. */
static bool region_make(uint32_t nr_stations, uint32_t nr_lives)
{
	size_t stations = ctp_region_size(nr_stations);
	size_t size = nr_lives ? lanes_fill(NULL, stations, nr_lives) : stations;
	int fd = memfd_create("bench-region", MFD_CLOEXEC);
	char path[64], count[32];
	void *map;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return false;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return false;
	region_fill(map, nr_stations);
	if (nr_lives)
		lanes_fill(map, stations, nr_lives);
	munmap(map, size);
	/* The descriptor stays open: the path refers to it. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(count, sizeof(count), "%" PRIu32, nr_stations);
	unsetenv(CTP_ENV_SOCK);
	return setenv(CTP_ENV_SHM, path, 1) == 0 && setenv(CTP_ENV_STATIONS, count, 1) == 0;
}

bool bench_region_alone(uint32_t nr_stations)
{
	return region_make(nr_stations, 0);
}

bool bench_region_lanes(uint32_t nr_lives)
{
	return region_make(1, nr_lives);
}

pid_t bench_collector_pid(void)
{
	struct ctp_ext_header *ext;

	if (!corotracer_enabled())
		return 0;
	ext = ctp_header_ext(corotracer__process.session->header);
	return ext->magic == CTP_EXT_MAGIC ? (pid_t)ext->collector_pid : 0;
}

/* The first number in schedstat: nanoseconds on a CPU. */
static uint64_t task_cpu_ns(pid_t pid, const char *task)
{
	unsigned long long ns = 0;
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, task);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	fclose(f);
	return ns;
}

uint64_t bench_cpu_ns(pid_t pid)
{
	struct dirent *task;
	uint64_t ns = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((task = readdir(dir)))
		if (task->d_name[0] != '.')
			ns += task_cpu_ns(pid, task->d_name);
	closedir(dir);
	return ns;
}
