/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The tree: a spanning tree of the edges between living limiters, made by a distance vector with
 * sequence numbers (DSDV; RPL; Babel, RFC 8966, section 3.5.1 feasibility).
 *
 * Root. A limiter that has received no lower position than its own takes itself for the root. The
 * root raises a number from time to time; the number passes down the tree, a wave. A limiter
 * follows the lowest root that it has received. A root whose number does not rise is dead.
 *
 * No lasting loops. For each root a limiter remembers the newest number that it has sent itself,
 * and the least rank that it has sent with that. Its parent must send a newer number, or the same
 * one and a smaller rank. So the parent is no descendant, because a descendant has its number and
 * rank through us. That holds even if messages are late. A restart forgets, and then a loop is
 * possible, in which no number is new: it ends like a dead root.
 *
 * Nearness. A limiter requests a place from a neighbour that is nearer than its parent and has
 * room. It must be nearer by a part of the round trip and by a time that matters, at several looks
 * in succession. Round trips vary, and after each change the limiters report their units again. For
 * a while the limiter does not pass on newer numbers of its parent. If the neighbour sends the
 * newer number, it does not have it from us: it is no descendant, and becomes the parent. Otherwise
 * there is no other request soon.
 *
 * Room. A limiter has at most degree - 1 children, so that even a root can get a parent. A limiter
 * that requests a place as a child gets a place or a refusal. It leaves its old parent for the new
 * one immediately. An edge is linked while its ends send "you are my parent" and "you are my
 * child".
 *
 * Cost. A linked edge has a message each way in a quarter of the timeout, other edges in half of
 * it. Messages with parts about policies do not wait for that.
 */
#include "budget/budget_private.h"

/* Parts of the timeout between messages over linked edges, and over others. */
#define PACE_LINKED 4
#define PACE_OTHER  2

/* Checks of the tree in each interval between messages of a linked edge. */
#define HEARTBEATS 4

/* Timeouts without a newer number from the root, after which it is dead or we are in a loop. */
#define TIMEOUTS_STALE 4

/*
 * A nearer parent has a round trip of less than NUM / DEN of the present one's, and one that is
 * shorter by NEARER_NS. That is about the time of a commit, for which units wait at each limiter.
 */
#define NEARER_NUM 3
#define NEARER_DEN 4
#define NEARER_NS  UINT64_C(5000000)

/* Successive looks at which it must be nearer. */
#define NEARER_LOOKS 5

/* Most doublings of the time before another request, after failed ones. */
#define FAILED_MOST 6

/* Smoothing of round trips: down by half immediately, because delays only add; up slowly. */
#define RISE 8

#define RANK_MOST UINT16_MAX

static uint64_t tree_message_interval(const struct budget *b)
{
	return b->params.timeout_ns / PACE_LINKED + 1;
}

/* Returns 0.5 to 1.5 times this time, at random, so that limiters do not act together. */
static uint64_t jitter_interval(struct budget *b, uint64_t ns)
{
	return (uint64_t)((double)ns * (0.5 + prng_unit(&b->prng)));
}

static bool is_newer(const struct route *a, const struct route *b)
{
	return a->epoch != b->epoch ? a->epoch > b->epoch : (int32_t)(a->seq - b->seq) > 0;
}

static bool is_same(const struct route *a, const struct route *b)
{
	return a->epoch == b->epoch && a->seq == b->seq;
}

/* Returns true if a neighbour's route does not lead through us. */
static bool is_feasible(const struct budget *b, const struct route *route)
{
	const struct route *least = &b->feasible[route->root];

	if (route->root == b->book.position || route->rank == RANK_MOST)
		return false;
	return is_newer(route, least) || (is_same(route, least) && route->rank < least->rank);
}

static void notify_neighbours(struct budget *b)
{
	for (unsigned e = 0; e < b->book.n_edges; e++)
		b->links[e].due = true;
}

static void set_route(struct budget *b, const struct route *route, uint64_t now_ns)
{
	struct route *least = &b->feasible[route->root];

	if (route->root != b->route.root)
		notify_neighbours(b);
	else
		for (unsigned e = 0; e < b->book.n_edges; e++)
			b->links[e].due |= b->links[e].child;
	if (route->root != b->route.root || is_newer(route, &b->route))
		b->fresh_ns = now_ns;
	b->route = *route;
	if (!is_same(route, least) || route->rank < least->rank)
		*least = *route;
}

/* Becomes the root, or raises the root's number: no neighbour has a better route. */
static void be_root(struct budget *b, uint64_t now_ns)
{
	struct route *own = &b->feasible[b->book.position];
	struct route route = {.root = b->book.position, .epoch = b->epoch};

	route.seq = own->epoch == b->epoch ? own->seq + 1 : 1;
	b->parent = b->book.n_edges;
	b->wave_ns = now_ns + tree_message_interval(b);
	set_route(b, &route, now_ns);
}

static void follow_parent(struct budget *b, uint64_t now_ns)
{
	struct route route = b->links[b->parent].received.route;

	route.rank++;
	set_route(b, &route, now_ns);
}

static void end_candidacy(struct budget *b, bool failed, uint64_t now_ns)
{
	struct tree_link *link = &b->links[b->candidate];

	if (b->candidate == b->book.n_edges)
		return;
	b->candidate = b->book.n_edges;
	link->due = true;
	if (!failed) {
		link->failed = 0;
		return;
	}
	link->failed_ns = now_ns + jitter_interval(b, b->params.timeout_ns << link->failed);
	if (link->failed < FAILED_MOST)
		link->failed++;
}

/* Returns true if the candidate is a nearer parent, false if it leads to a better root. */
static bool is_candidate_nearer(const struct budget *b)
{
	return b->candidate < b->book.n_edges && b->parent < b->book.n_edges &&
	       b->links[b->candidate].received.route.root == b->route.root;
}

/* Acts on the parent's newest message, or on its silence. */
static void heed_parent(struct budget *b, uint64_t now_ns)
{
	const struct tree_link *link = &b->links[b->parent];
	const struct route *received = &link->received.route;
	bool stays = false;

	if (b->parent == b->book.n_edges)
		return;
	if (now_ns - b->fresh_ns > TIMEOUTS_STALE * b->params.timeout_ns)
		b->feasible[b->route.root].rank = 0; /* rejects all routes until its number rises */
	else if (book_alive(&b->book, b->parent, now_ns) && link->received.flags & TREE_CHILD)
		stays = true;
	if (!stays) {
		b->links[b->parent].due = true;
		be_root(b, now_ns);
		return;
	}
	if (received->root == b->route.root && is_same(received, &b->route) &&
		received->rank + 1 == b->route.rank)
		return;
	if (!is_feasible(b, received) || received->root > b->book.position)
		be_root(b, now_ns);
	else if (!is_candidate_nearer(b) || received->root != b->route.root)
		follow_parent(b, now_ns);
}

static unsigned count_tree_children(const struct budget *b)
{
	unsigned n = 0;

	for (unsigned e = 0; e < b->book.n_edges; e++)
		n += b->links[e].child;
	return n;
}

/* Returns true if a request for a place as its child can succeed. */
static bool may_be_candidate(const struct budget *b, unsigned edge, uint64_t now_ns)
{
	const struct tree_link *link = &b->links[edge];

	return edge != b->parent && !link->child && book_alive(&b->book, edge, now_ns) &&
	       (!(link->received.flags & TREE_FULL) || link->received.flags & TREE_CHILD) &&
	       (int64_t)(now_ns - link->failed_ns) >= 0;
}

static uint64_t round_trip(const struct tree_link *link)
{
	return link->round_trip_ns ? link->round_trip_ns : UINT64_MAX;
}

/* Returns the nearest neighbour that leads to the best root, or n_edges. */
static unsigned best_leader(const struct budget *b, uint64_t now_ns)
{
	unsigned best = b->book.n_edges;

	for (unsigned e = 0; e < b->book.n_edges; e++) {
		const struct tree_link *link = &b->links[e], *least = &b->links[best];
		const bool better = link->received.route.root < b->route.root &&
				    is_feasible(b, &link->received.route);

		if (!better || !may_be_candidate(b, e, now_ns))
			continue;
		if (best == b->book.n_edges ||
			link->received.route.root < least->received.route.root ||
			(link->received.route.root == least->received.route.root &&
				round_trip(link) < round_trip(least)))
			best = e;
	}
	return best;
}

/*
 * Looks at all distances. Returns the nearest of the neighbours that have been nearer than the
 * parent for long enough, or n_edges.
 */
static unsigned find_nearer_parent(struct budget *b, uint64_t now_ns)
{
	unsigned best = b->book.n_edges;

	for (unsigned e = 0; e < b->book.n_edges; e++) {
		struct tree_link *link = &b->links[e];
		const uint64_t parent = round_trip(&b->links[b->parent]), trip = round_trip(link);
		const bool nearer = trip < parent / NEARER_DEN * NEARER_NUM &&
				    parent - trip > NEARER_NS &&
				    link->received.route.root == b->route.root;

		if (!nearer)
			link->nearer = 0;
		else if (link->nearer < NEARER_LOOKS)
			link->nearer++;
		if (link->nearer == NEARER_LOOKS && may_be_candidate(b, e, now_ns) &&
			(best == b->book.n_edges || trip < round_trip(&b->links[best])))
			best = e;
	}
	return best;
}

static void set_candidate(struct budget *b, unsigned edge, uint64_t wait_ns, uint64_t now_ns)
{
	if (edge == b->book.n_edges)
		return;
	b->candidate = edge;
	b->candidate_until_ns = now_ns + wait_ns;
	b->links[edge].due = true;
}

static void choose_candidate(struct budget *b, uint64_t now_ns)
{
	unsigned leader = best_leader(b, now_ns);

	if (b->candidate < b->book.n_edges &&
		(leader == b->book.n_edges || !is_candidate_nearer(b)))
		return;
	if (leader < b->book.n_edges) {
		end_candidacy(b, false, now_ns);
		set_candidate(b, leader, tree_message_interval(b), now_ns);
		return;
	}
	if (b->parent == b->book.n_edges || (int64_t)(now_ns - b->improve_ns) < 0)
		return;
	b->improve_ns = now_ns + jitter_interval(b, b->params.timeout_ns);
	set_candidate(b, find_nearer_parent(b, now_ns), 2 * tree_message_interval(b), now_ns);
}

/* Acts on the candidate's answer, or on the lack of one in time. */
static void heed_candidate(struct budget *b, uint64_t now_ns)
{
	const struct tree_link *link = &b->links[b->candidate];
	unsigned edge = b->candidate;
	bool welcome, leads;

	if (edge == b->book.n_edges)
		return;
	welcome = link->received.flags & TREE_CHILD;
	leads = link->received.route.root <= b->route.root && is_feasible(b, &link->received.route);
	if (welcome && leads && book_alive(&b->book, edge, now_ns)) {
		end_candidacy(b, false, now_ns);
		/* The others' distances are compared with the new parent's from now on. */
		if (b->parent < b->book.n_edges)
			b->links[b->parent].due = true;
		b->parent = edge;
		b->improve_ns = now_ns + jitter_interval(b, b->params.timeout_ns);
		for (unsigned e = 0; e < b->book.n_edges; e++)
			b->links[e].nearer = 0;
		follow_parent(b, now_ns);
		return;
	}
	if ((int64_t)(now_ns - b->candidate_until_ns) >= 0 || !book_alive(&b->book, edge, now_ns) ||
		(link->received.flags & TREE_FULL && !welcome))
		end_candidacy(b, true, now_ns);
}

/* Keeps a place for a neighbour that requests one, as long as it does. */
static void heed_children(struct budget *b, uint64_t now_ns)
{
	for (unsigned e = 0; e < b->book.n_edges; e++) {
		struct tree_link *link = &b->links[e];
		bool asks = book_alive(&b->book, e, now_ns) && e != b->parent &&
			    link->received.flags & (TREE_PARENT | TREE_JOIN);

		if (asks && !link->child && count_tree_children(b) + 1 < b->params.degree)
			link->child = link->due = true;
		else if (!asks && link->child)
			link->child = false, link->due = true;
	}
}

static void update_tree_links(struct budget *b)
{
	for (unsigned e = 0; e < b->book.n_edges; e++) {
		struct tree_link *link = &b->links[e];
		const bool linked = e == b->parent ||
				    (link->child && link->received.flags & TREE_PARENT);

		if (linked == link->linked)
			continue;
		link->linked = linked;
		b->counters.relinked++;
		for (unsigned i = 0; i < b->book.n; i++) {
			unit_link(b, unit_at(b, i), e, linked);
			unit_wake(b, unit_at(b, i));
		}
	}
}

static void reconsider_parent(struct budget *b, uint64_t now_ns)
{
	book_find_silent(&b->book, now_ns);
	heed_candidate(b, now_ns);
	heed_parent(b, now_ns);
	choose_candidate(b, now_ns);
	heed_candidate(b, now_ns);
	heed_children(b, now_ns);
	update_tree_links(b);
}

void tree_hurry(struct budget *b)
{
	notify_neighbours(b);
}

void tree_begin(struct budget *b, uint64_t now_ns)
{
	b->epoch = b->params.epoch;
	b->candidate = b->parent = b->book.n_edges;
	b->improve_ns = now_ns;
	b->heartbeat_ns = now_ns;
	b->route.root = b->book.position;
	for (unsigned e = 0; e < b->book.n_edges; e++)
		b->links[e].failed_ns = now_ns;
	be_root(b, now_ns);
	notify_neighbours(b);
}

uint64_t tree_tick(struct budget *b, uint64_t now_ns)
{
	if (now_ns < b->heartbeat_ns)
		return b->heartbeat_ns;
	b->heartbeat_ns = now_ns + tree_message_interval(b) / HEARTBEATS + 1;
	if (b->parent == b->book.n_edges && (int64_t)(now_ns - b->wave_ns) >= 0)
		be_root(b, now_ns);
	reconsider_parent(b, now_ns);
	return b->heartbeat_ns;
}

bool tree_is_due(const struct budget *b, unsigned edge, uint64_t now_ns)
{
	const struct tree_link *link = &b->links[edge];
	uint64_t wait = link->linked || link->child || edge == b->candidate
				? tree_message_interval(b)
				: b->params.timeout_ns / PACE_OTHER;

	return link->due || now_ns - b->book.links[edge].sent_ns >= wait;
}

struct tree_header tree_send(struct budget *b, unsigned edge, uint64_t now_ns)
{
	struct tree_link *link = &b->links[edge];
	struct tree_header header = {
		.route = b->route,
		.epoch = b->epoch,
		.stamp = now_ns > link->stamp ? now_ns : link->stamp + 1,
		.echo_epoch = link->received.epoch,
		.echo_stamp = link->received.stamp,
		.echo_ns = now_ns - b->book.links[edge].received_ns,
		.time = timekeeper_word(&b->keeper, now_ns),
	};

	if (edge == b->parent)
		header.flags |= TREE_PARENT;
	if (edge == b->candidate)
		header.flags |= TREE_JOIN;
	if (link->child)
		header.flags |= TREE_CHILD;
	if (count_tree_children(b) + 1 >= b->params.degree)
		header.flags |= TREE_FULL;
	link->due = false;
	b->book.links[edge].sent_ns = now_ns;
	link->stamp = header.stamp;
	return header;
}

/* Measures the time of a message and its answer, less the wait of the other before it answered. */
static void measure_round_trip(const struct budget *b, struct tree_link *link,
	const struct tree_header *header, uint64_t now_ns)
{
	uint64_t took = now_ns - header->echo_stamp, trip;

	if (header->echo_epoch != b->epoch || header->echo_stamp <= link->echoed ||
		header->echo_stamp > now_ns || header->echo_ns > took)
		return;
	link->echoed = header->echo_stamp;
	trip = took - header->echo_ns + 1;
	if (link->round_trip_ns == 0)
		link->round_trip_ns = trip;
	else if (trip < link->round_trip_ns)
		link->round_trip_ns -= (link->round_trip_ns - trip) / 2;
	else
		link->round_trip_ns += (trip - link->round_trip_ns) / RISE;
}

void tree_receive(
	struct budget *b, unsigned edge, const struct tree_header *header, uint64_t now_ns)
{
	struct tree_link *link = &b->links[edge];
	uint64_t quiet_ns = now_ns - b->book.links[edge].sent_ns;
	const bool old = header->epoch != link->received.epoch
				 ? header->epoch < link->received.epoch
				 : header->stamp <= link->received.stamp;

	/*
	 * The neighbour has a message of a later start of ours, which we do not remember. It waits
	 * for a later one.
	 */
	if (header->echo_epoch > b->epoch && header->echo_epoch < LEDGER_MOST)
		b->epoch = header->echo_epoch + 1;
	if (old) {
		/* Our echo shows the later one. */
		link->due |= header->epoch < link->received.epoch;
		return;
	}
	measure_round_trip(b, link, header, now_ns);
	/*
	 * A message is due for a new neighbour, for a new request, and for one with a worse root.
	 */
	link->due |= !b->book.links[edge].alive ||
		     (header->flags & TREE_JOIN & ~link->received.flags) ||
		     (header->route.root > b->route.root &&
			     quiet_ns > tree_message_interval(b) / HEARTBEATS);
	link->received = *header;
	book_note_received(&b->book, edge, now_ns);
	reconsider_parent(b, now_ns);
}
