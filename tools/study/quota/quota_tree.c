/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Our contender: lib/control/quota itself on every node of the tree. A request that cannot be
 * granted waits at its node, and those behind it, until units have come or it is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "world/simnet.h"
#include "quota/quota.h"
#include "quota_case.h"

#define REPEAT_NS   UINT64_C(10000000000)
#define FIRST_ROOM  64
#define FIRST_THETA 4 /* round trips, until one has been measured */

struct request {
	uint64_t at_ns, units;
};

struct tree_node {
	struct quota_node *quota;
	unsigned neighbours[QUOTA_CHILDREN + 1], n_neighbours;
	struct request *queue;
	size_t from, to, room;
	uint64_t wake_ns;
};

struct message {
	struct quota_message message;
	unsigned edge; /* receiver's edge */
};

struct simulated_tree {
	const struct quota_case *c;
	struct quota_result *result;
	struct quota_trace trace;
	struct events events;
	struct simnet net;
	struct tree_node *nodes;
	bool done, failed;
};

static void act_tree_node(struct simulated_tree *t, unsigned node);

static unsigned edge_to(const struct tree_node *node, unsigned neighbour)
{
	unsigned edge = 0;

	while (node->neighbours[edge] != neighbour)
		edge++;
	return edge;
}

static bool receive_tree_message(
	void *world, unsigned from, unsigned to, uint8_t *bytes, size_t len)
{
	struct simulated_tree *t = world;
	struct message message;

	(void)from;
	memcpy(&message, bytes, len);
	if (!quota_receive(t->nodes[to].quota, message.edge, &message.message, t->events.now_ns))
		t->failed = true;
	act_tree_node(t, to);
	return true;
}

static void send_tree_messages(struct simulated_tree *t, unsigned from)
{
	struct tree_node *node = &t->nodes[from];
	uint64_t now = t->events.now_ns;
	struct message message;
	uint32_t edge;

	while (quota_next(node->quota, now, &edge, &message.message)) {
		unsigned to = node->neighbours[edge];

		message.edge = edge_to(&t->nodes[to], from);
		quota_count(t->result, t->c, 1, t->result->units);
		simnet_carry(&t->net, from, to, now + t->c->hop_ns, &message, sizeof(message));
	}
}

/* Grants waiting requests in order; the first refusal ends the run. */
static void grant_requests(struct simulated_tree *t, struct tree_node *node)
{
	while (node->from < node->to && !t->done) {
		const struct request *r = &node->queue[node->from];
		int ret = quota_spend(node->quota, r->units, t->events.now_ns);

		if (ret == -EAGAIN)
			return;
		if (ret) {
			t->done = true;
			return;
		}
		t->result->stalled_ns += (double)(t->events.now_ns - r->at_ns);
		t->result->units += r->units;
		t->result->requests++;
		node->from++;
	}
	node->from = node->to = 0;
}

static void wake_tree_node(void *world, void *object, uint64_t argument)
{
	struct simulated_tree *t = world;

	(void)object;
	if (t->nodes[argument].wake_ns == t->events.now_ns)
		act_tree_node(t, (unsigned)argument);
}

/* Does all pending work of a node. */
static void act_tree_node(struct simulated_tree *t, unsigned k)
{
	struct tree_node *node = &t->nodes[k];
	uint64_t next;

	grant_requests(t, node);
	send_tree_messages(t, k);
	next = quota_tick(node->quota, t->events.now_ns);
	send_tree_messages(t, k);
	if (next == UINT64_MAX || next == node->wake_ns)
		return;
	node->wake_ns = next > t->events.now_ns ? next : t->events.now_ns + 1;
	events_at(&t->events, node->wake_ns, wake_tree_node, NULL, k);
}

static void tree_request(void *world, void *object, uint64_t argument)
{
	struct simulated_tree *t = world;
	struct tree_node *node = &t->nodes[t->trace.node];

	(void)object;
	(void)argument;
	if (node->to == node->room) {
		size_t room = node->room ? 2 * node->room : FIRST_ROOM;
		struct request *queue = reallocarray(node->queue, room, sizeof(*queue));

		if (!queue) {
			t->failed = true;
			return;
		}
		node->queue = queue;
		node->room = room;
	}
	node->queue[node->to++] = (struct request){t->events.now_ns, t->trace.units};
	act_tree_node(t, t->trace.node);
	quota_trace_next(&t->trace);
	events_at(&t->events, t->trace.at_ns, tree_request, NULL, 0);
}

static int node_create(struct simulated_tree *t, unsigned k)
{
	struct tree_node *node = &t->nodes[k];
	struct quota_params params = {
		.share = t->c->shares[k],
		.period = 1,
		.epoch = 1,
		.theta_ns = FIRST_THETA * t->c->hop_ns,
		.memory_ns = QUOTA_MEMORY_NS,
		.repeat_ns = REPEAT_NS,
		.seed = t->c->seed + k,
	};

	if (k > 0)
		node->neighbours[node->n_neighbours++] = quota_parent(k);
	for (unsigned child = QUOTA_CHILDREN * k + 1;
		child <= QUOTA_CHILDREN * (k + 1) && child < t->c->n; child++)
		node->neighbours[node->n_neighbours++] = child;
	params.n_edges = node->n_neighbours;
	return quota_create(&params, 0, &node->quota);
}

/* Returns the number of nodes below this one, plus itself. */
static unsigned subtree_size(unsigned k, unsigned n)
{
	unsigned count = 0;

	for (unsigned i = k; i < n; i++) {
		unsigned at = i;

		while (at > k)
			at = quota_parent(at);
		count += at == k;
	}
	return count;
}

/* Sets the initial knowledge: the number of nodes in a branch, and the total. */
static void link_all(struct simulated_tree *t, unsigned k)
{
	struct tree_node *node = &t->nodes[k];

	for (unsigned e = 0; e < node->n_neighbours; e++) {
		unsigned other = node->neighbours[e];
		unsigned behind = other > k ? subtree_size(other, t->c->n)
					    : t->c->n - subtree_size(k, t->c->n);

		quota_link(node->quota, e, true, t->c->total / t->c->n * behind);
	}
}

static void tree_free(struct simulated_tree *t)
{
	for (unsigned k = 0; t->nodes && k < t->c->n; k++) {
		quota_destroy(t->nodes[k].quota);
		free(t->nodes[k].queue);
	}
	free(t->nodes);
	simnet_free(&t->net);
	events_free(&t->events);
}

static void finish_tree(struct simulated_tree *t)
{
	for (unsigned k = 0; k < t->c->n; k++) {
		struct quota_view view = quota_view(t->nodes[k].quota, t->events.now_ns);

		t->result->reallocations += view.fetches;
		t->result->response_ns += (double)view.fetches_ns;
	}
	t->result->exceeded = t->result->units > t->c->total;
}

int quota_tree(const struct quota_case *c, struct quota_result *result)
{
	struct simulated_tree t = {.c = c, .result = result};
	struct event event;

	*result = (struct quota_result){0};
	t.net = (struct simnet){.events = &t.events, .receive = receive_tree_message};
	t.nodes = calloc(c->n, sizeof(*t.nodes));
	for (unsigned k = 0; t.nodes && k < c->n; k++)
		t.failed |= node_create(&t, k) != 0;
	if (t.nodes && !t.failed) {
		for (unsigned k = 0; k < c->n; k++)
			link_all(&t, k);
		quota_trace_start(&t.trace, c);
		quota_trace_next(&t.trace);
		events_at(&t.events, t.trace.at_ns, tree_request, NULL, 0);
	}
	while (!t.failed && !t.done && events_take(&t.events, UINT64_MAX, &event)) {
		event.fn(&t, event.object, event.argument);
		t.failed |= t.events.error != 0;
	}
	if (t.nodes && !t.failed)
		finish_tree(&t);
	tree_free(&t);
	return t.done ? 0 : -ENOMEM;
}
