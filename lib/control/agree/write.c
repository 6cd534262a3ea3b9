/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes messages: the summary, then the digests and policies at the place of the walk.
 */
#include <string.h>

#include "agree/agree_private.h"
#include "base/wire.h"

/* At most PEER_MOST messages go to one peer in PACE_NS, and TICK_MOST to all in a tick. */
#define PACE_NS   UINT64_C(50000000)
#define PEER_MOST 4
#define TICK_MOST 64

/*
 * While the roots differ, the walk begins again after WALK_NS, because messages can be lost. After
 * WALK_TIMES starts without a new root it begins only every WALK_REST_NS.
 */
#define WALK_NS      UINT64_C(500000000)
#define WALK_BUSY_NS UINT64_C(1500000000) /* added while leaves or policies are left to send */
#define WALK_TIMES   40
#define WALK_REST_NS UINT64_C(10000000000)

static bool is_told(const struct agree_peer *p)
{
	return p->watched || p->heard;
}

/*
 * Returns the first of 64 bits that is set from `from` on, or before it, or 64: in turn, so that
 * none waits for ever while others are set again.
 */
static unsigned next_in_turn(uint64_t bits, unsigned from)
{
	uint64_t behind = bits & UINT64_MAX << from;

	if (!bits)
		return BRANCHES;
	return (unsigned)__builtin_ctzll(behind ? behind : bits);
}

/* Returns the leaf whose policies are to be sent next, or LEAVES. */
static unsigned next_leaf(const struct agree_walk *walk)
{
	unsigned first = walk->of_leaf / BRANCHES;

	for (unsigned k = 0; k <= BRANCHES; k++) {
		unsigned b = (first + k) % BRANCHES, from = k ? 0 : walk->of_leaf % BRANCHES;
		uint64_t bits = walk->leaves[b] & UINT64_MAX << from;

		if (bits || k == BRANCHES)
			return walk->leaves[b] ? b * BRANCHES + next_in_turn(walk->leaves[b], from)
					       : LEAVES;
	}
	return LEAVES;
}

static void walk_begin(struct agree_walk *walk, uint64_t now_ns)
{
	bool busy = walk->branches || next_leaf(walk) < LEAVES;

	if (now_ns < walk->again_ns + (busy ? WALK_BUSY_NS : 0))
		return;
	walk->branch = 0;
	walk->again_ns = now_ns + (walk->times < WALK_TIMES ? WALK_NS : WALK_REST_NS);
	walk->times += walk->times < WALK_TIMES;
}

void agree_tick(struct agree *a, uint64_t now_ns)
{
	bool pace = now_ns >= a->pace_ns;

	a->sent = 0;
	if (pace)
		a->pace_ns = now_ns + PACE_NS;
	for (unsigned i = 0; i < a->n_peers; i++) {
		struct agree_peer *p = &a->peers[i];

		if (!is_told(p))
			continue;
		if (pace)
			p->sent = 0;
		if (now_ns - p->told_ns >= AGREE_PERIOD_NS)
			p->summary_due = true;
		if (p->roots_since_ns)
			walk_begin(p->walk, now_ns);
	}
}

static uint8_t *write_head(const struct agree *a, enum agree_part part, uint8_t *at)
{
	*at++ = AGREE_MESSAGE;
	*at++ = (uint8_t)part;
	return wire_put32(wire_put64(at, a->epoch), a->changes);
}

/* Leaves out things that are 0 here: the peer takes a thing that is absent as 0. */
static size_t write_summary(const struct agree *a, uint64_t now_ns, uint8_t *buf, size_t room)
{
	uint8_t *at = buf, *n;

	if (room < SUMMARY + a->n_group * (size_t)GROUP_ITEM)
		return 0;
	at = wire_put64(wire_put64(write_head(a, AGREE_SUMMARY, at), a->things), a->rows->root);
	n = at++;
	*n = 0;
	for (unsigned t = 0; t < a->n_group; t++) {
		if (a->group[t] == 0)
			continue;
		at = wire_put64(wire_put32(at, a->tags[t]), group_value(a, t, now_ns));
		++*n;
	}
	return (size_t)(at - buf);
}

/* Writes as many digests of 64 as there is room for, from *next on, and advances it. */
static size_t write_digests(
	const uint64_t *digests, unsigned *next, uint8_t *buf, uint8_t *at, size_t room)
{
	size_t n = (room - (size_t)(at + 2 - buf)) / sizeof(uint64_t);

	if (n > BRANCHES - *next)
		n = BRANCHES - *next;
	*at++ = (uint8_t)*next;
	*at++ = (uint8_t)n;
	for (size_t i = 0; i < n; i++)
		at = wire_put64(at, digests[(*next)++]);
	return (size_t)(at - buf);
}

static size_t write_leaves(
	const struct agree *a, struct agree_walk *walk, uint8_t *buf, size_t room)
{
	unsigned branch = next_in_turn(walk->branches, walk->of_branch);
	uint8_t *at = write_head(a, AGREE_LEAVES, buf);
	size_t len;

	if (walk->of_branch != branch)
		walk->leaf = 0;
	walk->of_branch = branch;
	*at++ = (uint8_t)branch;
	len = write_digests(a->rows->leaves + branch * BRANCHES, &walk->leaf, buf, at, room);
	if (walk->leaf == BRANCHES) {
		walk->leaf = 0;
		walk->branches &= ~(UINT64_C(1) << branch);
	}
	return len;
}

/* Writes the rest of a leaf, or as much as there is room for: the range ends with the last row. */
static uint8_t *write_section(
	const struct agree *a, struct agree_walk *walk, unsigned leaf, uint8_t *at, size_t room)
{
	unsigned first, behind = a->rows->first[leaf + 1], n;
	const struct agree_row *rows = a->rows->rows;
	size_t most = (room - SECTION) / policy_bytes(a);
	bool whole;

	if (walk->of_leaf != leaf)
		walk->row = 0;
	walk->of_leaf = leaf;
	first = a->rows->first[leaf] + walk->row;
	n = behind - first < most ? behind - first : (unsigned)most;
	whole = first + n == behind;
	at = wire_put16(wire_put16(at, (uint16_t)leaf), (uint16_t)n);
	at = wire_put64(at, walk->row ? rows[first - 1].id + 1 : leaf_first(leaf));
	at = wire_put64(at, whole ? leaf_last(leaf) : rows[first + n - 1].id);
	for (unsigned r = first; r < first + n; r++) {
		at = wire_put64(wire_put64(at, rows[r].id), rows[r].digest);
		for (unsigned t = 0; t < a->n_policy; t++)
			at = wire_put16(at, rows[r].checks[t]);
	}
	walk->row += n;
	if (whole) {
		walk->row = 0;
		walk->leaves[leaf / BRANCHES] &= ~(UINT64_C(1) << leaf % BRANCHES);
	}
	return at;
}

static size_t write_policies(
	const struct agree *a, struct agree_walk *walk, uint8_t *buf, size_t room)
{
	uint8_t *at = write_head(a, AGREE_POLICIES, buf), *end = buf + room;
	unsigned leaf;

	while ((size_t)(end - at) >= SECTION + policy_bytes(a) && (leaf = next_leaf(walk)) < LEAVES)
		at = write_section(a, walk, leaf, at, (size_t)(end - at));
	return (size_t)(at - buf);
}

/* Writes leaves and policies in turns: by the leaves a peer finds the policies that it sends. */
static size_t write_walk(const struct agree *a, struct agree_walk *walk, uint8_t *buf, size_t room)
{
	bool policies = next_leaf(walk) < LEAVES;

	if (room < HEAD + SECTION + policy_bytes(a))
		return 0;
	if (walk->branch < BRANCHES)
		return write_digests(a->rows->branches, &walk->branch, buf,
			write_head(a, AGREE_BRANCHES, buf), room);
	walk->turn = !walk->turn;
	if (policies && (walk->turn || !walk->branches))
		return write_policies(a, walk, buf, room);
	return walk->branches ? write_leaves(a, walk, buf, room) : 0;
}

static size_t write_message(
	const struct agree *a, struct agree_peer *p, uint64_t now_ns, uint8_t *buf, size_t room)
{
	size_t len = 0;

	if (p->sent >= PEER_MOST)
		return 0;
	if (p->summary_due) {
		len = write_summary(a, now_ns, buf, room);
		p->summary_due = false;
		p->told_ns = now_ns;
	}
	if (len == 0 && p->roots_since_ns)
		len = write_walk(a, p->walk, buf, room);
	p->sent += len > 0;
	return len;
}

size_t agree_send(struct agree *a, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	if (!a->rows || a->sent >= TICK_MOST)
		return 0;
	for (unsigned k = 0; k < a->n_peers; k++) {
		unsigned i = (a->next + k) % a->n_peers;
		struct agree_peer *p = &a->peers[i];
		size_t len = is_told(p) ? write_message(a, p, now_ns, buf, room) : 0;

		if (len == 0)
			continue;
		a->sent++;
		a->next = i; /* this peer continues, until it has its part */
		*peer = p->index;
		return len;
	}
	return 0;
}
