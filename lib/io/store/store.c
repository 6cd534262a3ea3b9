/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two batches: the caller fills one while the thread writes the other. A commit swaps them. From
 * then until store_result() has returned its outcome, the other batch and the file belong to the
 * thread.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/offload.h"
#include "store/db.h"

struct store {
	struct batch put; /* the caller's */
	struct store_identity identity;
	bool recovering, committing;
	struct offload offload;
	struct offload_job job;
	/* owned by the thread during a commit */
	struct batch written;
	struct db db;
	int result;
};

static void write_out(void *context)
{
	struct store *store = context;

	store->result = db_write(&store->db, &store->written);
	batch_clear(&store->written);
}

int store_create(const char *directory, struct store_identity identity)
{
	return db_make(directory, 0, identity);
}

int store_accept(const char *directory)
{
	return db_accept(directory);
}

int store_look(const char *directory)
{
	return db_look(directory);
}

int store_open(const char *directory, struct store **out, uint64_t *epoch)
{
	struct store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	err = db_open(&store->db, directory);
	if (err == 0) {
		err = offload_start(&store->offload);
		if (err)
			db_close(&store->db);
		else
			offload_name(&store->offload, "weir-store");
	}
	if (err) {
		free(store);
		return err;
	}
	store->recovering = store->db.recovering;
	store->identity = store->db.identity;
	store->job = (struct offload_job){.work = write_out, .context = store};
	*epoch = store->db.epoch;
	*out = store;
	return 0;
}

/*
 * The epoch starts at the clock, which exceeds the lost one: no store has one start a second since
 * 1970.
 */
int store_open_recovering(
	const char *directory, uint64_t now_s, struct store **out, uint64_t *epoch)
{
	int err;

	if (now_s < STORE_CLOCK_LEAST_S)
		return -ETIME;
	err = db_make(directory, now_s, (struct store_identity){0});
	return err ? err : store_open(directory, out, epoch);
}

bool store_recovering(const struct store *store)
{
	return store->recovering;
}

struct store_identity store_identity(const struct store *store)
{
	return store->identity;
}

int store_set_identity(struct store *store, struct store_identity identity)
{
	if (store->committing)
		return -EBUSY;
	store->identity = store->db.identity = identity;
	return 0;
}

int store_sentinel_error(const struct store *store)
{
	return store->committing ? -EBUSY : store->db.sentinel_error;
}

bool store_sentinel_missing(const struct store *store)
{
	return store->db.sentinel_missing;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	if (!offload_stop(&store->offload, STORE_PATIENCE_MS))
		return;
	db_close(&store->db);
	batch_free(&store->put);
	batch_free(&store->written);
	free(store);
}

int store_each(struct store *store, uint8_t kind,
	int (*each)(void *context, uint64_t id, const void *record, size_t len), void *context)
{
	return store->committing ? -EBUSY : db_each(&store->db, kind, each, context);
}

int store_put(struct store *store, uint8_t kind, uint64_t id, const void *record, size_t len)
{
	return batch_put(&store->put, kind, id, record, len);
}

void store_discard(struct store *store)
{
	batch_clear(&store->put);
}

int store_commit(struct store *store)
{
	struct batch put = store->put;

	if (store->committing)
		return -EBUSY;
	store->put = store->written;
	store->written = put;
	store->committing = true;
	offload_submit(&store->offload, &store->job);
	return 0;
}

int store_fd(const struct store *store)
{
	return offload_fd(&store->offload);
}

int store_result(struct store *store)
{
	if (!offload_collect(&store->offload))
		return -EAGAIN;
	store->committing = false;
	return store->result;
}
