/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The thread takes an ask from one queue, works on it without the lock, and puts it into the other.
 */
#include "etcd/etcd.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <curl/curl.h>
#include <sodium.h>

#include "etcd/asks.h"

struct etcd {
	struct http *http;
	struct drawer drawer; /* the thread's */
	struct asks asks;     /* the caller's, but for an ask in the thread's hands */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct ask_queue asked, answered;
	bool closing;
	int event;
};

static void tell(struct etcd *etcd)
{
	uint64_t one = 1;

	while (write(etcd->event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *run(void *context)
{
	struct etcd *etcd = context;
	struct ask *ask;

	pthread_mutex_lock(&etcd->lock);
	while (!etcd->closing) {
		ask = ask_pop(&etcd->asked);
		if (!ask) {
			pthread_cond_wait(&etcd->changed, &etcd->lock);
			continue;
		}
		pthread_mutex_unlock(&etcd->lock);
		draw(&etcd->drawer, &ask->draw, &ask->drawn, &ask->answer);
		pthread_mutex_lock(&etcd->lock);
		ask_push(&etcd->answered, ask);
		tell(etcd);
	}
	pthread_mutex_unlock(&etcd->lock);
	return NULL;
}

/* Signals are for other threads. */
static int start_thread(struct etcd *etcd)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&etcd->thread, NULL, run, etcd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static int start(struct etcd *etcd)
{
	int err;

	etcd->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (etcd->event < 0)
		return -errno;
	pthread_mutex_init(&etcd->lock, NULL);
	pthread_cond_init(&etcd->changed, NULL);
	err = start_thread(etcd);
	if (err) {
		pthread_cond_destroy(&etcd->changed);
		pthread_mutex_destroy(&etcd->lock);
		close(etcd->event);
	}
	return err;
}

static int set_up(struct etcd *etcd, const struct etcd_params *params)
{
	uint64_t lot;
	int err = http_open(params, &etcd->http);

	if (err)
		return err;
	randombytes_buf(&lot, sizeof(lot));
	err = drawer_init(&etcd->drawer, etcd->http, params, lot);
	if (err == 0)
		err = start(etcd);
	if (err)
		http_close(etcd->http);
	return err;
}

/* libcurl counts these, and wants the first one before there are other threads that use it. */
int etcd_open(const struct etcd_params *params, struct etcd **out)
{
	struct etcd *etcd;
	int err;

	if (params->n_endpoints == 0 || params->epoch == 0 || params->timeout_ms == 0)
		return -EINVAL;
	if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	etcd = calloc(1, sizeof(*etcd));
	err = etcd ? set_up(etcd, params) : -ENOMEM;
	if (err) {
		free(etcd);
		curl_global_cleanup();
		return err;
	}
	*out = etcd;
	return 0;
}

void etcd_close(struct etcd *etcd)
{
	if (!etcd)
		return;
	http_give_up(etcd->http);
	pthread_mutex_lock(&etcd->lock);
	etcd->closing = true;
	pthread_cond_signal(&etcd->changed);
	pthread_mutex_unlock(&etcd->lock);
	pthread_join(etcd->thread, NULL);
	pthread_cond_destroy(&etcd->changed);
	pthread_mutex_destroy(&etcd->lock);
	close(etcd->event);
	http_close(etcd->http);
	asks_free(&etcd->asks);
	free(etcd);
	curl_global_cleanup();
}

int etcd_draw(struct etcd *etcd, const struct etcd_draw *draw)
{
	size_t len = strnlen(draw->budget, sizeof(draw->budget));
	struct ask *ask;

	if (len == 0 || len == sizeof(draw->budget) || memchr(draw->budget, '/', len))
		return -EINVAL;
	ask = asks_find(&etcd->asks, draw->budget);
	if (!ask)
		return -ENOMEM;
	if (ask->busy)
		return -EBUSY;
	ask->busy = true;
	ask->draw.period = draw->period;
	ask->draw.total = draw->total;
	ask->draw.units = draw->units;
	pthread_mutex_lock(&etcd->lock);
	ask_push(&etcd->asked, ask);
	pthread_cond_signal(&etcd->changed);
	pthread_mutex_unlock(&etcd->lock);
	return 0;
}

int etcd_fd(const struct etcd *etcd)
{
	return etcd->event;
}

/* The descriptor stays readable until nothing is left. */
int etcd_answer(struct etcd *etcd, struct etcd_answer *answer)
{
	uint64_t times;
	struct ask *ask;

	pthread_mutex_lock(&etcd->lock);
	ask = ask_pop(&etcd->answered);
	if (!ask)
		while (read(etcd->event, &times, sizeof(times)) < 0 && errno == EINTR)
			;
	pthread_mutex_unlock(&etcd->lock);
	if (!ask)
		return -EAGAIN;
	*answer = ask->answer;
	ask->busy = false;
	return 0;
}
