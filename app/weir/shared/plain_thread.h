/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A thread for control's long work. It has no real-time class: a long computation would delay
 * control.
 */
#ifndef WEIR_APP_PLAIN_THREAD_H
#define WEIR_APP_PLAIN_THREAD_H

#include <pthread.h>
#include <sched.h>

/* Returns 0 or a negative errno. Control. */
static inline int plain_thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	const struct sched_param no_priority = {0};
	pthread_attr_t attr;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &no_priority);
	ret = pthread_create(thread, &attr, run, context);
	pthread_attr_destroy(&attr);
	return -ret;
}

#endif
