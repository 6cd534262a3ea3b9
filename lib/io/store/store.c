/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two batches: the caller fills one while the thread writes the other. They change places under the
 * lock when a commit begins, and that is all that the two threads share but for how it ended.
 */
#include "store/store.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "store/db.h"

enum state {
	IDLE,
	WRITING,
	ENDED /* and not told yet */
};

struct store {
	struct batch put; /* the caller's */
	bool blank;
	struct batch written;
	struct db db; /* the thread's while it writes */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	enum state state;
	int result;
	bool closing;
	int event;
};

static void tell(struct store *store)
{
	uint64_t one = 1;

	while (write(store->event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Without the lock: while the state is WRITING the batch and the file are this thread's. */
static void write_out(struct store *store)
{
	int result;

	pthread_mutex_unlock(&store->lock);
	result = db_write(&store->db, &store->written);
	batch_clear(&store->written);
	pthread_mutex_lock(&store->lock);
	store->result = result;
	store->state = ENDED;
	tell(store);
}

static void *run(void *context)
{
	struct store *store = context;

	pthread_mutex_lock(&store->lock);
	while (store->state == WRITING || !store->closing) {
		if (store->state == WRITING)
			write_out(store);
		else
			pthread_cond_wait(&store->changed, &store->lock);
	}
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* Signals are for other threads; blocked here, that of RLIMIT_FSIZE is an error and no end. */
static int start_thread(struct store *store)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&store->thread, NULL, run, store);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static int start(struct store *store)
{
	int err;

	store->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (store->event < 0)
		return -errno;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->changed, NULL);
	err = start_thread(store);
	if (err) {
		pthread_cond_destroy(&store->changed);
		pthread_mutex_destroy(&store->lock);
		close(store->event);
	}
	return err;
}

int store_create(const char *directory)
{
	return db_make(directory, false);
}

int store_open(const char *directory, struct store **out, uint64_t *epoch)
{
	struct store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	err = db_open(&store->db, directory);
	if (err == 0) {
		err = start(store);
		if (err)
			db_close(&store->db);
	}
	if (err) {
		free(store);
		return err;
	}
	store->blank = store->db.blank;
	*epoch = store->db.epoch;
	*out = store;
	return 0;
}

int store_open_blank(const char *directory, struct store **out, uint64_t *epoch)
{
	int err = db_make(directory, true);

	return err ? err : store_open(directory, out, epoch);
}

bool store_blank(const struct store *store)
{
	return store->blank;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	pthread_mutex_lock(&store->lock);
	store->closing = true;
	pthread_cond_signal(&store->changed);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->thread, NULL);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	close(store->event);
	db_close(&store->db);
	batch_free(&store->put);
	batch_free(&store->written);
	free(store);
}

static bool is_writing(struct store *store)
{
	bool writing;

	pthread_mutex_lock(&store->lock);
	writing = store->state == WRITING;
	pthread_mutex_unlock(&store->lock);
	return writing;
}

int store_each(struct store *store, uint8_t kind,
	int (*each)(void *context, uint32_t id, const void *record, size_t len), void *context)
{
	return is_writing(store) ? -EBUSY : db_each(&store->db, kind, each, context);
}

int store_put(struct store *store, uint8_t kind, uint32_t id, const void *record, size_t len)
{
	return batch_put(&store->put, kind, id, record, len);
}

void store_discard(struct store *store)
{
	batch_clear(&store->put);
}

static void swap(struct store *store)
{
	struct batch put = store->put;

	store->put = store->written;
	store->written = put;
}

int store_commit(struct store *store)
{
	int err = -EBUSY;

	pthread_mutex_lock(&store->lock);
	if (store->state == IDLE) {
		swap(store);
		store->state = WRITING;
		pthread_cond_signal(&store->changed);
		err = 0;
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

int store_fd(const struct store *store)
{
	return store->event;
}

int store_result(struct store *store)
{
	uint64_t ended;
	int result = -EAGAIN;

	pthread_mutex_lock(&store->lock);
	if (store->state == ENDED) {
		result = store->result;
		store->state = IDLE;
		while (read(store->event, &ended, sizeof(ended)) < 0 && errno == EINTR)
			;
	}
	pthread_mutex_unlock(&store->lock);
	return result;
}
