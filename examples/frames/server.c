/* SPDX-License-Identifier: MIT */
/*
 * server.c - a small HTTP-like server that saves a frame for each request.
 *
 *	server [SECONDS [WORKERS]]
 *
 * It listens on a loopback port that the kernel chooses, and contains its own client: a
 * thread that sends requests.  Each worker accepts a connection, answers one request and
 * saves a frame.  While no collector is attached, frames cost almost nothing.  Try
 *
 *	corotracer attach -p PID -b Server -o server.ppt
 *	corotracer decode server.ppt -
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ppt-Server.h"

#define WORKERS_MAX 8

static int listener;
static struct sockaddr_in address;
static atomic_int stopping;
static atomic_ullong answered;

/* ---- answering ------------------------------------------------------------- */

/* The first line: "GET /path HTTP/1.0". */
static void parse(const char *line, struct ppt_Server_request *frame)
{
	char method[8] = "";

	/* One character less than the size of the member, for the terminating zero. */
	if (sscanf(line, "%7s %23s", method, frame->path) < 2)
		frame->path[0] = 0;
	frame->how = !strcmp(method, "GET")   ? ppt_Server_method_get
		     : !strcmp(method, "PUT") ? ppt_Server_method_put
					      : ppt_Server_method_other;
}

/* Some work: a sum over numbers that depend on the path. */
static unsigned long work(const char *path)
{
	unsigned long sum = strlen(path) * 1000;
	unsigned long i, rounds = !strncmp(path, "/slow", 5) ? 200000 : 2000;

	for (i = 0; i < rounds; i++)
		sum = sum * 31 + i;
	return sum;
}

static void answer(int fd, int worker)
{
	struct ppt_Server_request frame = { 0 };
	char in[256], out[256];
	ssize_t size;
	int length;

	size = read(fd, in, sizeof(in) - 1);
	if (size <= 0)
		return;
	in[size] = 0;
	ppt_Server_request_snapshot_took_start(&frame);
	ppt_Server_request_snapshot_work_start(&frame);
	parse(in, &frame);
	frame.worker = worker;
	frame.status = frame.path[0] == '/' ? 200 : 400;
	length = snprintf(out, sizeof(out), "HTTP/1.0 %d\r\n\r\n%lu\n", frame.status,
			  work(frame.path));
	if (write(fd, out, (size_t)length) == length)
		frame.bytes = (uint32_t)length;
	ppt_Server_request_snapshot_work_end(&frame);
	ppt_Server_request_snapshot_took_end(&frame);
	ppt_Server_request_save(&frame);
	atomic_fetch_add(&answered, 1);
}

static void *serve(void *arg)
{
	int worker = (int)(size_t)arg;

	while (!atomic_load(&stopping)) {
		struct ppt_Server_idle idle = { 0 };
		int fd;

		ppt_Server_idle_snapshot_waited_start(&idle);
		fd = accept(listener, NULL, NULL);
		ppt_Server_idle_snapshot_waited_end(&idle);
		if (fd < 0)
			break;
		idle.worker = worker;
		ppt_Server_idle_save(&idle);
		answer(fd, worker);
		close(fd);
	}
	return NULL;
}

/* ---- the client -------------------------------------------------------------- */

static void ask(const char *request)
{
	char in[256];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    write(fd, request, strlen(request)) > 0) {
		while (read(fd, in, sizeof(in)) > 0)
			;
	}
	if (fd >= 0)
		close(fd);
}

static void *be_clients(void *arg)
{
	static const char *const requests[] = { "GET / HTTP/1.0\r\n\r\n",
						"GET /slow/report HTTP/1.0\r\n\r\n",
						"PUT /upload HTTP/1.0\r\n\r\n",
						"GET /index.html HTTP/1.0\r\n\r\n",
						"nonsense\r\n\r\n" };
	struct timespec pause = { 0, 1000000 };
	unsigned i;

	for (i = 0; !atomic_load(&stopping); i++) {
		ask(requests[i % 5]);
		nanosleep(&pause, NULL);
	}
	return arg;
}

/* ---- begin and end ----------------------------------------------------------- */

static int start_listening(void)
{
	socklen_t size = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 &&
	       listen(listener, 16) == 0 &&
	       getsockname(listener, (struct sockaddr *)&address, &size) == 0;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
	unsigned long nr = argc > 2 ? strtoul(argv[2], NULL, 10) : 2, i;
	pthread_t workers[WORKERS_MAX], clients;

	if (nr < 1 || nr > WORKERS_MAX || !start_listening()) {
		fprintf(stderr, "usage: server [SECONDS [WORKERS (1 to %d)]]\n", WORKERS_MAX);
		return 1;
	}
	for (i = 0; i < nr; i++)
		pthread_create(&workers[i], NULL, serve, (void *)(i + 1));
	pthread_create(&clients, NULL, be_clients, NULL);
	printf("pid %ld, port %d\n", (long)getpid(), ntohs(address.sin_port));
	fflush(stdout);
	sleep(seconds);
	atomic_store(&stopping, 1);
	shutdown(listener, SHUT_RDWR);
	for (i = 0; i < nr; i++)
		pthread_join(workers[i], NULL);
	pthread_join(clients, NULL);
	printf("%llu requests\n", atomic_load(&answered));
	return 0;
}
