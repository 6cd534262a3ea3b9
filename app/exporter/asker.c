/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "asker.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <sys/eventfd.h>
#include <unistd.h>

struct asker {
	const struct boxes_options *options;
	int fd;
	pthread_t thread;
	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t wanted;
	bool begun, closing;
	struct looked_at looked_at;
	struct boxes *found; /* result that has not been taken */
};

/* Waits until a round is wanted. Returns false when the asker closes. */
static bool await_round(struct asker *asker, struct looked_at *looked_at)
{
	bool begun;

	pthread_mutex_lock(&asker->lock);
	while (!asker->begun && !asker->closing)
		pthread_cond_wait(&asker->wanted, &asker->lock);
	begun = !asker->closing;
	*looked_at = asker->looked_at;
	pthread_mutex_unlock(&asker->lock);
	return begun;
}

static void end_round(struct asker *asker, struct boxes *found)
{
	pthread_mutex_lock(&asker->lock);
	boxes_free(asker->found);
	asker->found = found;
	asker->begun = false;
	pthread_mutex_unlock(&asker->lock);
	eventfd_write(asker->fd, 1);
}

static void *ask_rounds(void *arg)
{
	struct asker *asker = arg;
	struct looked_at looked_at;

	while (await_round(asker, &looked_at))
		end_round(asker, boxes_ask(asker->options, &looked_at));
	return NULL;
}

static void free_asker(struct asker *asker)
{
	close(asker->fd);
	pthread_cond_destroy(&asker->wanted);
	pthread_mutex_destroy(&asker->lock);
	boxes_free(asker->found);
	free(asker);
}

int asker_open(const struct boxes_options *options, struct asker **out)
{
	struct asker *asker = calloc(1, sizeof(*asker));
	int ret;

	*out = NULL;
	if (!asker)
		return -ENOMEM;
	asker->options = options;
	asker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (asker->fd < 0) {
		ret = errno;
		free(asker);
		return -ret;
	}
	pthread_mutex_init(&asker->lock, NULL);
	pthread_cond_init(&asker->wanted, NULL);
	ret = pthread_create(&asker->thread, NULL, ask_rounds, asker);
	if (ret) {
		free_asker(asker);
		return -ret;
	}
	*out = asker;
	return 0;
}

int asker_fd(const struct asker *asker)
{
	return asker->fd;
}

void asker_begin(struct asker *asker, const struct looked_at *looked_at)
{
	pthread_mutex_lock(&asker->lock);
	if (!asker->begun) {
		asker->looked_at = *looked_at;
		asker->begun = true;
		pthread_cond_signal(&asker->wanted);
	}
	pthread_mutex_unlock(&asker->lock);
}

struct boxes *asker_take(struct asker *asker)
{
	struct boxes *found;
	eventfd_t ended;

	if (eventfd_read(asker->fd, &ended))
		return NULL;
	pthread_mutex_lock(&asker->lock);
	found = asker->found;
	asker->found = NULL;
	pthread_mutex_unlock(&asker->lock);
	return found;
}

void asker_close(struct asker *asker)
{
	if (!asker)
		return;
	pthread_mutex_lock(&asker->lock);
	asker->closing = true;
	pthread_cond_signal(&asker->wanted);
	pthread_mutex_unlock(&asker->lock);
	pthread_join(asker->thread, NULL);
	free_asker(asker);
}
