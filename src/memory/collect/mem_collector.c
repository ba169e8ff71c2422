/* SPDX-License-Identifier: MIT */
/*
 * mem_collector.c - run a program and write the memory accesses of it and its children.
 *
 * The loop takes what is ready; if nothing is, it sleeps until the bell rings or NAP_MS has
 * passed (the program's end does not ring the bell).
 */
#include "memory/collect/mem_collector.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "process/launch.h"
#include "process/signals.h"
#include "memory/collect/region_heritage.h"
#include "memory/collect/shared_region.h"
#include "memory/collect/traced_processes.h"
#include "memory/format/mem_writer.h"

#define NAP_MS            20                /* maximum sleep while the program runs */
#define FILES_NS          (500 * NS_PER_MS) /* between two checks whether a process has ended */
#define CHUNK             CRW_CHUNK_SIZE
#define PACKERS_BY_ITSELF 4u

_Static_assert(COLLECT_PACKERS_MAX - 1 == CRW_PACKERS_MAX, "as many as a consumer may have");

struct collect {
	const struct collect_config *config;
	struct collect_result *result;
	struct shm shm;
	struct traced traced;
	struct signals signals;
	struct launch launch;
	uint64_t start_ns, files_ns;
};

/* ---- the loop ------------------------------------------------------------ */

/* Make the programs stop recording.  False: they were told before. */
static bool close_region(struct collect *c, uint32_t why)
{
	struct crw_header *h = c->shm.region.header;

	if (__atomic_load_n(&h->closed, __ATOMIC_RELAXED) != CRW_OPEN)
		return false;
	__atomic_store_n(&h->closed, why, __ATOMIC_RELAXED);
	return true;
}

/* Nothing more can be stored.  How much the programs do not record from now on is unknown. */
static void stop_recording(struct collect *c, uint32_t why, uint32_t cause)
{
	struct output *out;

	if (!close_region(c, why))
		return;
	for (out = c->result->outputs.first; out; out = out->next) {
		if (out->open)
			cray_writer_lost(out->file.writer, ~0u, cause, 0);
	}
}

static void check_room(struct collect *c)
{
	struct outputs *o = &c->result->outputs;
	struct output *out;

	if (outputs_error(o))
		stop_recording(c, CRW_CLOSED_DISK, CRAY_GAP_DISK);
	if (c->result->capped || !outputs_full(o))
		return;
	c->result->capped = true;
	stop_recording(c, CRW_CLOSED_CAP, CRAY_GAP_CAP);
	for (out = o->first; out; out = out->next) {
		if (out->open)
			out->file.writer->capped = true;
	}
}

static void collect_look_up(struct collect *c, uint64_t now_ns)
{
	struct crw_header *h = c->shm.region.header;

	__atomic_store_n(&h->heartbeat, (uint32_t)(now_ns / NS_PER_MS), __ATOMIC_RELAXED);
	if (!c->config->ready) {
		signals_serve(&c->signals, now_ns);
		signals_pass_on(&c->signals, c->launch.pid, now_ns);
	}
	check_room(c);
	if (now_ns - c->files_ns > FILES_NS) {
		c->files_ns = now_ns;
		traced_end_files(&c->traced, 0, -1, false);
		if (c->config->progress)
			c->config->progress(outputs_size(&c->result->outputs),
					    now_ns - c->start_ns);
	}
}

static bool collect_is_over(struct collect *c)
{
	struct pollfd until = { .fd = c->config->until_fd, .events = POLLIN };

	return c->config->ready ? poll(&until, 1, 0) > 0 : launch_ended(&c->launch);
}

static void collect_until_it_ends(struct collect *c)
{
	while (!collect_is_over(c)) {
		uint64_t now_ns = clock_now_ns();
		bool any = crw_consumer_poll(&c->traced.consumer, CRW_TAKE_READY);

		collect_look_up(c, now_ns);
		if (!any)
			crw_consumer_sleep(&c->traced.consumer, NAP_MS);
	}
}

/* The program has ended.  Its children may still run: make them stop recording, and drain. */
static void collect_the_rest(struct collect *c)
{
	/*
	 * Files of processes that ended earlier are closed already; that of the program gets its
	 * status.
	 */
	close_region(c, CRW_CLOSED_END);
	crw_consumer_poll(&c->traced.consumer, CRW_TAKE_REST);
	traced_end_files(&c->traced, (uint32_t)c->launch.pid,
			 c->config->ready ? -1 : c->launch.status, true);
}

/* ---- raw ----------------------------------------------------------------- */

static bool move_sidecar(const char *from, const char *to)
{
	char a[PATH_MAX], b[PATH_MAX];

	return snprintf(a, sizeof(a), "%s.meta", from) < (int)sizeof(a) &&
	       snprintf(b, sizeof(b), "%s.meta", to) < (int)sizeof(b) && rename(a, b) == 0;
}

/* Write @out to @path in the raw format. */
static int write_raw(const struct output *out, const char *path, struct err *err)
{
	struct mem_writer_config config = { .format = MEM_FORMAT_RAW };
	struct mem_reader *r = mem_reader_open(out->path, err);
	const struct mem_record *rec;
	struct mem_writer *w;

	if (!r)
		return err->code;
	w = mem_writer_open(path, &config, mem_reader_facts(r), err);
	while (w && (rec = mem_reader_next(r)) && mem_writer_put(w, rec) == 0)
		;
	if (w && mem_writer_close(w, err) == 0)
		mem_reader_error(r, err);
	mem_reader_close(r);
	return err->code;
}

/* Replace a container by a raw trace; on failure keep the container and set its error. */
static void make_raw(struct output *out)
{
	struct err err = { 0 };
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s.raw", out->path) >= (int)sizeof(path))
		err_set(&err, -ENAMETOOLONG, "its name is too long");
	else if (write_raw(out, path, &err) == 0 &&
		 (rename(path, out->path) < 0 || !move_sidecar(path, out->path)))
		err_errno(&err, "cannot rename '%s'", path);
	if (!err.code) {
		if (stat(out->path, &st) == 0)
			out->size = (uint64_t)st.st_size;
		return;
	}
	unlink(path);
	err_set(&out->err, err.code, "no raw trace was made of '%s': %.300s", out->path, err.text);
	err_hint(&out->err, "the container is there: 'corotracer mem convert' makes it raw");
}

static void make_all_raw(struct collect *c)
{
	struct output *out;

	for (out = c->result->outputs.first; out; out = out->next) {
		if (!out->err.code)
			make_raw(out);
	}
}

/* ---- a run --------------------------------------------------------------- */

static uint32_t chunks_for(uint64_t buffer)
{
	uint32_t nr = CRW_CHUNKS_MIN;

	/* Half of each chunk is never used, see wire.h. */
	while (nr < CRW_CHUNKS_MAX && (uint64_t)nr * CHUNK / 2 < buffer)
		nr *= 2;
	return nr;
}

/* The options of the program, and those of this run; NULL: no memory. */
static char *collect_options(const struct collect_config *config)
{
	const char *own = getenv("CACHERAY_OPTIONS");
	char *all;

	return asprintf(&all, "%s:burst=%s", own ? own : "", config->burst) < 0 ? NULL : all;
}

static int collect_launch(struct collect *c, struct err *err)
{
	const struct collect_config *config = c->config;
	char *options = config->burst ? collect_options(config) : NULL;
	struct region_heritage heritage = { .fd = -1 };
	bool is_heir = !config->no_inherit && region_heritage_open(&heritage, c->shm.path);
	struct launch_env env[] = { { CRW_ENV, c->shm.path, 0 },
				    { CRW_ENV_FD, heritage.value, is_heir ? heritage.fd : 0 },
				    { options ? "CACHERAY_OPTIONS" : NULL, options, 0 },
				    { NULL, NULL, 0 } };
	int rc = config->burst && !options
			 ? err_set(err, -ENOMEM, "no memory for the options")
			 : launch_start(&c->launch, config->argv, env, &c->signals, false, err);

	region_heritage_close(&heritage);
	free(options);
	return rc;
}

static int collect_begin(struct collect *c, struct err *err)
{
	const struct collect_config *config = c->config;
	uint32_t nr_chunks = config->buffer ? chunks_for(config->buffer) : CRW_NR_CHUNKS;
	struct crw_geometry g = {
		.nr_processes = CRW_NR_PROCESSES,
		.nr_slots = crw_slots_for(nr_chunks, CHUNK),
		.nr_chunks = nr_chunks,
		.chunk_size = CHUNK,
		.on_full = config->drop ? CRW_DROP : CRW_BLOCK,
		.consumer_pid = (uint32_t)getpid(),
		.wants = (config->stacks ? CRW_WANT_CALLS : 0) |
			 (config->no_heap ? CRW_WANT_NO_HEAP : 0),
		.start_ns = c->start_ns,
	};

	if (outputs_check(&c->result->outputs, err) < 0 || shm_create(&c->shm, &g, err) < 0 ||
	    traced_open(&c->traced, &c->shm.region, &c->result->outputs, err) < 0)
		return err->code;
	c->traced.dir = c->shm.dir;
	if (config->ready) {
		config->ready(c->shm.path);
		return 0;
	}
	if (signals_open(&c->signals, true, err) < 0)
		return err->code;
	if (collect_launch(c, err) < 0)
		return err->code;
	signals_watch(&c->signals, c->launch.pid);
	return 0;
}

static void collect_end(struct collect *c)
{
	traced_close(&c->traced);
	shm_close(&c->shm);
	signals_close(&c->signals);
}

/* The time of the program's exit, not of the drain after it. */
static uint64_t end_of_program(struct collect *c)
{
	uint64_t now = clock_now_ns();
	uint64_t ours = c->launch.ended ? c->launch.ended_ns : now;
	uint64_t noted = signals_end_of(&c->signals, c->launch.pid, now);

	return noted > c->start_ns && noted < ours ? noted : ours;
}

static void collect_report(struct collect *c)
{
	struct collect_result *r = c->result;

	if (c->config->ready) {
		r->duration_ns = clock_now_ns() - c->start_ns;
	} else {
		r->duration_ns = end_of_program(c) - c->start_ns;
		r->exit_status = launch_exit_status(&c->launch);
		r->signal = launch_signal(&c->launch);
	}
	r->threads = c->traced.consumer.nr_threads;
	r->recovered = c->traced.consumer.nr_recovered;
	r->broken = c->traced.consumer.broken + c->traced.broken;
	r->no_memory = c->traced.no_memory;
	r->refused = __atomic_load_n(&c->shm.region.header->refused, __ATOMIC_RELAXED);
}

/*
 * Packing threads in addition to the collector's own.  Without a number: the program and the
 * compression have processors of their own first.
 */
static uint32_t collect_packers(const struct collect_config *config)
{
	long free = sysconf(_SC_NPROCESSORS_ONLN) - 2;

	if (config->packers)
		return (uint32_t)config->packers - 1;
	if (free < 2)
		return 0;
	return free / 2 < PACKERS_BY_ITSELF ? (uint32_t)free / 2 : PACKERS_BY_ITSELF;
}

int collect_run(const struct collect_config *config, struct collect_result *result, struct err *err)
{
	struct collect c = { .config = config, .result = result };

	memset(result, 0, sizeof(*result));
	outputs_init(&result->outputs);
	result->outputs.name = config->output;
	result->outputs.level = config->level;
	result->outputs.packers = collect_packers(config);
	result->outputs.max_size = config->max_size;
	result->outputs.command = config->argv;
	result->outputs.writer = config->tool;
	c.signals.fd = -1;
	c.shm.fd = -1;
	c.start_ns = c.files_ns = clock_now_ns();
	if (collect_begin(&c, err) < 0) {
		collect_end(&c);
		return err->code;
	}
	collect_until_it_ends(&c);
	collect_the_rest(&c);
	collect_report(&c);
	if (config->raw)
		make_all_raw(&c);
	collect_end(&c);
	return 0;
}

void collect_result_release(struct collect_result *result)
{
	outputs_release(&result->outputs);
}
