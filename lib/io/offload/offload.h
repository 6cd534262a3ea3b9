/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A thread for slow work (a disk, another machine, a large file), so that control never waits. It
 * runs one job at a time, in the order of submission. A descriptor is readable while finished jobs
 * wait for collection.
 *
 * A job and the data of its context belong to the thread from offload_submit() until
 * offload_collect() returns them. All calls come from one thread, the owner's.
 */
#ifndef WEIR_OFFLOAD_OFFLOAD_H
#define WEIR_OFFLOAD_OFFLOAD_H

#include <pthread.h>
#include <stdbool.h>

struct offload_job {
	void (*work)(void *context); /* on the thread */
	void *context;
	struct offload_job *next; /* link in a queue of the offload */
};

struct offload_queue {
	struct offload_job *first, *last;
};

struct offload {
	pthread_t thread;
	int event;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	struct offload_queue submitted, done;
	bool stopping;
};

/*
 * Starts the thread, without the caller's real-time class and with all signals blocked. So a write
 * beyond RLIMIT_FSIZE is an error instead of the end of the process. Returns 0 or a negative errno.
 */
int offload_start(struct offload *offload);

/* Sets the name of the thread in thread lists; at most 15 characters. */
void offload_name(struct offload *offload, const char *name);

/*
 * Waits until all submitted jobs are done, and ends the thread. Returns false after `patience_ms`
 * milliseconds. Then the thread still runs: *offload and all data of its jobs must remain until the
 * process ends.
 */
bool offload_stop(struct offload *offload, unsigned patience_ms);

/* Submits a job that is not submitted already. */
void offload_submit(struct offload *offload, struct offload_job *job);

/* Returns the context of the next finished job; NULL: none. */
void *offload_collect(struct offload *offload);

/* Readable while offload_collect() would return a context. */
int offload_fd(const struct offload *offload);

#endif
