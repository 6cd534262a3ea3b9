/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A thread for slow work (a disk, another machine, a large file), so that control never waits.
 */
#include "offload/offload.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include <sys/eventfd.h>
#include <unistd.h>

static void queue_push(struct offload_queue *queue, struct offload_job *job)
{
	job->next = NULL;
	if (queue->first)
		queue->last->next = job;
	else
		queue->first = job;
	queue->last = job;
}

static struct offload_job *queue_pop(struct offload_queue *queue)
{
	struct offload_job *job = queue->first;

	if (job)
		queue->first = job->next;
	return job;
}

static void event_set(int event)
{
	uint64_t one = 1;

	while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void event_clear(int event)
{
	uint64_t times;

	while (read(event, &times, sizeof(times)) < 0 && errno == EINTR)
		;
}

/* Runs a job without the lock. The job belongs to this thread meanwhile. */
static void do_job(struct offload *offload, struct offload_job *job)
{
	pthread_mutex_unlock(&offload->lock);
	job->work(job->context);
	pthread_mutex_lock(&offload->lock);
	queue_push(&offload->done, job);
	event_set(offload->event);
}

static void *do_jobs(void *context)
{
	struct offload *offload = context;
	struct offload_job *job;

	pthread_mutex_lock(&offload->lock);
	while ((job = queue_pop(&offload->submitted)) || !offload->stopping) {
		if (job)
			do_job(offload, job);
		else
			pthread_cond_wait(&offload->changed, &offload->lock);
	}
	pthread_mutex_unlock(&offload->lock);
	return NULL;
}

static int start_thread(struct offload *offload)
{
	const struct sched_param no_priority = {0};
	sigset_t all, before;
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	/* A sandbox can forbid another class, which only a caller of a real-time class needs. */
	if (sched_getscheduler(0) != SCHED_OTHER) {
		pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
		pthread_attr_setschedparam(&attr, &no_priority);
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&offload->thread, &attr, do_jobs, offload);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static void release_offload(struct offload *offload)
{
	pthread_cond_destroy(&offload->changed);
	pthread_mutex_destroy(&offload->lock);
	close(offload->event);
}

int offload_start(struct offload *offload)
{
	int err;

	*offload = (struct offload){.event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
	if (offload->event < 0)
		return -errno;
	pthread_mutex_init(&offload->lock, NULL);
	pthread_cond_init(&offload->changed, NULL);
	err = start_thread(offload);
	if (err)
		release_offload(offload);
	return err;
}

void offload_name(struct offload *offload, const char *name)
{
	(void)pthread_setname_np(offload->thread, name);
}

/* Polls once a millisecond: ThreadSanitizer does not support a timed join with this clock. */
static bool join_within(pthread_t thread, unsigned patience_ms)
{
	const struct timespec step = {.tv_nsec = 1000000};
	uint64_t left = patience_ms;
	bool ended;

	while (!(ended = pthread_tryjoin_np(thread, NULL) == 0) && left-- > 0)
		nanosleep(&step, NULL);
	return ended;
}

bool offload_stop(struct offload *offload, unsigned patience_ms)
{
	pthread_mutex_lock(&offload->lock);
	offload->stopping = true;
	pthread_cond_signal(&offload->changed);
	pthread_mutex_unlock(&offload->lock);
	if (!join_within(offload->thread, patience_ms)) {
		pthread_detach(offload->thread);
		return false;
	}
	release_offload(offload);
	return true;
}

void offload_submit(struct offload *offload, struct offload_job *job)
{
	pthread_mutex_lock(&offload->lock);
	queue_push(&offload->submitted, job);
	pthread_cond_signal(&offload->changed);
	pthread_mutex_unlock(&offload->lock);
}

void *offload_collect(struct offload *offload)
{
	struct offload_job *job;

	pthread_mutex_lock(&offload->lock);
	job = queue_pop(&offload->done);
	if (!offload->done.first)
		event_clear(offload->event);
	pthread_mutex_unlock(&offload->lock);
	return job ? job->context : NULL;
}

int offload_fd(const struct offload *offload)
{
	return offload->event;
}
