// SPDX-License-Identifier: MIT
/*
 * bug_one_of_thirty_sensors.c - thirty sensors send a reading on each change.  Sensor 17 is noisy:
 * the limiter stops reading from it, and forgets to start again.  Its bytes stay in the socket. The
 * others are idle most of the time, and some say nothing for the rest of the run.
 *
 * corpus: bug
 * class: lost-wakeup|long-suspended
 * at: @reading
 * victims: sensor-17
 * never: deadlock, leak, closed-under-waiter
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber_kit.h"

#define SENSORS 30

static int near_end[SENSORS], far_end[SENSORS];

static void sensor(void *arg)
{
	int me = (int)(long)arg;
	char reading[32];

	for (;;) {
		fk_readable(near_end[me]); /* @reading */
		while (recv(near_end[me], reading, sizeof(reading), MSG_DONTWAIT) > 0)
			;
	}
}

static void *world(void *arg)
{
	(void)arg;
	for (int round = 0; round < 1000; round++) {
		int i = round * 7 % SENSORS;

		if (i % 5 == 1 && round > 60)
			continue; /* these are quiet from now on */
		if (send(far_end[i], "t=21.5", 6, MSG_NOSIGNAL) < 0)
			return NULL;
		usleep(12000);
	}
	pause();
	return NULL;
}

static void limiter(void *arg)
{
	(void)arg;
	fk_sleep(1200);
	fk_unwatch(near_end[17]); /* the bug: no second call that watches it again */
	for (;;)
		fk_sleep(200);
}

static void uplink(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(100);
}

int main(void)
{
	pthread_t thread;
	char name[24];
	int pair[2];

	fk_setup(1, FK_FIFO);
	for (long i = 0; i < SENSORS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		near_end[i] = pair[0];
		far_end[i] = pair[1];
		snprintf(name, sizeof(name), "sensor-%ld", i);
		fk_spawn(name, sensor, (void *)i);
	}
	fk_spawn("limiter", limiter, NULL);
	fk_spawn("uplink", uplink, NULL);
	pthread_create(&thread, NULL, world, NULL);
	fk_run(3500);
	return 0;
}
