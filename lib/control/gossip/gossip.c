/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is the same whatever the estimator: headers, seals, epochs, verdicts, counters.
 */
#include "gossip/gossip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gossip/estimator.h"

static const struct estimator *const estimators[GOSSIP_ESTIMATORS] = {
	[GOSSIP_STATE] = &estimator_state,
	[GOSSIP_TREE] = &estimator_tree,
	[GOSSIP_PUSH_SUM] = &estimator_push_sum,
};

static bool gossip_params_valid(const struct gossip_params *p)
{
	return p->roster && p->roster->n >= 1 && p->self < p->roster->n && p->epoch != 0 &&
	       p->branching >= 1 && p->tick_ns > 0 && p->datagram_max >= DATAGRAM_MIN + 64 &&
	       p->datagram_max <= DATAGRAM_MAX && p->estimator < GOSSIP_ESTIMATORS;
}

int gossip_create(const struct gossip_params *p, uint64_t now_ns, struct gossip **out)
{
	struct gossip *g;
	int ret;

	if (!gossip_params_valid(p))
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->looks = &g->counters.looks;
	g->estimator = estimators[p->estimator];
	g->n_policies = p->n_policies;
	g->roster = p->roster;
	g->self = p->self;
	g->branching = p->branching;
	g->datagram_max = p->datagram_max;
	g->tick_ns = p->tick_ns;
	g->timeout_ns = p->timeout_ns;
	g->epoch = p->epoch;
	g->compensate = p->compensate;
	g->flags = (uint8_t)(p->estimator << DATAGRAM_ESTIMATOR_SHIFT);
	prng_seed(&g->prng, p->seed);
	if (p->key) {
		g->flags |= DATAGRAM_SEALED;
		memcpy(g->key, p->key, DATAGRAM_KEY);
	}
	ret = roster_create(p->policies, p->n_policies, &g->policies);
	g->news = calloc(p->n_policies / 64 + 1, sizeof(*g->news));
	g->all_news = true;
	if (ret == 0 && !g->news)
		ret = -ENOMEM;
	if (ret == 0)
		ret = g->estimator->create(g, now_ns);
	if (ret) {
		gossip_destroy(g);
		return ret;
	}
	*out = g;
	return 0;
}

void gossip_destroy(struct gossip *g)
{
	if (!g)
		return;
	g->estimator->destroy(g);
	roster_destroy(g->policies);
	free(g->news);
	free(g->withdrawn_ns);
	explicit_bzero(g->key, sizeof(g->key));
	free(g);
}

void gossip_set(struct gossip *g, unsigned policy, double demand, double weight)
{
	g->estimator->set(g, policy, (float)demand, (float)weight);
}

void gossip_tick(struct gossip *g, uint64_t now_ns)
{
	g->tick++;
	g->estimator->tick(g, now_ns);
}

static struct datagram_body body_for(struct gossip *g, unsigned to)
{
	const struct peer *peer = g->estimator->find(g, to);
	struct datagram_body body = {.receiver = g->roster->ids[to], .tick = g->tick};
	bool claim;

	if (!peer)
		return body;
	claim = peer->claimed_epoch != 0 && (!peer->known || g->echo_claim);
	g->echo_claim = !g->echo_claim;
	if (claim || peer->known) {
		body.echo_epoch = claim ? peer->claimed_epoch : peer->epoch;
		body.echo_tick = claim ? peer->claimed_tick : peer->tick;
	}
	return body;
}

size_t gossip_send(struct gossip *g, uint8_t *buf, unsigned *peer)
{
	bool sealed = g->flags & DATAGRAM_SEALED;
	size_t room = g->datagram_max - (sealed ? DATAGRAM_TAG : 0), len;
	struct cursor cursor = {.at = buf, .end = buf + room}, again;
	struct datagram_header header = {
		DATAGRAM_VERSION, g->flags, g->roster->ids[g->self], g->epoch, 0};
	struct datagram_body body;

	*peer = g->estimator->next(g);
	if (*peer == g->roster->n)
		return 0;
	header.counter = ++g->counter;
	body = body_for(g, *peer);
	datagram_write_header(&cursor, &header);
	again = cursor;
	datagram_write_body(&cursor, &body);
	body.n_records = g->estimator->write(g, &cursor, *peer);
	datagram_write_body(&again, &body);
	len = (size_t)(cursor.at - buf);
	if (sealed)
		len = datagram_seal(buf, len, g->key);
	g->counters.sent++;
	g->counters.sent_bytes += len;
	return len;
}

/* Ticks since we sent what the body echoes, or UINT32_MAX when it echoes nothing of ours. */
static uint32_t echo_age(const struct gossip *g, const struct datagram_body *body)
{
	if (body->echo_epoch != g->epoch || serial_newer(body->echo_tick, g->tick))
		return UINT32_MAX;
	return g->tick - body->echo_tick;
}

/* Whether the datagram's epoch is, or has just been proven to be, the sender's present one. */
static enum gossip_verdict check_epoch(struct gossip *g, unsigned sender,
	const struct datagram_header *header, const struct datagram_body *body, uint64_t now_ns)
{
	struct peer *peer = g->estimator->admit(g, sender, now_ns);
	uint32_t age = echo_age(g, body);

	if (!peer)
		return GOSSIP_NO_ROOM;
	if (!peer->known || header->epoch != peer->epoch) {
		if (header->epoch == 0 || header->epoch == peer->retired_epoch)
			return GOSSIP_REPLAY;
		if (age == UINT32_MAX || age * g->tick_ns >= g->estimator->silence(g)) {
			peer->claimed_epoch = header->epoch;
			peer->claimed_tick = body->tick;
			return GOSSIP_UNPROVEN;
		}
		estimator_believe(g, sender, header->epoch, body->tick, now_ns);
	}
	if (!peer_counter_fresh(peer, header->counter))
		return GOSSIP_REPLAY;
	peer_heard(peer, body->tick, now_ns);
	if (age != UINT32_MAX)
		peer_confirmed(peer, now_ns - age * g->tick_ns);
	return GOSSIP_ACCEPTED;
}

static bool is_message(const struct datagram_header *header)
{
	return (header->flags & ~DATAGRAM_SEALED) == DATAGRAM_MESSAGE;
}

/* What can be said before the key is used. */
static enum gossip_verdict check_header(
	const struct gossip *g, const struct datagram_header *header, size_t len)
{
	bool sealed = header->flags & DATAGRAM_SEALED, message = is_message(header);
	unsigned estimator = header->flags >> DATAGRAM_ESTIMATOR_SHIFT;
	size_t least = message ? DATAGRAM_HEADER + DATAGRAM_RECEIVER : DATAGRAM_MIN;

	if (header->version != DATAGRAM_VERSION || (!message && estimator >= GOSSIP_ESTIMATORS))
		return GOSSIP_VERSION;
	if ((header->flags ^ g->flags) & DATAGRAM_SEALED)
		return GOSSIP_UNSEALED;
	if (!message && header->flags != g->flags)
		return GOSSIP_ESTIMATOR;
	if (len < least + (sealed ? DATAGRAM_TAG : 0))
		return GOSSIP_TRUNCATED;
	if (header->sender == g->roster->ids[g->self])
		return GOSSIP_SELF;
	if (roster_find(g->roster, header->sender) == g->roster->n)
		return GOSSIP_STRANGER;
	return GOSSIP_ACCEPTED;
}

static enum gossip_verdict take_datagram(
	struct gossip *g, uint64_t now_ns, uint8_t *buf, size_t len)
{
	struct cursor cursor = {.at = buf, .end = buf + len};
	struct datagram_header header;
	struct datagram_body body;
	enum gossip_verdict verdict;
	unsigned sender;

	datagram_read_header(&cursor, &header);
	if (cursor.failed)
		return GOSSIP_TRUNCATED;
	verdict = check_header(g, &header, len);
	if (verdict != GOSSIP_ACCEPTED)
		return verdict;
	if (g->flags & DATAGRAM_SEALED) {
		int opened = datagram_open(buf, len, g->key);

		if (opened < 0)
			return GOSSIP_FORGED;
		cursor.end = buf + opened;
	}
	if (is_message(&header))
		return datagram_read_receiver(&cursor) == g->roster->ids[g->self] ? GOSSIP_MESSAGE
										  : GOSSIP_MISSENT;
	datagram_read_body(&cursor, &body);
	if (cursor.failed)
		return GOSSIP_TRUNCATED;
	if (body.receiver != g->roster->ids[g->self])
		return GOSSIP_MISSENT;
	/* Whole or not at all: a body that ends badly changes nothing. */
	if (!g->estimator->check(g, cursor, &body))
		return GOSSIP_MALFORMED;
	sender = roster_find(g->roster, header.sender);
	verdict = check_epoch(g, sender, &header, &body, now_ns);
	if (verdict == GOSSIP_ACCEPTED)
		g->estimator->take(g, cursor, &body, sender, now_ns);
	return verdict;
}

enum gossip_verdict gossip_receive(struct gossip *g, uint64_t now_ns, uint8_t *buf, size_t len)
{
	enum gossip_verdict verdict = take_datagram(g, now_ns, buf, len);

	g->counters.received_bytes += len;
	g->counters.verdict[verdict]++;
	return verdict;
}

static size_t tag_of(const struct gossip *g)
{
	return g->flags & DATAGRAM_SEALED ? DATAGRAM_TAG : 0;
}

size_t gossip_message_room(const struct gossip *g)
{
	return g->datagram_max - DATAGRAM_HEADER - DATAGRAM_RECEIVER - tag_of(g);
}

uint8_t *gossip_message_at(uint8_t *buf)
{
	return buf + DATAGRAM_HEADER + DATAGRAM_RECEIVER;
}

size_t gossip_seal_message(struct gossip *g, uint8_t *buf, size_t len, unsigned to)
{
	struct cursor cursor = {.at = buf, .end = buf + g->datagram_max};
	struct datagram_header header = {DATAGRAM_VERSION,
		(g->flags & DATAGRAM_SEALED) | DATAGRAM_MESSAGE, g->roster->ids[g->self], g->epoch,
		++g->counter};

	datagram_write_header(&cursor, &header);
	datagram_write_receiver(&cursor, g->roster->ids[to]);
	len += DATAGRAM_HEADER + DATAGRAM_RECEIVER;
	if (g->flags & DATAGRAM_SEALED)
		len = datagram_seal(buf, len, g->key);
	g->counters.sent++;
	g->counters.sent_bytes += len;
	return len;
}

struct gossip_message gossip_message(const struct gossip *g, const uint8_t *buf, size_t len)
{
	struct cursor cursor = {.at = (uint8_t *)(uintptr_t)buf, .end = NULL};
	struct datagram_header header;

	cursor.end = cursor.at + len;
	datagram_read_header(&cursor, &header);
	return (struct gossip_message){
		.from = roster_find(g->roster, header.sender),
		.at = buf + DATAGRAM_HEADER + DATAGRAM_RECEIVER,
		.len = len - DATAGRAM_HEADER - DATAGRAM_RECEIVER - tag_of(g),
	};
}

struct gossip_sum gossip_sum(const struct gossip *g, unsigned policy)
{
	return g->estimator->sum(g, policy);
}

bool gossip_tells_news(const struct gossip *g)
{
	return g->estimator->tells_news;
}

static void spread_news(struct gossip *g)
{
	unsigned n = g->n_policies;

	memset(g->news, 0xff, n / 64 * sizeof(*g->news));
	g->news[n / 64] = (UINT64_C(1) << n % 64) - 1;
	g->all_news = false;
}

unsigned gossip_next_news(struct gossip *g, unsigned from)
{
	unsigned n = g->n_policies;

	if (g->all_news)
		spread_news(g);
	for (unsigned w = from / 64; w <= n / 64; w++) {
		uint64_t bits = g->news[w] &
				(w == from / 64 ? UINT64_MAX << from % 64 : UINT64_MAX);

		if (!bits)
			continue;
		g->news[w] &= ~(bits & -bits);
		from = w * 64 + (unsigned)__builtin_ctzll(bits);
		return from < n ? from : n; /* behind n are those that were withdrawn */
	}
	return n;
}

uint64_t gossip_timeout(const struct gossip *g)
{
	return g->estimator->silence(g) + g->estimator->spread(g);
}

unsigned gossip_alive(const struct gossip *g)
{
	return g->estimator->alive(g);
}

unsigned gossip_silent(const struct gossip *g)
{
	return g->estimator->silent(g);
}

uint64_t gossip_changes(const struct gossip *g)
{
	return g->changes;
}

const struct peer *gossip_peer(const struct gossip *g, unsigned i)
{
	estimator_looks(g, 1);
	return g->estimator->watched(g, i);
}

const struct gossip_counters *gossip_counters(const struct gossip *g)
{
	return &g->counters;
}

const char *gossip_verdict_name(enum gossip_verdict verdict)
{
	static const char *const names[GOSSIP_VERDICTS] = {
		[GOSSIP_ACCEPTED] = "accepted",
		[GOSSIP_UNPROVEN] = "unproven",
		[GOSSIP_TRUNCATED] = "truncated",
		[GOSSIP_VERSION] = "version",
		[GOSSIP_SELF] = "self",
		[GOSSIP_STRANGER] = "stranger",
		[GOSSIP_UNSEALED] = "unsealed",
		[GOSSIP_ESTIMATOR] = "estimator",
		[GOSSIP_FORGED] = "forged",
		[GOSSIP_MISSENT] = "missent",
		[GOSSIP_REPLAY] = "replay",
		[GOSSIP_MALFORMED] = "malformed",
		[GOSSIP_NO_ROOM] = "no_room",
		[GOSSIP_MESSAGE] = "message",
	};

	return names[verdict];
}
