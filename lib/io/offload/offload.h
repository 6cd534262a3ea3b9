/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A thread for work that may take long (a disk, another machine, a large file), so that control
 * never waits. Jobs are done one at a time, in the order in which they were submitted; a
 * descriptor is readable while there are jobs that are done and have not been collected.
 *
 * A job and what its context points at belong to the thread from offload_submit() until
 * offload_collect() returns them. All calls come from one thread, that of the owner.
 */
#ifndef WEIR_OFFLOAD_OFFLOAD_H
#define WEIR_OFFLOAD_OFFLOAD_H

#include <pthread.h>
#include <stdbool.h>

struct offload_job {
	void (*work)(void *context); /* on the thread */
	void *context;
	struct offload_job *next; /* in a queue of the offload's */
};

struct offload_queue {
	struct offload_job *first, *last;
};

struct offload {
	pthread_t thread;
	int event;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct offload_queue submitted, done;
	bool stopping;
};

/*
 * Starts the thread: without the real-time class of whoever starts it, and with all signals blocked
 * (a write beyond RLIMIT_FSIZE is then an error and no end of the process). 0 or a negative errno.
 */
int offload_start(struct offload *offload);

/* What the thread is called from now on in lists of threads; at most 15 characters. */
void offload_name(struct offload *offload, const char *name);

/*
 * Waits until all that was submitted is done, and ends the thread. After so many milliseconds it
 * leaves a thread that hangs behind, and returns false: whatever its jobs point at, and *offload,
 * must stay until the process ends.
 */
bool offload_stop(struct offload *offload, unsigned patience_ms);

/* The job may not be under way already. */
void offload_submit(struct offload *offload, struct offload_job *job);

/* The context of the next job that is done; NULL: there is none. */
void *offload_collect(struct offload *offload);

/* Readable while offload_collect() returns something. */
int offload_fd(const struct offload *offload);

#endif
