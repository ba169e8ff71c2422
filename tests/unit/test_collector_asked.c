/* SPDX-License-Identifier: MIT */
/*
 * test_collector_asked.c - collectors that are asked while they run, or killed: answers, snapshots,
 * and what is recovered.
 */
#include "collector_bed.h"

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
	int status;

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
	CHECK(is_there(
		in_scratch("killed.region.wake"))); /* beside it: it has no other directory */
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
	CHECK(s.totals.complete); /* what the collector wrote, and the rest */
	CHECK_EQ(s.totals.collected, 5);
	CHECK_EQ(s.totals.written, 5);
	CHECK_EQ(s.totals.lost + s.totals.lost_full + s.totals.lost_output, 0);
	CHECK_EQ(s.totals.others_collected, 8);
	CHECK_EQ(s.totals.others_written, 8);
	CHECK_EQ(s.totals.others_lost, 0);
	CHECK_EQ(s.nr_runs, 1);
	CHECK_EQ(s.nr_processes, 1);
	/* Only what the region has. */
	o.join = false;
	CHECK_EQ(recover_open(&rec, region, &o, &err), 0);
	recover_close(&rec);
	s = read_trace(recovered);
	CHECK(!s.totals.complete);
	CHECK_EQ(s.nr_runs, 1);
	CHECK_EQ(s.totals.written, s.totals.collected);
	CHECK_EQ(s.totals.others_lost, 0);
	/* What is left can be removed. */
	CHECK_EQ(region_remove(region, &err), 0);
	CHECK(!is_there(region));
	CHECK(!is_there(in_scratch("killed.region.wake")));
	CHECK(!is_there(in_scratch("killed.region.control")));
	CHECK(!is_there(in_scratch("killed.region.saved")));
	CHECK_EQ(region_remove(region, &err), -ENOENT);
	err = (struct err){ 0 };
	CHECK_EQ(recover_open(&rec, region, &o, &err), -ENOENT);
}

/* What a killed collector left beside a region that was removed by hand is not in the way. */
static void a_named_region_is_used_again(void)
{
	struct collector_config config = config_of(in_scratch("again.jsonl"));
	char region[512];

	snprintf(region, sizeof(region), "%s", in_scratch("again.region"));
	kill_collector(region, in_scratch("first.jsonl"));
	CHECK_EQ(unlink(region), 0);
	CHECK(is_there(in_scratch("again.region.wake")));
	config = config_of(in_scratch("again.jsonl"));
	config.shm = region;
	config.argv = command("story", NULL);
	collect(&config);
	CHECK_EQ(r.collected, 5);
	CHECK_STR(told.sock, in_scratch("again.region.wake"));
	CHECK(!is_there(in_scratch("again.region.control")));
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "child"))
		_exit(child_main(argv[2], argc > 3 ? argv[3] : NULL)); /* without a leak check */
	bed_prepare();
	RUN(a_running_collector_answers);
	RUN(a_flight_recorder_writes_snapshots);
	RUN(a_flight_recorder_needs_a_file);
	RUN(the_region_of_a_killed_collector_is_recovered);
	RUN(a_named_region_is_used_again);
	scratch_clean(scratch);
	return 0;
}
