/* SPDX-License-Identifier: MIT */
/* collector.c - the main loop (poll, write, wait, sleep) and the end of a run. */
#include "collect/collector.h"

#include <corotracer/atomic.h>
#include <corotracer/inherit.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/cpu_sampler.h"
#include "collect/descriptor_looks.h"
#include "collect/wake_socket.h"
#include "collect/lane_output.h"
#include "collect/lane_memory.h"
#include "process/launch.h"
#include "collect/poll_interval.h"
#include "collect/program_request.h"
#include "collect/trace_output.h"
#include "collect/region.h"
#include "collect/run_end.h"
#include "process/signals.h"
#include "collect/snapshot.h"
#include "collect/switch_recorder.h"
#include "collect/tickclock.h"
#include "process/map_guard.h"
#include "collect/timebase.h"

/* While polling without a wait: serve signals and connections at this interval. */
#define LOOK_UP_NS (1 * NS_PER_MS)

/* Upper bound on the delay for programs that follow the output file. */
#define FLUSH_NS (100 * NS_PER_MS)

/* How often the state of a program that was asked to attach is read. */
#define REQUEST_LOOK_NS (20 * NS_PER_MS)

/* A program that still runs detaches at its next event, or after this time without one. */
#define DETACH_NS (250 * NS_PER_MS)

/* Threads complete the event that they were writing when the program detached within this time. */
#define SETTLE_NS (20 * NS_PER_MS)

struct collector {
	const struct collector_config *config;
	struct region region;
	struct endpoint endpoint;
	struct signals signals;
	struct launch launch;
	struct lanes lanes;
	struct err no_lanes; /* why lanes are not offered */
	struct tickclock clock;
	struct clock_watch clocks;
	struct harvest harvest;
	struct record record;
	struct lane_record lane_record;
	struct cpu_sampler sampler;
	struct descriptor_looks looks;
	struct switch_recorder switches;
	struct frame_recorder frames;
	struct pace pace;
	struct timebase timebase;
	struct snapshots snapshots;
	struct sdk_watch sdk_watch;     /* with config.argv */
	struct program_request request; /* with config.pid */
	enum request_state request_state;
	uint64_t request_ns;   /* time of the last look at it */
	bool free_region;      /* every process has detached */
	struct err failed;     /* why the running program could not attach */
	uint32_t stops_before; /* requests to stop before the last events were read */
	uint64_t cost_ns;      /* duration of the last scan */
	uint64_t looked_up_ns;
	uint64_t flushed_ns;
	uint64_t saved_ns; /* the trace was written to its files: see trace_writer.flush_ns */
	uint64_t start_ns;
	uint64_t end_ns;     /* end of the run; 0: it still goes on */
	uint32_t nr_watched; /* peers of the endpoint that the witness watches */
};

/* ---- processes ---------------------------------------------------------------- */

/* A scan finds processes, too: it learns their numbers from the door. */
static void collector_watch_peers(struct collector *c)
{
	for (; c->nr_watched < c->endpoint.nr_peers; c->nr_watched++) {
		pid_t pid = (pid_t)c->endpoint.peers[c->nr_watched].pid;

		signals_watch(&c->signals, pid);
		if (c->config->connected)
			c->config->connected(pid);
	}
}

static int serve_endpoint(struct collector *c)
{
	int nr = endpoint_serve(&c->endpoint);

	collector_watch_peers(c);
	return nr;
}

/* ---- polling ---------------------------------------------------------------- */

static void collector_scan(struct collector *c, struct harvest_scan *found)
{
	struct drain_look look;

	harvest_scan(&c->harvest, found);
	drain_look(&c->lane_record.drain, &look);
	found->events += look.events;
	found->lost += look.lost;
	found->lane_events = look.events;
	found->pending += look.left > 0;
	c->cost_ns = clock_now_ns() - c->harvest.now_ns;
	timebase_publish(&c->timebase, c->harvest.now_ns);
	collector_watch_peers(c);
	lanes_keep_ahead(&c->lanes);
	parking_look(&c->lanes, c->harvest.now_ns);
	clock_watch_look(&c->clocks, c->harvest.now_ns, c->clock.usable, false);
	/*
	 * If the poll was cut, records from before it remain and must still be ordered with
	 * later events.
	 */
	if (!look.cut)
		record_scanned(&c->record, c->harvest.now_ns);
	cpu_sampler_look(&c->sampler, c->harvest.now_ns + c->cost_ns);
	looks_take(&c->looks, c->harvest.now_ns + c->cost_ns);
	sdk_watch_look(&c->sdk_watch, &c->endpoint, c->harvest.now_ns + c->cost_ns);
	switch_recorder_look(&c->switches, c->harvest.now_ns + c->cost_ns);
	frame_recorder_look(&c->frames, c->harvest.now_ns + c->cost_ns,
			    look.cut       ? 0
			    : c->lanes.ext ? c->lane_record.drain.limit_ns
					   : UINT64_MAX);
}

/* @is_sleeping: no event comes for a while, and readers may wait for the last ones. */
static void collector_flush(struct collector *c, uint64_t now_ns, bool is_sleeping)
{
	uint32_t pid;

	endpoint_look_again(&c->endpoint, now_ns);
	record_processes(&c->record, &c->endpoint);
	while ((pid = endpoint_gone(&c->endpoint)) != 0)
		lane_record_bury(&c->lane_record, pid);
	if (is_sleeping || now_ns - c->saved_ns >= c->record.writer->flush_ns) {
		record_flush(&c->record);
		c->saved_ns = now_ns;
	}
	signals_hear_witness(&c->signals);
	c->flushed_ns = now_ns;
}

/* ---- waiting ---------------------------------------------------------------- */

/* Wait at most @ns, then handle signals, connections and snapshot requests. */
static void collector_wait_for(struct collector *c, uint64_t ns)
{
	int more[SNAPSHOTS_FDS];
	struct pollfd fds[3 + SNAPSHOTS_FDS] = {
		{ .fd = c->signals.fd, .events = POLLIN },
		{ .fd = c->endpoint.epoll_fd, .events = POLLIN },
	};
	uint64_t now = clock_now_ns();
	uint64_t due = signals_pass_on(&c->signals, c->launch.ended ? 0 : c->launch.pid, now);
	struct timespec ts;

	if (due != UINT64_MAX && due - now < ns)
		ns = due - now;
	if (c->config->pid && ns > REQUEST_LOOK_NS)
		ns = REQUEST_LOOK_NS;
	ts.tv_sec = (time_t)(ns / NS_PER_SEC);
	ts.tv_nsec = (long)(ns % NS_PER_SEC);
	snapshots_fds(&c->snapshots, more);
	fds[2] = (struct pollfd){ .fd = more[0], .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = more[1], .events = POLLIN };
	fds[4] = (struct pollfd){ .fd = c->config->pid ? c->request.target.pidfd : -1,
				  .events = POLLIN };
	ppoll(fds, 3 + SNAPSHOTS_FDS, &ts, NULL);
	c->looked_up_ns = clock_now_ns();
	if (fds[0].revents) {
		signals_serve(&c->signals, c->looked_up_ns);
		cpu_sampler_child_changed(&c->sampler);
	}
	if (fds[1].revents)
		serve_endpoint(c);
	if (signals_kept(&c->signals))
		snapshots_want(&c->snapshots);
	if (fds[2].revents || fds[3].revents || c->snapshots.nr_queue)
		snapshots_serve(&c->snapshots);
}

/* ---- sleeping --------------------------------------------------------------- */

static void set_sleeping(struct collector *c, uint32_t value)
{
	struct ctp_header *h = c->region.header;

	ctp_store_relaxed(&h->tracer_sleeping, value);
	ctp_store_relaxed(&ctp_header_ext(h)->sleeping, value);
}

static bool still_sleeping(const struct collector *c)
{
	struct ctp_header *h = c->region.header;

	return ctp_load_relaxed(&h->tracer_sleeping) &&
	       ctp_load_relaxed(&ctp_header_ext(h)->sleeping);
}

/*
 * Announce that the collector is about to sleep.  A thread that writes an event afterwards
 * wakes the collector; the scan that follows the announcement sees every event written before.
 */
static void sleep_announce(struct collector *c)
{
	set_sleeping(c, 1);
	/*
	 * (ctp-C) pairs with ctp_wake_if_asleep().  The membarrier makes every running thread of a
	 * registered program, and the collector, execute a full barrier before it returns;
	 * programs that are not registered execute their own after each event.
	 */
	if (!c->region.has_membarrier)
		ctp_fence_full(); /* (ctp-C) pairs with the fence in ctp_wake_if_asleep() */
	else if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) < 0)
		/*
		 * (ctp-C) pairs with ctp_wake_if_asleep(), for all threads, slowly: the region
		 * promises a membarrier, so it must happen.
		 */
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* Look at the program that was asked to attach; say once whether it has. */
static void request_watch(struct collector *c, uint64_t now)
{
	bool was_pending = c->request_state == REQUEST_PENDING, first = !c->request_ns;

	c->request_ns = now;
	c->request_state = request_look(&c->request);
	if (c->request_state == REQUEST_FAILED)
		request_explain(&c->request, &c->failed);
	if (!c->config->attached || !was_pending)
		return;
	if (c->request_state == REQUEST_ATTACHED)
		c->config->attached(c->config->pid, false);
	else if (!c->request.has_waited && !first && now - c->start_ns > NS_PER_SEC)
		c->config->attached(c->config->pid, c->request.has_waited = true);
}

/* The run of a program that was already running ends with it, or when the collector is asked to. */
static bool request_is_over(struct collector *c)
{
	uint64_t now = clock_now_ns();

	if (now - c->request_ns >= REQUEST_LOOK_NS || !target_alive(&c->request.target))
		request_watch(c, now);
	if (c->signals.asked_to_stop || c->failed.code)
		return true;
	if (c->config->duration_ns && now - c->start_ns >= c->config->duration_ns)
		return true;
	if (c->request_state < REQUEST_LEFT)
		return false;
	serve_endpoint(c);
	return !(c->config->wait_all && c->endpoint.nr_connected);
}

static bool collector_is_done(struct collector *c)
{
	if (c->config->pid)
		return request_is_over(c);
	if (!c->config->argv)
		return c->signals.asked_to_stop;
	if (!c->launch.ended && launch_ended(&c->launch)) {
		c->signals.asked_to_stop = false; /* the signal was meant for the program */
		/*
		 * A process that connected before the program ended may still be in the listen
		 * queue.
		 */
		serve_endpoint(c);
	}
	return c->launch.ended &&
	       !(c->config->wait_all && c->endpoint.nr_connected && !c->signals.asked_to_stop);
}

/* Time until something is due besides the lanes, at most @ns. */
static uint64_t time_to_look(const struct collector *c, uint64_t now_ns, uint64_t ns)
{
	ns = switch_recorder_wait(&c->switches, now_ns, ns);
	ns = frame_recorder_wait(&c->frames, now_ns, ns);
	ns = sdk_watch_wait(&c->sdk_watch, now_ns, ns);
	return looks_wait(&c->looks, now_ns, cpu_sampler_wait(&c->sampler, now_ns, ns));
}

/* Sleep until a program wakes the collector, a patrol scan finds something, or the run is over. */
static void sleep_until_woken(struct collector *c)
{
	struct harvest_scan found;
	uint64_t now;

	collector_flush(c, clock_now_ns(), true);
	sleep_announce(c);
	looks_before_sleep(&c->looks);
	do {
		collector_scan(c, &found);
		if (found.events || found.lost || found.pending)
			break;
		now = clock_now_ns();
		collector_wait_for(c, time_to_look(c, now, pace_patrol(c->cost_ns)));
	} while (still_sleeping(c) && !collector_is_done(c));
	set_sleeping(c, 0);
	pace_wake(&c->pace, clock_now_ns());
}

static void collector_collect(struct collector *c)
{
	struct harvest_scan found;
	uint64_t now, wait_ns;

	/*
	 * The default slack turns a wait of 20 us into 70 us.  Set after launch: the program
	 * must not inherit it.
	 */
	prctl(PR_SET_TIMERSLACK, 1000);
	sleep_until_woken(c);
	while (!collector_is_done(c)) {
		collector_scan(c, &found);
		now = c->harvest.now_ns + c->cost_ns;
		wait_ns = pace_next(&c->pace, &found, now, c->cost_ns);
		if (now - c->flushed_ns >= FLUSH_NS)
			collector_flush(c, now, false);
		if (wait_ns == PACE_SLEEP)
			sleep_until_woken(c);
		else if (wait_ns || now - c->looked_up_ns >= LOOK_UP_NS)
			collector_wait_for(c, frame_recorder_wait(&c->frames, now, wait_ns));
	}
}

/* ---- detach -------------------------------------------------------------------- */

static void set_detach(struct collector *c, uint32_t value)
{
	ctp_store_relaxed(&ctp_header_ext(c->region.header)->detach, value);
	set_sleeping(c, 1);
}

/*
 * Ask every process to detach and read what it writes until then.  A process closes its connection
 * when it detaches.  One that has no events detaches at its next event, which is not read.
 */
static void collector_detach(struct collector *c)
{
	uint64_t start = clock_now_ns(), left_ns = 0, now;
	struct harvest_scan found;

	request_withdraw(&c->request);
	do {
		set_detach(c, CTP_DETACH_ASKED);
		collector_scan(c, &found);
		collector_wait_for(c, NS_PER_MS);
		now = clock_now_ns();
		c->request_state = request_look(&c->request);
		if (!left_ns && !c->endpoint.nr_connected && c->request_state != REQUEST_ATTACHED)
			left_ns = now;
	} while (left_ns ? now - left_ns < SETTLE_NS : now - start < DETACH_NS);
	/* No process uses the memory any more, but the program has it mapped until it attaches
	 * again.
	 */
	c->free_region = left_ns != 0;
}

/* ---- begin and end ------------------------------------------------------------ */

static void collector_report(void *ctx, struct collector_result *r);

static void open_snapshots(struct collector *c)
{
	struct snapshot_source source = {
		.config = c->config,
		.record = &c->record,
		.harvest = &c->harvest,
		.endpoint = &c->endpoint,
		.lanes = &c->lanes,
		.clock = &c->clock,
		.sites = &c->lane_record.drain.sites,
		.tell = collector_report,
		.collector = c,
		.cpu = &c->switches.cpu,
	};

	snapshots_open(&c->snapshots, &source, c->region.shm);
}

/* Without the descriptors a program finds the region by its path. */
static void collector_open_door(struct collector *c)
{
	struct err ignored = { 0 };

	if (!c->config->no_inherit)
		endpoint_open_door(&c->endpoint, c->region.shm, &ignored);
}

static int collector_launch(struct collector *c, struct err *err)
{
	char stations[16];
	const struct launch_env env[] = {
		{ CTP_ENV_SHM, c->region.shm, 0 },
		{ CTP_ENV_SOCK, c->region.sock, 0 },
		{ CTP_ENV_STATIONS, stations, 0 },
		/* The value is NULL without a door: that of another collector would be wrong. */
		{ CTP_ENV_FDS, c->endpoint.door.value, c->endpoint.door.region_fd },
		{ CTP_ENV_FDS, c->endpoint.door.value, c->endpoint.door.program_fd },
		{ NULL, NULL, 0 },
	};
	int rc;

	/* Output of the program on the same stdout would corrupt the trace. */
	bool moved = c->record.place.is_stdout;

	if (moved && c->config->stdout_moved)
		c->config->stdout_moved();
	snprintf(stations, sizeof(stations), "%u", c->region.nr_stations);
	if (!c->config->frames.is_wanted)
		rc = launch_start(&c->launch, c->config->argv, env, &c->signals, moved, err);
	else
		rc = launch_start_held(&c->launch, c->config->argv, env, &c->signals, moved, err);
	door_launched(&c->endpoint.door);
	if (!rc && c->config->started)
		c->config->started();
	return rc;
}

/* Attach the buffers of frames.  A launched program is held until then. */
static int collector_open_frames(struct collector *c, struct err *err)
{
	const struct collector_config *config = c->config;
	int rc = 0;

	if (!config->frames.is_wanted)
		return 0;
	if (config->argv && !c->launch.is_held)
		*err = c->launch.unheld;
	else
		rc = frame_recorder_open(&c->frames, &config->frames,
					 config->argv ? c->launch.pid : config->pid, &c->clock,
					 err);
	if (err->code && config->argv)
		launch_abort(&c->launch);
	else if (config->argv)
		launch_release(&c->launch);
	if (err->code)
		return err->code;
	frame_recorder_begin(&c->frames, &c->lane_record.owners, &c->clock, c->record.writer);
	return rc;
}

/* The region and its socket, and as the owner of the program what is beside them. */
static int collector_open_region(struct collector *c, struct err *err)
{
	const struct collector_config *config = c->config;

	if (file_owner_enter(&c->request.owner, err) < 0)
		return err->code;
	if (region_create(&c->region, config->nr_stations, lanes_wanted(&config->lanes),
			  config->shm, config->sock, &c->request.owner, err) == 0)
		endpoint_open(&c->endpoint, c->region.sock, err);
	file_owner_leave(&c->request.owner);
	if (err->code == 0 && config->pid) {
		c->endpoint.guest_uid = c->request.owner.uid;
		pid_alias_add(&c->endpoint.pids, (uint32_t)config->pid);
	}
	return err->code;
}

/* Files beside the region: the journal and the socket for snapshots. */
static void collector_open_beside(struct collector *c)
{
	struct err ignored;

	if (file_owner_enter(&c->request.owner, &ignored) < 0)
		return;
	if (!c->config->flight_size)
		lane_record_keep_journal(&c->lane_record, c->region.shm, c->record.place.path,
					 c->record.place.format);
	open_snapshots(c);
	file_owner_leave(&c->request.owner);
}

static int collector_begin(struct collector *c, struct err *err)
{
	const struct collector_config *config = c->config;

	c->start_ns = clock_now_ns();
	clock_watch_look(&c->clocks, c->start_ns, false, true);
	/* Before the output: a trace that exists is kept if the program cannot be traced. */
	if (config->pid && request_open(&c->request, config->pid, err) < 0)
		return err->code;
	if (config->pid && config->cpu &&
	    switch_recorder_open_process(&c->switches, config->pid, err) < 0)
		return err->code;
	if (config->flight_size && snapshot_check_output(config, err) < 0)
		return err->code;
	/*
	 * Open the output first, while a signal still terminates the collector: opening a fifo
	 * blocks until it has a reader.
	 */
	if (record_open(&c->record, config, c->start_ns, err) < 0 ||
	    signals_open(&c->signals, true, err) < 0 || collector_open_region(c, err) < 0 ||
	    harvest_open(&c->harvest, c->region.header, c->region.stations, c->region.nr_stations,
			 record_station_event, &c->record, err) < 0)
		return err->code;
	tickclock_open(&c->clock);
	/* Without lanes the collector still serves stations. */
	if (lanes_offer(&c->lanes, &c->region, &config->lanes, &c->no_lanes) == 0)
		c->harvest.lane_ids_below = LANES_IDS_BELOW;
	c->lanes.pids = &c->endpoint.pids;
	if (lane_record_open(&c->lane_record, &c->record, &c->lanes, &c->clock, err) < 0)
		return err->code;
	c->lane_record.await_of = config->await_of;
	cpu_sampler_open(&c->sampler, &c->lane_record.drain, &c->endpoint, c->record.writer);
	looks_open(&c->looks, &c->lane_record, &c->endpoint);
	timebase_open(&c->timebase, ctp_header_ext(c->region.header));
	signals_keep(&c->signals, config->flight_size ? SIGUSR2 : 0);
	collector_open_beside(c);
	if (config->ready &&
	    config->ready(c->region.shm, c->region.sock, c->region.nr_stations, err) < 0)
		return err->code;
	if (config->argv && config->cpu && switch_recorder_open_child(&c->switches, err) < 0)
		return err->code;
	if (config->argv)
		collector_open_door(c);
	if (config->argv && collector_launch(c, err) < 0)
		return err->code;
	if (collector_open_frames(c, err) < 0)
		return err->code;
	if (config->argv) {
		signals_watch(&c->signals, c->launch.pid);
		sdk_watch_begin(&c->sdk_watch, c->launch.pid, config->argv[0], clock_now_ns());
	}
	if (config->pid) {
		if (request_send(&c->request, c->region.seen_shm, c->region.seen_sock,
				 c->region.nr_stations, err) < 0)
			return err->code;
		signals_watch(&c->signals, config->pid);
	}
	record_start(&c->record, config->argv ? (uint64_t)c->launch.pid : (uint64_t)config->pid);
	if (config->cpu)
		c->lane_record.cpu = &c->switches.cpu;
	switch_recorder_begin(&c->switches, (uint32_t)(config->argv ? c->launch.pid : config->pid),
			      &c->endpoint, c->record.writer);
	return 0;
}

/*
 * The program may still have the region mapped: it detaches at its next event if it has not done
 * so.  Or a process that never used the region has inherited its descriptor.  Free the memory if no
 * process writes any more; the header stays, for a process that comes late.
 */
static void collector_leave_region(struct collector *c)
{
	const off_t head = sizeof(struct ctp_header);

	if (!c->region.header)
		return;
	if (c->config->pid)
		set_detach(c, CTP_DETACH_GONE);
	if (c->free_region)
		fallocate(c->region.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
			  lseek(c->region.fd, 0, SEEK_END) - head);
}

static void collector_end(struct collector *c)
{
	struct err ignored;

	collector_leave_region(c);
	file_owner_enter(&c->request.owner, &ignored);
	/* Before the journal: recover needs the journal of every region that it finds. */
	region_unlink(&c->region);
	snapshots_close(&c->snapshots);
	cpu_sampler_close(&c->sampler);
	switch_recorder_close(&c->switches);
	frame_recorder_close(&c->frames);
	looks_close(&c->looks);
	lane_record_close(&c->lane_record);
	harvest_close(&c->harvest);
	file_owner_leave(&c->request.owner);
	record_close(&c->record);
	file_owner_enter(&c->request.owner, &ignored);
	endpoint_close(&c->endpoint);
	lanes_close(&c->lanes);
	region_close(&c->region);
	file_owner_leave(&c->request.owner);
	signals_close(&c->signals);
	request_close(&c->request);
}

static void find_worst(const struct collector *c, struct collector_result *r)
{
	struct harvest_coroutine co;
	uint32_t i;

	worst_copy(&r->worst, &c->lane_record.worst);
	for (i = 0; i < c->harvest.nr_claimed; i++) {
		if (!c->harvest.cursors[i].lost || !harvest_describe(&c->harvest, i, &co))
			continue;
		worst_note(&r->worst, &(struct worst_coroutine){
					      .station = co.station,
					      .probe_id = co.probe_id,
					      .written = co.written,
					      .lost = co.lost,
					      .name = co.name,
				      });
	}
}

/* Add the lanes' part of the totals. */
static void tell_lanes(const struct collector *c, struct collector_result *r)
{
	const struct drain_totals *t = &c->lane_record.drain.totals;

	r->lanes = *t;
	r->totals.written += t->transitions + t->lost + t->homeless;
	r->totals.collected += t->transitions;
	r->totals.lost += t->lost + t->homeless;
	r->totals.garbage += t->garbage;
	r->totals.coroutines += t->coroutines;
	r->totals.without_station += t->unborn + t->later;
	r->lost_full = t->lost + t->homeless;
	r->others_lost = t->lost_marks + t->homeless_marks;
	r->waits = t->blocked;
	r->switches = c->switches.nr_written;
	r->switches_lost = c->switches.nr_lost;
	r->frames = c->frames.totals;
	r->no_wakes = c->switches.records.no_wakes;
	r->wait_ns = t->blocked_ns;
	r->region_bytes = c->region.size + lanes_committed(&c->lanes);
	r->no_lanes = c->no_lanes;
	r->starved = c->lanes.starved;
	r->place_holds = c->lanes.place_holds;
	snprintf(r->place, sizeof(r->place), "%s", c->region.shm);
}

/* Fill in everything except the file results, which are known only after the files are closed. */
static void collector_report(void *ctx, struct collector_result *r)
{
	struct collector *c = ctx;
	uint64_t now_ns;

	r->totals = c->harvest.totals;
	tell_lanes(c, r);
	r->wild_count = c->harvest.wild_count;
	r->nr_connected = c->endpoint.nr_peers;
	r->still_connected = c->endpoint.nr_connected;
	r->nr_refused = c->endpoint.nr_refused;
	r->nr_turned_away = c->endpoint.nr_turned_away;
	r->nr_wakeups = c->endpoint.nr_wakeups;
	r->modules_left_out = c->endpoint.modules.nr_left_out;
	memcpy(r->unconnected, c->sdk_watch.found, sizeof(r->unconnected));
	r->nr_unconnected = c->sdk_watch.nr;
	r->region_shrunk = map_guard_shrunk();
	clock_watch_look(&c->clocks, clock_now_ns(), c->clock.usable, true);
	r->clocks = c->clocks;
	r->launched = c->config->argv != NULL;
	r->attached = c->config->pid != 0;
	r->detached = c->config->pid && c->request_state < REQUEST_ENDED;
	r->replaced = c->request_state == REQUEST_REPLACED;
	r->pid = c->config->pid ? (int)c->config->pid : c->launch.pid;
	r->exit_status = launch_exit_status(&c->launch);
	r->signal = launch_signal(&c->launch);
	r->stop_signal = c->signals.stop_signal;
	now_ns = clock_now_ns();
	r->end_ns = c->end_ns ? c->end_ns : now_ns;
	r->duration_ns = r->end_ns - c->start_ns;
	r->collecting_ns = now_ns - c->start_ns;
	r->cpu_ns = monotonic_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	find_worst(c, r);
}

/* A callback of lane_record_finish().  A signal that came before made the run end. */
static bool collector_drains(void *ctx, uint64_t done, uint64_t all)
{
	struct collector *c = ctx;

	if (c->config->draining)
		c->config->draining(done, all);
	signals_serve(&c->signals, clock_now_ns());
	return c->signals.nr_stops == c->stops_before;
}

static void collector_drain(struct collector *c, struct collector_result *r)
{
	signals_serve(&c->signals, clock_now_ns());
	c->stops_before = c->signals.nr_stops;
	lane_record_finish(&c->lane_record, collector_drains, c);
	r->drain_stopped = c->lane_record.discards;
	if (c->config->draining)
		c->config->draining(0, 0);
}

/* True if a process may still write: it is connected, or has a lane or a station and runs. */
static bool collector_has_writers(const struct collector *c)
{
	const struct drain *d = &c->lane_record.drain;
	uint32_t i;

	if (c->endpoint.nr_connected || c->harvest.nr_claimed)
		return true;
	for (i = 0; i < d->nr_cursors; i++) {
		if (d->cursors[i].open && !endpoint_process_is_gone(d->cursors[i].pid))
			return true;
	}
	return false;
}

static void collector_finish(struct collector *c, struct collector_result *r)
{
	uint32_t rounds = 0;

	set_sleeping(c, 0);
	/* A process that connected, sent a wake-up and closed needs one round for each step. */
	while (serve_endpoint(c) > 0 && ++rounds < 10000)
		;
	c->end_ns = collected_until(&c->signals, &c->endpoint, &c->launch, c->start_ns);
	c->free_region = c->free_region || (c->config->argv && !collector_has_writers(c));
	c->lane_record.drain.end_ns = c->end_ns;
	c->lane_record.drain.detached = c->config->pid && c->request_state < REQUEST_ENDED;
	harvest_finish(&c->harvest);
	c->record.flight.finishing = true;
	cpu_sampler_finish(&c->sampler, c->end_ns);
	switch_recorder_finish(&c->switches, c->end_ns);
	collector_drain(c, r);
	frame_recorder_finish(&c->frames);
	sdk_watch_finish(&c->sdk_watch, &c->endpoint);
	collector_report(c, r);
	if (c->config->add_facts && c->record.writer && !c->config->flight_size)
		c->config->add_facts(c->record.writer, r->pid,
				     c->request_state<REQUEST_ENDED, c->endpoint.nr_peers> 0);
	snapshots_finish(&c->snapshots, r);
	if (!c->config->flight_size)
		record_finish(&c->record, &c->harvest, &c->endpoint, r);
}

int collector_run(const struct collector_config *config, struct collector_result *result,
		  struct err *err)
{
	struct collector c;
	int rc;

	memset(&c, 0, sizeof(c));
	memset(result, 0, sizeof(*result));
	c.config = config;
	c.request.target.pidfd = c.region.place_fd = -1;
	door_init(&c.endpoint.door);
	c.region.fd = c.signals.fd = c.endpoint.listen_fd = c.endpoint.epoll_fd = -1;
	rc = collector_begin(&c, err);
	if (rc == 0) {
		collector_collect(&c);
		/* Before the events: without them the coroutine of a frame is not known. */
		frame_recorder_stop(&c.frames);
		if (config->pid && c.request_state < REQUEST_ENDED)
			collector_detach(&c);
		collector_finish(&c, result);
		result->failed = c.failed;
	} else {
		record_undo(&c.record);
	}
	collector_end(&c);
	return rc;
}
