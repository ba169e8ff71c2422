/* SPDX-License-Identifier: MIT */
/*
 * test_collector_run.c - whole runs of the collector, with this program as the traced one.
 *
 * "test_collector_run child MODE" is a traced program with a known story.  Each test runs the
 * collector in this process, and compares its result and the trace with the story.
 */
#include "collector_bed.h"

/* ---- tests: a launched program ------------------------------------------------------- */

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

/* The collector sleeps: the next event has to wake it. */
static void await_sleep(void)
{
	int fd = open(told.shm, O_RDONLY | O_CLOEXEC);
	const struct ctp_header *h = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(fd >= 0 && h != MAP_FAILED);
	while (!__atomic_load_n(&ctp_header_ext((struct ctp_header *)h)->sleeping,
				__ATOMIC_RELAXED))
		usleep(1000);
	close(fd);
}

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
		await_sleep();
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

/* The socket of a named region is beside it; where its path would be too long, it is not. */
static void the_socket_of_a_named_region_is_beside_it(void)
{
	size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1 - strlen(".wake");
	struct collector_config config = config_of(in_scratch("beside.jsonl"));
	char path[256], sock[300];
	int i;

	for (i = 0; i < 2; i++) {
		told.nr_ready = told.nr_drain_ends = 0;
		snprintf(path, sizeof(path), "%s/", scratch);
		memset(path + strlen(path), 'r', most + (size_t)i - strlen(path));
		path[most + (size_t)i] = '\0';
		config.shm = path;
		config.argv = command("story", NULL);
		collect(&config);
		CHECK_EQ(r.collected, 5);
		CHECK_STR(told.shm, path);
		snprintf(sock, sizeof(sock), "%s.wake", path);
		CHECK_EQ(strcmp(told.sock, sock) == 0, i == 0);
		CHECK_EQ(strstr(told.sock, "/" REGION_DIR_PREFIX) && strstr(told.sock, "/wake"),
			 i == 1);
	}
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

static int refuse(const char *shm, const char *sock, uint32_t nr_stations, struct err *err)
{
	told.nr_ready++;
	snprintf(told.shm, sizeof(told.shm), "%s", shm);
	snprintf(told.sock, sizeof(told.sock), "%s", sock);
	CHECK_EQ(nr_stations, 2);
	return err_set(err, -EPERM, "not today");
}

/* The caller may refuse the run when the region exists: the program does not start. */
static void a_run_that_is_refused_does_not_start(void)
{
	struct collector_config config = config_of(in_scratch("refused.jsonl"));
	struct err err;

	config.argv = command("work", in_scratch("refused.go"));
	config.ready = refuse;
	CHECK_EQ(collect_fails(&config, &err), -EPERM);
	CHECK_STR(err.text, "not today");
	CHECK_EQ(told.nr_ready, 1);
	CHECK(!is_there(in_scratch("refused.go.up")));
	CHECK(!is_there(config.output)); /* nothing is left of the trace */
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "child"))
		_exit(child_main(argv[2], argc > 3 ? argv[3] : NULL)); /* without a leak check */
	bed_prepare();
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
	RUN(the_socket_of_a_named_region_is_beside_it);
	RUN(a_program_that_cannot_start_is_explained);
	RUN(a_running_program_is_attached_and_detached);
	RUN(a_process_that_cannot_be_attached_is_explained);
	RUN(a_run_that_is_refused_does_not_start);
	scratch_clean(scratch);
	return 0;
}
