/* SPDX-License-Identifier: MIT */
/*
 * held_locks.h - every lock that is released was taken.
 *
 * Link with --wrap=pthread_mutex_unlock.  A lock that is not taken changes nothing that a test sees
 * while no other thread is there at that moment.
 */
#ifndef HELD_LOCKS_H
#define HELD_LOCKS_H

#include <errno.h>
#include <pthread.h>

#include "check.h"

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	CHECK_EQ(pthread_mutex_trylock(lock), EBUSY);
	return __real_pthread_mutex_unlock(lock);
}

#endif
