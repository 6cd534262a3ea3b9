/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "settle.h"

#include <errno.h>

#include "net.h"

static void settled(struct sim *sim, void *object, uint64_t argument);

/* Of a limiter that keeps no ledger there is never anything. */
static void begin(struct sim *sim, struct node *node)
{
	int ret;

	if (node->settling || !limiter_unsettled(node->limiter))
		return;
	ret = limiter_save(node->limiter, disk_write, &node->disk);
	if (ret == -EAGAIN)
		return;
	if (ret) {
		sim->error = ret;
		return;
	}
	node->settling = true;
	sim_after(sim, sim->scenario->settle_ns, settled, node, node->starts);
}

static void send_all(struct sim *sim, struct node *node)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	while ((len = limiter_send(node->limiter, buf, &to)) > 0)
		net_send(sim, node->index, to, buf, len);
}

void node_follow_up(struct sim *sim, struct node *node)
{
	begin(sim, node);
	send_all(sim, node);
}

/* The disk has it, and the meters enforce no more than was said then. */
static void settled(struct sim *sim, void *object, uint64_t argument)
{
	struct node *node = object;

	if (!node->limiter || argument != node->starts)
		return;
	if (node->paused) { /* nobody asks the disk before */
		sim_at(sim, node->resume_ns, settled, node, argument);
		return;
	}
	node->settling = false;
	sim->error = disk_commit(&node->disk);
	if (sim->error)
		return;
	limiter_settled(node->limiter, node_clock(sim, node, sim->now_ns));
	node_follow_up(sim, node);
}

void node_unsettle(struct node *node)
{
	disk_forget_written(&node->disk);
	node->settling = false;
}
