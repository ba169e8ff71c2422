/* SPDX-License-Identifier: MIT */
/*
 * test_collector_run.c - whole runs of the collector, with this program as the traced one.
 *
 * "test_collector_run child MODE" is a traced program with a known story.  Each test runs the
 * collector in this process, and compares its result and the trace with the story.
 */
#include "collector_bed.h"

/* ---- tests: a launched program ------------------------------------------------------- */

static void check_story_result(const char *path)
{
	struct seen s = read_trace(path);

	CHECK_STR(text, story);
	CHECK_EQ(s.nr_runs, 1);
	CHECK_EQ(s.nr_processes, 1);
	CHECK_EQ(s.nr_totals, 1);
	CHECK_EQ(s.nr_coroutines, 1);
	CHECK_STR(s.tool, "corotracer test");
	CHECK(strstr(s.command, " child ") != NULL);
	CHECK_EQ(s.run.pid, r.pid);
	CHECK_EQ(s.run.stations, 2);
	CHECK_EQ(s.process.pid, r.pid);
	CHECK_EQ(s.process.uid, geteuid());
	CHECK(s.run.start_ts < s.process.connected_ts);
	CHECK(s.run.start_ts < s.first_ts);
	CHECK(s.process.connected_ts < s.totals.end_ts);
	CHECK(s.last_ts <= s.totals.end_ts);
	CHECK(s.totals.end_ts - s.run.start_ts == r.duration_ns);
	CHECK(s.totals.complete);
	CHECK_EQ(s.totals.written, 5);
	CHECK_EQ(s.totals.collected, 5);
	CHECK_EQ(s.totals.lost, 0);
	CHECK_EQ(s.totals.others_written, 8);
	CHECK_EQ(s.totals.others_collected, 8);
	CHECK_EQ(s.totals.coroutines, 2);
	CHECK_EQ(s.totals.detached, false);
}

static void a_program_is_traced_in_every_format(void)
{
	static const char *const names[] = { "run.jsonl", "run.ctf", "run.ct" };
	static const enum trace_format formats[] = { TRACE_FORMAT_JSONL, TRACE_FORMAT_CTF,
						     TRACE_FORMAT_CT };
	struct collector_config config;
	struct timespec real;
	struct seen s;
	int i;

	for (i = 0; i < 3; i++) {
		config = config_of(in_scratch(names[i]));
		config.format = formats[i];
		config.argv = command("story", NULL);
		collect(&config);
		CHECK(r.launched);
		CHECK(!r.attached);
		CHECK(!r.detached);
		CHECK_EQ(r.exit_status, 7);
		CHECK_EQ(r.signal, 0);
		CHECK_EQ(r.stop_signal, 0);
		CHECK_EQ(r.collected, 5);
		CHECK_EQ(r.others_collected, 8);
		CHECK_EQ(r.others_lost, 0);
		CHECK_EQ(r.lost, 0);
		CHECK_EQ(r.totals.coroutines, 2);
		CHECK_EQ(r.totals.garbage, 0);
		CHECK_EQ(r.lanes.transitions, 5);
		CHECK_EQ(r.no_lanes.code, 0);
		CHECK_EQ(r.nr_connected, 1);
		CHECK_EQ(r.still_connected, 0);
		CHECK_EQ(r.nr_unconnected, 0);
		CHECK_EQ(r.starved, 0);
		CHECK(r.region_bytes > ctp_region_size(2));
		CHECK(!r.region_shrunk && !r.wild_count && !r.drain_stopped);
		CHECK_STR(r.place, told.shm);
		CHECK_EQ(told.stations, 2);
		CHECK_EQ(told.nr_connected, 1);
		CHECK_EQ(told.connected, r.pid);
		CHECK_EQ(told.nr_moved, 0);
		CHECK_EQ(told.nr_facts, 1);
		CHECK(told.facts_attached);
		check_story_result(config.output);
		s = read_trace(config.output);
		CHECK_EQ(s.totals.exit_status, 7);
		CHECK_EQ(s.totals.signal, 0);
		clock_gettime(CLOCK_REALTIME, &real);
		CHECK(s.run.start_realtime < (uint64_t)real.tv_sec * NS_PER_SEC + NS_PER_SEC);
		CHECK(s.run.start_realtime > ((uint64_t)real.tv_sec - 600) * NS_PER_SEC);
	}
}

static void a_killed_program_leaves_its_events(void)
{
	struct collector_config config = config_of(in_scratch("killed.jsonl"));
	struct seen s;

	config.argv = command("killed", NULL);
	collect(&config);
	CHECK_EQ(r.signal, SIGKILL);
	CHECK_EQ(r.exit_status, 128 + SIGKILL);
	CHECK_EQ(r.collected, 5);
	check_story_result(config.output);
	s = read_trace(config.output);
	CHECK_EQ(s.totals.signal, SIGKILL);
	CHECK_EQ(s.totals.exit_status, -1);
}

static void stations_of_an_old_writer_are_read(void)
{
	struct collector_config config = config_of(in_scratch("old.jsonl"));
	struct seen s;

	config.argv = command("stations", NULL);
	config.shm = in_scratch("old.shm");
	config.sock = in_scratch("old.sock");
	collect(&config);
	CHECK_STR(told.shm, config.shm);
	CHECK_STR(told.sock, config.sock);
	CHECK_EQ(r.totals.written, 20);
	CHECK_EQ(r.collected + r.lost, 20);
	CHECK(r.collected >= 8);
	CHECK_EQ(r.totals.coroutines, 1);
	CHECK_EQ(r.nr_connected, 0);
	CHECK(!told.facts_attached);
	s = read_trace(config.output);
	CHECK_EQ(s.nr_events, r.collected);
	CHECK_EQ(s.nr_coroutines, 1);
	CHECK_EQ(s.totals.lost, r.lost);
	CHECK_EQ(s.totals.lost_overwritten, r.lost);
	CHECK_EQ(s.totals.lost_full, 0);
	CHECK_EQ(s.totals.exit_status, 0);
	CHECK_EQ(r.worst.nr, r.lost ? 1 : 0);
	if (r.lost) {
		CHECK_EQ(r.worst.at[0].station, 0);
		CHECK_EQ(r.worst.at[0].lost, r.lost);
		CHECK_EQ(r.worst.at[0].written, 20);
	}
}

static void a_program_without_events_is_named(void)
{
	struct collector_config config = config_of(in_scratch("none.jsonl"));
	struct seen s;

	config.argv = command("nothing", NULL);
	collect(&config);
	CHECK_EQ(r.nr_connected, 0);
	CHECK_EQ(r.collected, 0);
	CHECK_EQ(r.nr_unconnected, 1);
	CHECK_EQ(r.unconnected[0].pid, r.pid);
	/* The name of the process, or of its file if it ended before it was looked at. */
	CHECK_EQ(strncmp(r.unconnected[0].name, "test_collector_", 15), 0);
	s = read_trace(config.output);
	CHECK_STR(text, "");
	CHECK_EQ(s.nr_totals, 1);
	CHECK(s.totals.complete);
}

static void a_program_without_the_sdk_is_not_named(void)
{
	struct collector_config config = config_of(in_scratch("true.jsonl"));
	char *argv[] = { "true", NULL };

	config.argv = argv;
	collect(&config);
	CHECK_EQ(r.nr_unconnected, 0);
	CHECK_EQ(r.exit_status, 0);
}

static const char *let_go_path;
static unsigned let_go_ms = 100;

static void let_go_later(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		usleep(let_go_ms * 1000);
		touch(let_go_path);
		_exit(0);
	}
}

static void a_program_that_cannot_attach_is_named_with_the_reason(void)
{
	struct collector_config config = config_of(in_scratch("failed.jsonl"));

	let_go_path = in_scratch("failed.go");
	config.argv = command("failed", let_go_path);
	config.no_inherit = true;
	/* Longer each time: a busy machine may not look at the program before it ends. */
	do {
		struct err err = { 0 };

		unlink(let_go_path);
		told.at_ready = let_go_later;
		CHECK_EQ(collector_run(&config, &r, &err), 0);
		while (waitpid(-1, NULL, 0) > 0)
			;
		let_go_ms *= 2;
	} while (!r.unconnected[0].is_seen && let_go_ms < 30000);
	let_go_ms = 100;
	CHECK_EQ(r.nr_connected, 0);
	CHECK_EQ(r.nr_unconnected, 1);
	CHECK(sdk_process_failed(&r.unconnected[0]));
	CHECK_STR(sdk_process_reason(&r.unconnected[0]), "not-opened");
	CHECK_EQ(r.unconnected[0].why >> 8, ENOENT);
}

static void the_run_ends_with_the_last_process_if_wanted(void)
{
	struct collector_config config = config_of(in_scratch("all.jsonl"));

	let_go_path = in_scratch("all.go");
	config.argv = command("orphan", let_go_path);
	config.wait_all = true;
	told.at_ready = let_go_later;
	{
		struct err err = { 0 };

		CHECK_EQ(collector_run(&config, &r, &err), 0);
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
	CHECK_EQ(r.nr_connected, 2);
	CHECK_EQ(r.still_connected, 0);
	CHECK_EQ(told.nr_connected, 2);
	CHECK_EQ(r.collected, 7); /* with the end of the second process */
	CHECK_EQ(r.exit_status, 0);
	CHECK_EQ(r.totals.coroutines, 3);
	read_trace(config.output);
	CHECK(strstr(text, "of 0 orphan") != NULL);
	CHECK(strstr(text, "left 1 suspended") != NULL ||
	      strstr(text, "left 2 suspended") != NULL || strstr(text, "left 3 suspended") != NULL);
}

static void the_run_ends_with_the_program_by_default(void)
{
	struct collector_config config = config_of(in_scratch("first.jsonl"));
	struct err err = { 0 };

	let_go_path = in_scratch("first.go");
	config.argv = command("orphan", let_go_path);
	CHECK_EQ(collector_run(&config, &r, &err), 0);
	CHECK(r.collected >= 5 && r.collected <= 6);
	touch(let_go_path);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* ---- tests: stop and standard output ----------------------------------------------- */

static pid_t helper;

/* A helper process runs the story with the environment of the region, then stops the collector. */
static void run_story_and_stop(void)
{
	pid_t collector = getpid();

	helper = fork();
	if (helper == 0) {
		char stations[16];
		pid_t story_pid;
		int status;

		snprintf(stations, sizeof(stations), "%u", told.stations);
		setenv(CTP_ENV_SHM, told.shm, 1);
		setenv(CTP_ENV_SOCK, told.sock, 1);
		setenv(CTP_ENV_STATIONS, stations, 1);
		story_pid = fork();
		if (story_pid == 0)
			execl(self, self, "child", "story", NULL);
		waitpid(story_pid, &status, 0);
		kill(collector, WIFEXITED(status) && WEXITSTATUS(status) == 7 ? SIGTERM : SIGKILL);
		_exit(0);
	}
}

static void serves_until_a_signal(void)
{
	struct collector_config config = config_of(in_scratch("serve.jsonl"));
	struct err err = { 0 };
	struct seen s;

	told.at_ready = run_story_and_stop;
	CHECK_EQ(collector_run(&config, &r, &err), 0);
	waitpid(helper, NULL, 0);
	CHECK_EQ(r.stop_signal, SIGTERM);
	CHECK(!r.launched);
	CHECK_EQ(r.pid, 0);
	CHECK_EQ(r.exit_status, 0);
	CHECK_EQ(r.nr_connected, 1);
	CHECK_EQ(r.collected, 5);
	CHECK(r.nr_wakeups >= 1);
	s = read_trace(config.output);
	CHECK_STR(text, story);
	CHECK_EQ(s.totals.exit_status, -1);
	CHECK_EQ(s.run.pid, 0);
}

static void a_trace_on_standard_output_moves_that_of_the_program(void)
{
	int keep = dup(STDOUT_FILENO), out = open(in_scratch("stdout"), O_CREAT | O_RDWR, 0600);
	struct collector_config config = config_of("-");
	struct err err = { 0 };

	fflush(stdout);
	CHECK(out >= 0 && keep >= 0);
	dup2(out, STDOUT_FILENO);
	config.argv = command("story", NULL);
	CHECK_EQ(collector_run(&config, &r, &err), 0);
	dup2(keep, STDOUT_FILENO);
	close(keep);
	close(out);
	CHECK_EQ(told.nr_moved, 1);
	CHECK_EQ(r.collected, 5);
	read_trace(in_scratch("stdout"));
	CHECK(strstr(text, "suspend 2 at 1234") != NULL);
	CHECK(!is_there(in_scratch("stdout.meta")));
}

/* ---- tests: failures to start ----------------------------------------------------- */

static void a_region_that_exists_is_not_replaced(void)
{
	struct collector_config config = config_of(in_scratch("taken.jsonl"));
	struct err err;

	config.argv = command("story", NULL);
	config.shm = in_scratch("taken.shm");
	touch(config.shm);
	CHECK_EQ(collect_fails(&config, &err), -EEXIST);
	CHECK(strstr(err.text, "exists: another collector may be using it") != NULL);
	CHECK(is_there(config.shm));
	CHECK(!is_there(config.output)); /* and nothing else is left */
	unlink(config.shm);

	CHECK_EQ(symlink("/nonexistent", config.shm), 0);
	CHECK_EQ(collect_fails(&config, &err), -EEXIST);
	CHECK(strstr(err.text, "symbolic link") != NULL);
	unlink(config.shm);

	if (geteuid() == 0) {
		touch(config.shm);
		CHECK_EQ(chown(config.shm, 12345, 12345), 0);
		CHECK_EQ(collect_fails(&config, &err), -EEXIST);
		CHECK(strstr(err.text, "belongs to user 12345") != NULL);
		unlink(config.shm);
	}

	config.shm = in_scratch("no/dir/region");
	CHECK_EQ(collect_fails(&config, &err), -ENOENT);
	CHECK(strstr(err.text, "cannot create region") != NULL);
	CHECK(err.hint[0] != '\0');
}

static void a_socket_path_has_a_limit(void)
{
	size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	struct collector_config config = config_of(in_scratch("long.jsonl"));
	char path[256];
	struct err err;

	snprintf(path, sizeof(path), "%s/", scratch);
	memset(path + strlen(path), 'x', most + 1 - strlen(path));
	path[most + 1] = '\0';
	config.sock = path;
	config.argv = command("story", NULL);
	CHECK_EQ(collect_fails(&config, &err), -ENAMETOOLONG);
	path[most] = '\0';
	collect(&config);
	CHECK_EQ(r.collected, 5);
	CHECK_STR(told.sock, path);

	touch(path);
	told.nr_ready = 0;
	CHECK_EQ(collect_fails(&config, &err), -EADDRINUSE);
	CHECK(strstr(err.hint, "another collector") != NULL);
	CHECK(is_there(path));
	unlink(path);
}

static void a_program_that_cannot_start_is_explained(void)
{
	char *argv[] = { "no-such-program", NULL };
	struct collector_config config = config_of(in_scratch("start.jsonl"));
	struct err err;

	config.argv = argv;
	CHECK_EQ(collect_fails(&config, &err), -ENOENT);
	CHECK_STR(err.text, "cannot run 'no-such-program': No such file or directory");
	CHECK(strstr(err.hint, "'./no-such-program'") != NULL);
	CHECK_EQ(err.exit_status, 127);
	CHECK(!is_there(config.output));

	argv[0] = "two words";
	told.nr_ready = 0;
	CHECK_EQ(collect_fails(&config, &err), -ENOENT);
	CHECK(strstr(err.hint, "separate words") != NULL);

	argv[0] = "./no/such";
	CHECK_EQ(collect_fails(&config, &err), -ENOENT);
	CHECK_STR(err.hint, "");

	argv[0] = scratch;
	CHECK_EQ(collect_fails(&config, &err), -EACCES);
	CHECK_STR(err.hint, "it is a directory");
	CHECK_EQ(err.exit_status, 126);

	argv[0] = (char *)in_scratch("plain");
	touch(argv[0]);
	CHECK_EQ(collect_fails(&config, &err), -EACCES);
	CHECK(strstr(err.hint, "chmod +x") != NULL);
}

/* ---- tests: a running collector ---------------------------------------------------- */

/* A process that asks the collector while the program waits, then lets the program go. */
static void (*ask_what)(void);

static void let_go(void)
{
	touch(let_go_path);
}

static void ask_helper(void)
{
	helper = fork();
	if (helper != 0)
		return;
	atexit(let_go); /* also after a check that failed */
	ask_what();
	exit(0);
}

static void reap_helper(void)
{
	int status;

	CHECK_EQ(waitpid(helper, &status, 0), helper);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static json_t *ask(const char *request)
{
	struct err err = { 0 };
	json_t *answer = running_ask(told.shm, request, 60 * SECOND_MS, &err);

	CHECK_STR(err.text, "");
	CHECK(answer != NULL);
	return answer;
}

/* Ask for the status until both coroutines are known. */
static json_t *await_story(void)
{
	json_t *status = ask("status");

	while (running_number(status, "written") < 5 || running_number(status, "coroutines") < 2) {
		json_decref(status);
		usleep(1000);
		status = ask("status");
	}
	return status;
}

static const struct recover_thread *only_thread(const struct recover *rec)
{
	CHECK_EQ(rec->nr_threads, 1);
	return &rec->threads[0];
}

/* The one coroutine that is left of the story. */
static void check_left(const struct recover *rec)
{
	const struct recover_coroutine *c = &rec->coroutines[0];
	const struct trace_site *site = recover_site(rec, c->co.site);

	CHECK_EQ(rec->nr_coroutines, 1);
	CHECK_EQ(rec->by_state[TRACE_STATE_SUSPENDED], 1);
	CHECK_EQ(c->co.probe_id, 1);
	CHECK_EQ(c->co.state, TRACE_STATE_SUSPENDED);
	CHECK_EQ(c->co.reason, CTP_REASON_MUTEX);
	CHECK_EQ(c->co.written, 2);
	CHECK_EQ(c->co.lost, 0);
	CHECK_EQ(c->co.addr, 0x5678);
	CHECK_STR(c->name, "parent");
	CHECK_EQ(c->woken_ts, 0);
	CHECK(c->co.birth_ts && c->co.birth_ts <= c->co.since_ts);
	CHECK(site != NULL);
	CHECK_STR(site->file, "story.c");
	CHECK_EQ(site->line, 50);
	CHECK_STR(site->function, "use_lock");
	CHECK(recover_site(rec, 0) == NULL);
	CHECK(recover_site(rec, 60000) == NULL);
	CHECK(!rec->short_of_memory);
}

static void look_at_region(pid_t program)
{
	struct recover_options o = { .last = 3, .threads = true };
	struct err err = { 0 };
	const struct recover_thread *t;
	struct recover rec;

	CHECK_EQ(recover_open(&rec, told.shm, &o, &err), 0);
	check_left(&rec);
	CHECK_EQ(rec.coroutines[0].tid, program);
	CHECK(rec.image.live);
	CHECK_EQ(rec.image.collector_pid, getppid());
	CHECK(!rec.image.cut);
	t = only_thread(&rec);
	CHECK_EQ(t->tid, program);
	CHECK_EQ(t->pid, program);
	CHECK(!t->closed && !t->broken);
	CHECK(t->written >= 13 && t->read <= t->written);
	CHECK_EQ(t->dropped, 0);
	CHECK_EQ(t->nr_last, 3);
	CHECK_EQ(t->last[2].ev.kind, TRACE_SUSPEND);
	CHECK_EQ(t->last[1].ev.kind, TRACE_DESTROY);
	CHECK_EQ(t->last[0].ev.kind, TRACE_END);
	CHECK(t->last[0].ev.ts <= t->last[2].ev.ts);
	CHECK_EQ(rec.nr_processes, 1);
	CHECK_EQ(rec.processes[0].pid, program);
	CHECK_EQ(rec.processes[0].life, PROCESS_THERE);
	CHECK_STR(rec.processes[0].command, "test_collector_");
	CHECK(recover_goes_on(&rec));
	CHECK(rec.same_time);
	CHECK(recover_moment(&rec) >= rec.coroutines[0].co.since_ts);
	recover_close(&rec);
	/* Of one coroutine only. */
	o.of = 2;
	o.last = 100;
	CHECK_EQ(recover_open(&rec, told.shm, &o, &err), 0);
	t = only_thread(&rec);
	CHECK_EQ(t->nr_last, 10);
	CHECK_EQ(t->last[0].ev.kind, TRACE_BIRTH);
	CHECK_STR(t->last[0].name, "child");
	recover_close(&rec);
}

static void look_at_pictures(void)
{
	struct err err = { 0 };
	struct top_picture p;
	struct top_source s;
	uint64_t before;

	CHECK_EQ(top_source_open(&s, told.shm, &err), 0);
	s.wants_events = true;
	CHECK_EQ(top_picture_take(&s, &p, 0, &err), 0);
	CHECK_EQ(p.nr, 1);
	CHECK_EQ(p.by_state[TRACE_STATE_SUSPENDED], 1);
	CHECK_EQ(p.rows[0].state, TRACE_STATE_SUSPENDED);
	CHECK_EQ(p.rows[0].looks.waiting, 1);
	CHECK_EQ(p.rows[0].looks.running + p.rows[0].looks.ready, 0);
	CHECK(p.rows[0].rate > 0); /* since its creation */
	CHECK_EQ(p.threads, 1);
	CHECK_EQ(p.programs, 1);
	CHECK_EQ(p.births, 2);
	CHECK(p.told);
	CHECK_EQ(p.events, 5);
	CHECK_EQ(p.lost, 0);
	CHECK(p.event_rate > 0 && p.birth_rate > 0);
	CHECK(p.birth_rate < p.event_rate);
	CHECK(!p.has_cpu);
	CHECK(p.up_ns > 0 && p.up_ns < 3600 * NS_PER_SEC);
	CHECK_EQ(p.r.threads[0].nr_last, 13);
	CHECK_EQ(running_number(p.status, "written"), 5);
	before = p.up_ns;
	top_picture_release(&p);
	CHECK(p.rows == NULL);
	/* Nothing has happened since. */
	s.wants_events = false;
	CHECK_EQ(top_picture_take(&s, &p, 0, &err), 0);
	CHECK_EQ(p.rows[0].looks.waiting, 2);
	CHECK(p.rows[0].rate == 0);
	CHECK(p.event_rate == 0 && p.birth_rate == 0);
	CHECK(p.up_ns > before);
	CHECK_EQ(p.r.threads[0].nr_last, 0);
	top_picture_release(&p);
	CHECK_EQ(top_picture_take(&s, &p, 1, &err), 0);
	CHECK_EQ(p.r.threads[0].nr_last, 5); /* also what it did to the other one */
	top_picture_release(&p);
	top_source_close(&s);
	CHECK_EQ(s.fd, -1);
	CHECK_EQ(top_source_open(&s, "/nonexistent/region", &err), -ENOENT);
	CHECK(err.hint[0] != '\0');
}

static void ask_about_plain_run(void)
{
	struct all_running all = { 0 };
	struct err err = { 0 };
	size_t left = 0, i, found = 0;
	json_t *status = await_story(), *answer, *words;
	char *raw = NULL;

	CHECK_EQ(running_number(status, "pid"), getppid());
	CHECK_EQ(running_number(status, "written"), 5);
	CHECK_EQ(running_number(status, "coroutines"), 2);
	CHECK_EQ(running_number(status, "lost"), 0);
	CHECK_EQ(running_number(status, "recorder_size"), 0);
	CHECK_EQ(running_number(status, "recorder_used"), 0);
	CHECK_EQ(running_number(status, "no such key"), 0);
	CHECK_STR(running_text(status, "no such key"), "");
	CHECK_STR(running_text(status, "output"), in_scratch("asked.jsonl"));
	CHECK(json_is_false(json_object_get(status, "cpu")));
	words = json_object_get(status, "command");
	CHECK_EQ(json_array_size(words), 4);
	CHECK_STR(json_string_value(json_array_get(words, 2)), "pause");
	words = json_object_get(status, "pids");
	CHECK_EQ(json_array_size(words), 1);
	look_at_region((pid_t)json_integer_value(json_array_get(words, 0)));
	look_at_pictures();
	CHECK_EQ(running_look(&all, NULL, &left, &err), 0);
	for (i = 0; i < all.nr; i++)
		found += !strcmp(all.at[i].region, told.shm);
	CHECK_EQ(found, 1);
	running_release(&all);
	CHECK_EQ(running_look(&all, told.shm, &left, &err), 0);
	CHECK_EQ(all.nr, 1);
	CHECK_EQ(left, 0);
	CHECK(running_traces(&all.at[0], (unsigned long long)getppid()));
	CHECK(running_traces(&all.at[0],
			     (unsigned long long)json_integer_value(json_array_get(words, 0))));
	CHECK(!running_traces(&all.at[0], (unsigned long long)getpid()));
	running_release(&all);
	CHECK_EQ(region_remove(told.shm, &err), -EBUSY);
	CHECK(is_there(told.shm));
	json_decref(status);

	answer = ask("snapshot");
	CHECK(strstr(running_text(answer, "error"), "no flight recorder") != NULL);
	CHECK(strstr(running_text(answer, "hint"), "--flight-recorder") != NULL);
	json_decref(answer);
	answer = ask("unknown");
	CHECK(strstr(running_text(answer, "error"), "does not understand") != NULL);
	json_decref(answer);
	answer = ask("snapshotx");
	CHECK(strstr(running_text(answer, "error"), "does not understand") != NULL);
	json_decref(answer);
	answer = ask("cpu");
	CHECK(json_is_object(answer));
	json_decref(answer);
	/* Too long a line is not answered. */
	raw = malloc(CONTROL_LINE_MAX + 2);
	CHECK(raw != NULL);
	memset(raw, 'x', CONTROL_LINE_MAX + 1);
	raw[CONTROL_LINE_MAX + 1] = '\0';
	CHECK(running_ask(told.shm, raw, 60 * SECOND_MS, &err) == NULL);
	CHECK(err.code == -EPIPE || err.code == -ECONNRESET);
	free(raw);
}

static void a_running_collector_answers(void)
{
	struct collector_config config = config_of(in_scratch("asked.jsonl"));
	struct err err = { 0 };
	char region[512];
	struct seen s;

	let_go_path = in_scratch("asked.go");
	config.argv = command("pause", let_go_path);
	ask_what = ask_about_plain_run;
	told.at_ready = ask_helper;
	CHECK_EQ(collector_run(&config, &r, &err), 0);
	reap_helper();
	check_story_result(config.output);
	s = read_trace(config.output);
	CHECK(s.nr_modules > 1);
	CHECK(s.own_module != 0);
	CHECK(s.has_build_id);
	/* The collector has ended. */
	snprintf(region, sizeof(region), "%s", told.shm);
	CHECK(running_ask(region, "status", SECOND_MS, &err) == NULL);
	CHECK_EQ(err.code, -ENOENT);
	CHECK(strstr(err.hint, "recover") != NULL);
}

static void ask_flight_recorder(void)
{
	json_t *status = await_story(), *answer;
	char request[600];

	CHECK_EQ(running_number(status, "recorder_size"), 1 << 20);
	CHECK(running_number(status, "recorder_used") > 0);
	json_decref(status);
	snprintf(request, sizeof(request), "snapshot %s", in_scratch("snap.jsonl"));
	answer = ask(request);
	CHECK_STR(running_text(answer, "error"), "");
	CHECK_STR(running_text(answer, "trace"), in_scratch("snap.jsonl"));
	CHECK_EQ(running_number(answer, "written"), 5);
	CHECK_EQ(running_number(answer, "collected"), 5);
	CHECK_EQ(running_number(answer, "lost"), 0);
	CHECK_EQ(running_number(answer, "forgotten"), 0);
	CHECK_EQ(running_number(answer, "others"), 8);
	CHECK_EQ(running_number(answer, "coroutines"), 1);
	CHECK_EQ(running_number(answer, "pid"), getppid());
	json_decref(answer);
	answer = ask("snapshot relative.jsonl");
	CHECK(strstr(running_text(answer, "error"), "does not understand") != NULL);
	json_decref(answer);
	answer = ask("snapshot /nonexistent/dir/snap.jsonl");
	CHECK(running_text(answer, "error")[0] != '\0');
	CHECK_EQ(running_number(answer, "collected"), 0);
	CHECK_EQ(running_number(answer, "lost"), 5);
	json_decref(answer);
	answer = ask("snapshot");
	CHECK_STR(running_text(answer, "trace"), in_scratch("flight.jsonl"));
	CHECK_EQ(running_number(answer, "collected"), 5);
	json_decref(answer);
	/* And one by signal. */
	unlink(in_scratch("flight.jsonl"));
	kill(getppid(), SIGUSR2);
	await_file(in_scratch("flight.jsonl"));
}

static void a_flight_recorder_writes_snapshots(void)
{
	struct collector_config config = config_of(in_scratch("flight.jsonl"));
	struct err err = { 0 };
	struct seen s;

	let_go_path = in_scratch("flight.go");
	config.argv = command("pause", let_go_path);
	config.flight_size = 1 << 20;
	ask_what = ask_flight_recorder;
	told.at_ready = ask_helper;
	CHECK_EQ(collector_run(&config, &r, &err), 0);
	reap_helper();
	CHECK_EQ(r.collected, 5);
	CHECK_EQ(r.lost, 0);
	CHECK_EQ(r.others_collected, 8);
	CHECK_EQ(r.forgotten, 0);
	CHECK_EQ(told.nr_facts, 0);
	CHECK_EQ(told.nr_taken, 1);
	CHECK_EQ(told.taken.err.code, 0);
	CHECK_EQ(told.taken.collected, 5);
	CHECK_STR(told.taken.path, config.output);
	CHECK_EQ(told.nr_written, 4); /* two by request, one by signal, the last one */
	CHECK_STR(told.written, config.output);
	s = read_trace(in_scratch("snap.jsonl"));
	CHECK_STR(text, story);
	CHECK_EQ(s.totals.exit_status, -1); /* it still ran */
	CHECK_EQ(s.totals.collected, 5);
	s = read_trace(config.output);
	CHECK_STR(text, story);
	CHECK_EQ(s.totals.exit_status, 0);
	CHECK(is_there(in_scratch("flight.jsonl.old")));
}

static void a_flight_recorder_needs_a_file(void)
{
	struct collector_config config = config_of("-");
	struct err err;

	config.argv = command("story", NULL);
	config.flight_size = 1 << 20;
	CHECK_EQ(collect_fails(&config, &err), -EINVAL);
	config.output = "/dev/null";
	CHECK_EQ(collect_fails(&config, &err), -EINVAL);
	CHECK(strstr(err.text, "'/dev/null' cannot be replaced") != NULL);
	config.output = in_scratch("no/dir/t.jsonl");
	CHECK_EQ(collect_fails(&config, &err), -ENOENT);
	config.output = in_scratch("slashes.ctf//");
	config.format = TRACE_FORMAT_CTF;
	collect(&config);
	CHECK_EQ(r.collected, 5);
	CHECK(is_there(in_scratch("slashes.ctf/metadata")));
}

/* ---- tests: a killed collector ------------------------------------------------------- */

/* The collector and its program are killed when everything is written. */
static void kill_collector(const char *region, const char *output)
{
	struct collector_config config = config_of(output);
	struct err err = { 0 };
	char sock[512];
	int status;

	/* Not in a directory of its own, which nothing would remove. */
	snprintf(sock, sizeof(sock), "%s", in_scratch("killed.sock"));
	config.sock = sock;
	helper = fork();
	if (helper == 0) {
		config.argv = command("pause", in_scratch("never"));
		config.shm = region;
		collector_run(&config, &r, &err);
		_exit(1);
	}
	snprintf(told.shm, sizeof(told.shm), "%s", region);
	for (;;) {
		json_t *now = running_ask(region, "status", 60 * SECOND_MS, &err);
		bool is_written = now && running_number(now, "written") == 5;

		json_decref(now);
		if (is_written)
			break;
		usleep(1000);
	}
	kill(helper, SIGKILL);
	CHECK_EQ(waitpid(helper, &status, 0), helper);
	CHECK(WIFSIGNALED(status));
	while (waitpid(-1, NULL, 0) > 0) /* the program, and the witness */
		;
}

static void the_region_of_a_killed_collector_is_recovered(void)
{
	struct recover_options o = { .last = 100, .all = true, .tool = "corotracer test" };
	struct err err = { 0 };
	char region[512], recovered[512], output[512];
	struct top_source source;
	const struct recover_thread *t;
	struct recover rec;
	struct seen s;

	snprintf(region, sizeof(region), "%s", in_scratch("killed.region"));
	snprintf(output, sizeof(output), "%s", in_scratch("half.jsonl"));
	snprintf(recovered, sizeof(recovered), "%s", in_scratch("recovered.jsonl"));
	kill_collector(region, output);
	CHECK(is_there(region));
	CHECK_EQ(top_source_open(&source, region, &err), -ESRCH);
	CHECK(strstr(err.text, "has ended") != NULL);
	CHECK(strstr(err.hint, "corotracer recover") != NULL);
	err = (struct err){ 0 };
	o.output = recovered;
	o.join = true;
	CHECK_EQ(recover_open(&rec, region, &o, &err), 0);
	check_left(&rec);
	CHECK(!rec.image.live);
	CHECK(!recover_goes_on(&rec));
	CHECK_EQ(rec.processes[0].life, PROCESS_GONE);
	t = only_thread(&rec);
	CHECK(t->saved <= t->read);
	CHECK_EQ(rec.account.saved + rec.account.unsaved, 5);
	CHECK_EQ(rec.account.others_saved + rec.account.others_unsaved, 8);
	CHECK_EQ(rec.account.lost + rec.account.gone + rec.account.missing, 0);
	CHECK_EQ(rec.output.code, 0);
	CHECK_EQ(rec.written.written, 5);
	CHECK_EQ(rec.written.others_written, 8);
	recover_close(&rec);
	s = read_trace(recovered);
	CHECK_STR(text, story);
	CHECK_EQ(s.totals.exit_status, -1);
	/* What is left can be removed. */
	CHECK_EQ(region_remove(region, &err), 0);
	CHECK(!is_there(region));
	CHECK_EQ(region_remove(region, &err), -ENOENT);
	err = (struct err){ 0 };
	CHECK_EQ(recover_open(&rec, region, &o, &err), -ENOENT);
}

/* ---- tests: attach -------------------------------------------------------------------- */

static pid_t start_worker(const char *go)
{
	pid_t pid = fork();

	if (pid == 0)
		execl(self, self, "child", "work", go, NULL);
	return pid;
}

static void a_running_program_is_attached_and_detached(void)
{
	struct collector_config config = config_of(in_scratch("attach.jsonl"));
	const char *go = in_scratch("attach.go");
	pid_t pid = start_worker(go);
	struct err err = { 0 };
	struct seen s;
	int status;

	await_file(in_scratch("attach.go.up"));
	config.pid = pid;
	config.duration_ns = 300 * NS_PER_MS;
	CHECK_EQ(collector_run(&config, &r, &err), 0);
	CHECK_EQ(r.failed.code, 0);
	CHECK(r.attached);
	CHECK(r.detached);
	CHECK(!r.launched && !r.replaced);
	CHECK_EQ(r.pid, pid);
	CHECK_EQ(r.nr_connected, 1);
	CHECK_EQ(r.still_connected, 0);
	CHECK(r.collected >= 2);
	CHECK_EQ(told.nr_attached, 1);
	CHECK(!told.is_idle);
	CHECK_EQ(told.connected, pid);
	CHECK(told.facts_running && told.facts_attached);
	CHECK(r.duration_ns >= 300 * NS_PER_MS);
	s = read_trace(config.output);
	CHECK(s.totals.detached);
	CHECK_EQ(s.run.pid, pid);
	CHECK_EQ(strncmp(text, "birth 1 of 0  flags 20\n", 23), 0); /* adopted */
	/* Again, until it ends. */
	config = config_of(in_scratch("attach2.jsonl"));
	config.pid = pid;
	let_go_path = go;
	told.at_ready = let_go_later;
	CHECK_EQ(collector_run(&config, &r, &err), 0);
	CHECK(!r.detached);
	CHECK(!told.facts_running);
	CHECK(r.collected >= 2);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 3);
	while (waitpid(-1, NULL, 0) > 0)
		;
	s = read_trace(config.output);
	CHECK(!s.totals.detached);
}

static bool has_name(pid_t pid, const char *name)
{
	char path[64], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	CHECK(f != NULL);
	CHECK(fgets(line, sizeof(line), f) != NULL);
	fclose(f);
	return !strncmp(line, name, strlen(name));
}

static void a_process_that_cannot_be_attached_is_explained(void)
{
	struct collector_config config = config_of(in_scratch("other.jsonl"));
	struct err err;
	pid_t pid = fork();

	if (pid == 0) {
		execlp("sleep", "sleep", "600", NULL);
		_exit(1);
	}
	while (!has_name(pid, "sleep"))
		usleep(1000);
	config.pid = pid;
	memset(&err, 0, sizeof(err));
	CHECK(collector_run(&config, &r, &err) < 0);
	CHECK_EQ(err.code, -ENOENT);
	CHECK(strstr(err.text, "contains no corotracer SDK") != NULL);
	CHECK(!is_there(config.output));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	memset(&err, 0, sizeof(err));
	CHECK_EQ(collector_run(&config, &r, &err), -ESRCH);
}

int main(int argc, char **argv)
{
	static char exe[512];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (argc > 2 && !strcmp(argv[1], "child"))
		_exit(child_main(argv[2], argc > 3 ? argv[3] : NULL)); /* without a leak check */
	CHECK(n > 0);
	self = exe;
	unsetenv("LD_PRELOAD"); /* a leak checker of the test is not for its programs */
	/* Processes that outlive their parent end before the test does. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	unsetenv(CTP_ENV_SHM);
	unsetenv(CTP_ENV_SOCK);
	unsetenv(CTP_ENV_STATIONS);
	snprintf(scratch, sizeof(scratch), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
	RUN(a_program_is_traced_in_every_format);
	RUN(a_killed_program_leaves_its_events);
	RUN(stations_of_an_old_writer_are_read);
	RUN(a_program_without_events_is_named);
	RUN(a_program_without_the_sdk_is_not_named);
	RUN(a_program_that_cannot_attach_is_named_with_the_reason);
	RUN(the_run_ends_with_the_last_process_if_wanted);
	RUN(the_run_ends_with_the_program_by_default);
	RUN(serves_until_a_signal);
	RUN(a_trace_on_standard_output_moves_that_of_the_program);
	RUN(a_region_that_exists_is_not_replaced);
	RUN(a_socket_path_has_a_limit);
	RUN(a_program_that_cannot_start_is_explained);
	RUN(a_running_collector_answers);
	RUN(a_flight_recorder_writes_snapshots);
	RUN(a_flight_recorder_needs_a_file);
	RUN(the_region_of_a_killed_collector_is_recovered);
	RUN(a_running_program_is_attached_and_detached);
	RUN(a_process_that_cannot_be_attached_is_explained);
	scratch_clean(scratch);
	return 0;
}
