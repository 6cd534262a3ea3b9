/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes messages: the summary, then the digests and policies at the place of the walk. Reads them:
 * checks all of a message, then accepts its content.
 */
#include <errno.h>
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

static bool is_addressed(const struct agree_peer *p)
{
	return p->watched || p->has_reported;
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

		if (!is_addressed(p))
			continue;
		if (pace)
			p->sent = 0;
		if (now_ns - p->sent_ns >= AGREE_PERIOD_NS)
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
		p->sent_ns = now_ns;
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
		size_t len = is_addressed(p) ? write_message(a, p, now_ns, buf, room) : 0;

		if (len == 0)
			continue;
		a->sent++;
		a->next = i; /* this peer continues, until it has its part */
		*peer = p->index;
		return len;
	}
	return 0;
}

/* Received messages. */

/*
 * Summaries prove a different clock if they arrive for so long. After a stop of this process the
 * waiting ones arrive together, each with an old time.
 */
#define CLOCK_SURE_NS UINT64_C(1000000000)

/* Returns true if a peer's time of day is far from ours, which is later by the message's delay. */
static bool is_clock_apart(const struct agree *a, const struct agree_peer *p, uint64_t now_ns)
{
	uint64_t apart_ns;

	if (a->clock == a->n_group || !a->group[a->clock] || !p->reported[a->clock])
		return false;
	apart_ns = group_value(a, a->clock, now_ns) - p->reported[a->clock];
	if (apart_ns > INT64_MAX)
		apart_ns = -apart_ns;
	return apart_ns > AGREE_CLOCK_NS;
}

static int receive_summary(
	struct agree *a, struct agree_peer *p, uint64_t now_ns, const uint8_t *at, size_t len)
{
	uint64_t things, root, value;
	uint32_t tag;

	if (len < SUMMARY || len != SUMMARY + (size_t)at[SUMMARY - 1] * GROUP_ITEM)
		return -EBADMSG;
	at = wire_get64(wire_get64(at + HEAD, &things), &root);
	memset(p->reported, 0, a->n_group * sizeof(*p->reported));
	for (unsigned i = *at++; i > 0; i--) {
		at = wire_get64(wire_get32(at, &tag), &value);
		for (unsigned t = 0; t < a->n_group; t++)
			if (a->tags[t] == tag)
				p->reported[t] = value;
	}
	/* Another root restarts the walk immediately: the differences are compared again. */
	if (root != p->root) {
		memset(p->walk, 0, sizeof(*p->walk));
		p->walk->branch = BRANCHES;
	}
	p->root = root;
	p->same_things = things == a->things;
	if (!is_clock_apart(a, p, now_ns))
		p->clock_since_ns = 0;
	else if (p->clock_since_ns == 0)
		p->clock_since_ns = now_ns;
	p->clock_differs = p->clock_since_ns && now_ns - p->clock_since_ns >= CLOCK_SURE_NS;
	compare_group(a, p, now_ns);
	compare_root(a, p, now_ns);
	return 0;
}

/* Compares n consecutive digests of 64 with ours; returns a bit for each that differs. */
static uint64_t compare_digests(const uint8_t *at, unsigned first, unsigned n, const uint64_t *ours)
{
	uint64_t bits = 0, digest;

	for (unsigned i = first; i < first + n; i++) {
		at = wire_get64(at, &digest);
		if (digest != ours[i])
			bits |= UINT64_C(1) << i;
	}
	return bits;
}

static void clear_equal(struct agree *a, struct agree_peer *p, unsigned first, unsigned n,
	uint64_t bits, unsigned base, unsigned leaves)
{
	for (unsigned i = first; i < first + n; i++)
		if (!(bits >> i & 1))
			found_clear(a, p, leaf_first(base + i * leaves),
				leaf_last(base + i * leaves + leaves - 1));
}

static int receive_branches(struct agree *a, struct agree_peer *p, const uint8_t *at, size_t len)
{
	unsigned first, n;
	uint64_t bits;

	if (len < HEAD + 2)
		return -EBADMSG;
	first = at[HEAD];
	n = at[HEAD + 1];
	if (first + n > BRANCHES || len != HEAD + 2 + n * sizeof(uint64_t))
		return -EBADMSG;
	bits = compare_digests(at + HEAD + 2, first, n, a->rows->branches);
	clear_equal(a, p, first, n, bits, 0, BRANCHES);
	p->walk->branches |= bits;
	return 0;
}

static int receive_leaves(struct agree *a, struct agree_peer *p, const uint8_t *at, size_t len)
{
	unsigned branch, first, n;
	uint64_t bits;

	if (len < HEAD + 3)
		return -EBADMSG;
	branch = at[HEAD];
	first = at[HEAD + 1];
	n = at[HEAD + 2];
	if (branch >= BRANCHES || first + n > BRANCHES || len != HEAD + 3 + n * sizeof(uint64_t))
		return -EBADMSG;
	bits = compare_digests(at + HEAD + 3, first, n, a->rows->leaves + branch * BRANCHES);
	clear_equal(a, p, first, n, bits, branch * BRANCHES, 1);
	p->walk->leaves[branch] |= bits;
	return 0;
}

/* Returns the things that differ between a row and a peer's record of it. */
static uint32_t differing_things(
	const struct agree *a, const struct agree_row *row, const uint8_t *at)
{
	uint64_t digest;
	uint32_t things = 0;
	uint16_t check;

	at = wire_get64(at, &digest);
	if (digest == row->digest)
		return 0;
	for (unsigned t = 0; t < a->n_policy; t++) {
		at = wire_get16(at, &check);
		if (check != row->checks[t])
			things |= 1U << t;
	}
	return things ? things : (1U << a->n_policy) - 1;
}

/* Returns true if an id is among those of a section. */
static bool section_has(const struct agree *a, const uint8_t *at, unsigned n, uint64_t id)
{
	for (unsigned i = 0; i < n; i++)
		if (read_be64(at + i * policy_bytes(a)) == id)
			return true;
	return false;
}

/* Updates the differences in this range of policies that are now on neither side, or only here. */
static void compare_absent(struct agree *a, struct agree_peer *p, uint64_t now_ns, unsigned leaf,
	const uint8_t *at, unsigned n, uint64_t least, uint64_t last)
{
	for (unsigned f = found_at(p, least); f < p->n_found && p->found[f].id <= last;) {
		uint64_t id = p->found[f].id;

		if (rows_find(a->rows, id) || section_has(a, at, n, id))
			f++;
		else
			found_set(a, p, id, 0, now_ns);
	}
	for (unsigned r = a->rows->first[leaf]; r < a->rows->first[leaf + 1]; r++) {
		uint64_t id = a->rows->rows[r].id;

		if (id >= least && id <= last && !section_has(a, at, n, id))
			found_set(a, p, id, AGREE_PRESENCE, now_ns);
	}
}

static const uint8_t *receive_section(
	struct agree *a, struct agree_peer *p, uint64_t now_ns, const uint8_t *at)
{
	uint16_t leaf, n;
	uint64_t least, last, id;

	at = wire_get64(wire_get64(wire_get16(wire_get16(at, &leaf), &n), &least), &last);
	compare_absent(a, p, now_ns, leaf, at, n, least, last);
	for (unsigned i = 0; i < n; i++, at += policy_bytes(a)) {
		const struct agree_row *row;

		wire_get64(at, &id);
		row = rows_find(a->rows, id);
		found_set(a, p, id,
			row ? differing_things(a, row, at + sizeof(id)) : AGREE_PRESENCE, now_ns);
	}
	return at;
}

/* Returns true if the range is in that leaf, and the ids are in the range and ascend. */
static bool section_valid(const struct agree *a, const uint8_t *at, unsigned leaf, unsigned n,
	uint64_t least, uint64_t last)
{
	uint64_t before = 0;

	if (leaf >= LEAVES || leaf_of(least) != leaf || leaf_of(last) != leaf)
		return false;
	for (unsigned i = 0; i < n; i++, at += policy_bytes(a)) {
		uint64_t id = read_be64(at);

		if (id < least || id > last || (i > 0 && id <= before))
			return false;
		before = id;
	}
	return true;
}

static bool sections_valid(const struct agree *a, const uint8_t *at, const uint8_t *end)
{
	uint16_t leaf, n;
	uint64_t least, last;

	while (at < end) {
		if ((size_t)(end - at) < SECTION)
			return false;
		at = wire_get64(wire_get64(wire_get16(wire_get16(at, &leaf), &n), &least), &last);
		if ((size_t)(end - at) < n * policy_bytes(a) ||
			!section_valid(a, at, leaf, n, least, last))
			return false;
		at += n * policy_bytes(a);
	}
	return true;
}

static int receive_policies(
	struct agree *a, struct agree_peer *p, uint64_t now_ns, const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;

	at += HEAD;
	if (!sections_valid(a, at, end))
		return -EBADMSG;
	while (at < end)
		at = receive_section(a, p, now_ns, at);
	return 0;
}

int agree_receive(struct agree *a, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	struct agree_peer *p;
	uint64_t epoch;
	uint32_t changes;
	int ret = 0;

	if (len < HEAD || buf[0] != AGREE_MESSAGE || buf[1] >= AGREE_PARTS || !a->rows)
		return -EBADMSG;
	p = peer_get(a, from);
	if (!p)
		return 0;
	wire_get32(wire_get64(buf + 2, &epoch), &changes);
	/*
	 * The sender has already sent a later change. A message of another start is from the
	 * present one, because gossip delivers no others.
	 */
	if (p->has_reported && p->epoch == epoch && (int32_t)(changes - p->changes) < 0)
		return 0;
	/* Other parts need the summary with their root first, to be compared with the right one. */
	if (buf[1] != AGREE_SUMMARY && (!p->has_reported || p->epoch != epoch ||
					       p->changes != changes || !p->roots_since_ns))
		return 0;
	if (peer_begin(a, p))
		return 0;
	/* A new start of the peer has lost our earlier summaries. */
	p->summary_due |= p->epoch != epoch;
	if (buf[1] == AGREE_SUMMARY)
		ret = receive_summary(a, p, now_ns, buf, len);
	else if (buf[1] == AGREE_BRANCHES)
		ret = receive_branches(a, p, buf, len);
	else if (buf[1] == AGREE_LEAVES)
		ret = receive_leaves(a, p, buf, len);
	else
		ret = receive_policies(a, p, now_ns, buf, len);
	if (ret)
		return ret;
	p->epoch = epoch;
	p->changes = changes;
	p->received_ns = now_ns;
	return 0;
}
