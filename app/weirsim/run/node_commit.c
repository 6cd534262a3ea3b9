/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "node_commit.h"

#include <errno.h>

#include "node_clock.h"
#include "node_totals.h"

static void disk_save_done(void *world, void *object, uint64_t argument);

static int write_disk_record(
	void *node, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	return disk_write(&((struct node *)node)->disk, kind, id, record, len);
}

/* A limiter without a ledger never has anything to commit. */
static void commit_begin(struct sim *sim, struct node *node)
{
	int ret;

	if (node->committing || !limiter_uncommitted(node->limiter))
		return;
	ret = limiter_save(node->limiter, write_disk_record, node);
	if (ret == -EAGAIN)
		return;
	if (ret) {
		sim->events.error = ret;
		return;
	}
	node->committing = true;
	events_after(&sim->events, sim->scenario->commit_ns, disk_save_done, node, node->starts);
}

static void send_node_datagrams(struct sim *sim, struct node *node)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	while ((len = limiter_send(node->limiter, buf, &to)) > 0)
		simnet_send(&sim->net, sim->network, &sim->prng[STREAM_NETWORK], node->index, to,
			buf, len);
}

void node_follow_up(struct sim *sim, struct node *node)
{
	commit_begin(sim, node);
	send_node_datagrams(sim, node);
}

/* The disk has the records, and the meters enforce no more than their amounts. */
static void disk_save_done(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct node *node = object;

	if (!node->limiter || argument != node->starts)
		return;
	if (node->paused) { /* control does not poll the disk before */
		events_at(&sim->events, node->resume_ns, disk_save_done, node, argument);
		return;
	}
	node->committing = false;
	sim->events.error = disk_commit(&node->disk);
	if (sim->events.error)
		return;
	limiter_committed(node->limiter, node_clock(sim, node, sim->events.now_ns));
	node_totals_retry(sim, node);
	node_follow_up(sim, node);
}

void node_drop_commit(struct node *node)
{
	disk_forget_written(&node->disk);
	node->committing = false;
}
