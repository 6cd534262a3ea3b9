/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The part of gossip that all estimators share: headers, seals, epochs, verdicts, counters.
 */
#include "gossip/gossip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gossip/estimator.h"
#include "gossip/proof.h"

/*
 * Every message echoes the start that it was written for. A message that does not echo our present
 * start is not delivered, but answered, once a tick, with an empty one. The answer gives its sender
 * our epoch. So the next message is proof, if its sender is alive and not a recording. If gossip
 * has already brought each side the other's epoch, no such exchange is needed.
 */

static void messages_destroy(struct gossip *g)
{
	for (unsigned i = 0; g->correspondents && i < g->roster->n; i++)
		free(g->correspondents[i]);
	free(g->correspondents);
}

int messages_regroup(const struct gossip *g, const struct regroup *map, struct correspondent ***out)
{
	*out = NULL;
	if (g->correspondents)
		*out = regroup_rows(g, map, g->correspondents, 1, sizeof(**out));
	return g->correspondents && !*out ? -ENOMEM : 0;
}

void messages_commit(struct gossip *g, const struct regroup *map, struct correspondent **moved)
{
	for (unsigned i = 0; moved && i < map->roster->n; i++)
		if (moved[i])
			g->correspondents[map->from[i]] = NULL;
	for (unsigned i = 0; moved && i < g->roster->n; i++)
		g->n_answers -= g->correspondents[i] && g->correspondents[i]->answer;
	messages_destroy(g);
	g->correspondents = moved;
}

/* Created when the first authentic message arrives; NULL: out of memory. */
static struct correspondent *correspondent_of(struct gossip *g, unsigned from)
{
	if (!g->correspondents)
		g->correspondents = calloc(g->roster->n, sizeof(struct correspondent *));
	if (!g->correspondents)
		return NULL;
	if (!g->correspondents[from])
		g->correspondents[from] = calloc(1, sizeof(**g->correspondents));
	return g->correspondents[from];
}

static void answer_is_due(struct gossip *g, struct correspondent *c, bool due)
{
	g->n_answers += (unsigned)due - (unsigned)c->answer;
	c->answer = due;
}

/* Checks an authentic message. Returns GOSSIP_MESSAGE, or the reason not to deliver it. */
static enum gossip_verdict message_take(struct gossip *g, unsigned from,
	const struct datagram_header *header, const struct datagram_body *body, uint64_t now_ns)
{
	struct correspondent *c = correspondent_of(g, from);
	enum gossip_verdict verdict;

	if (!c)
		return GOSSIP_NO_ROOM;
	verdict = proof_of_epoch(g, &c->peer, header, body);
	/* The message was written for another start of ours. */
	if (verdict == GOSSIP_ACCEPTED && body->echo_epoch != g->epoch)
		verdict = GOSSIP_UNPROVEN;
	if (verdict == GOSSIP_UNPROVEN)
		answer_is_due(g, c, true);
	if (verdict != GOSSIP_ACCEPTED)
		return verdict;
	if (!proof_is_accepted(&c->peer, header->epoch)) {
		peer_accept(&c->peer, header->epoch, body->tick, now_ns);
		c->peer.replaced_tick = g->tick;
		peer_proven(&c->peer, header->counter);
		answer_is_due(g, c, true); /* the peer might not accept us yet */
	}
	if (!peer_counter_fresh(&c->peer, header->counter))
		return GOSSIP_REPLAY;
	c->peer.speaks = seal_spoken(header);
	if (proof_age(g, body) != UINT32_MAX)
		peer_echoed(&c->peer, body->echo_tick);
	if (header->counter == c->peer.counter)
		peer_note_own_tick(&c->peer, body->tick, g->tick, now_ns);
	return GOSSIP_MESSAGE;
}

size_t gossip_message_room(const struct gossip *g)
{
	return g->datagram_max - DATAGRAM_MIN - seal_tag(g);
}

uint8_t *gossip_message_at(uint8_t *buf)
{
	return buf + DATAGRAM_MIN;
}

/*
 * Returns the body of a message, with its echo. Answers also echo claimed epochs. Other messages
 * echo the accepted epoch if there is one, so that a recording cannot make them fail.
 */
static struct datagram_body echo_to(
	const struct gossip *g, unsigned to, bool answer, struct peer_speaks *speaks)
{
	struct correspondent *c = g->correspondents ? g->correspondents[to] : NULL;
	struct peer *gossiped = g->estimator->find(g, to);

	if (!c || (!answer && !c->peer.known && gossiped))
		return proof_body(g, to, gossiped, speaks);
	if (answer)
		return proof_body(g, to, &c->peer, speaks);
	return proof_body_accepted(g, to, &c->peer, speaks);
}

static size_t seal_message(struct gossip *g, uint8_t *buf, size_t len, unsigned to, bool answer)
{
	struct cursor cursor = {.at = buf, .end = buf + g->datagram_max};
	struct peer_speaks speaks;
	struct datagram_body body = echo_to(g, to, answer, &speaks);
	struct datagram_header header = seal_header(
		g, speaks, (g->flags & DATAGRAM_SEALED) | DATAGRAM_MESSAGE);

	datagram_write_header(&cursor, &header);
	datagram_write_body(&cursor, &body);
	return seal_datagram(g, buf, DATAGRAM_MIN + len, &header, to);
}

size_t gossip_seal_message(struct gossip *g, uint8_t *buf, size_t len, unsigned to)
{
	return seal_message(g, buf, len, to, false);
}

size_t gossip_answer(struct gossip *g, uint8_t *buf, unsigned *to)
{
	for (unsigned i = 0; g->n_answers > 0 && i < g->roster->n; i++) {
		struct correspondent *c = g->correspondents[i];

		if (!c || !c->answer || c->answered == g->tick)
			continue;
		answer_is_due(g, c, false);
		c->answered = g->tick;
		*to = i;
		return seal_message(g, buf, 0, i, true);
	}
	return 0;
}

struct gossip_message gossip_message(const struct gossip *g, const uint8_t *buf, size_t len)
{
	struct cursor cursor = {.at = (uint8_t *)(uintptr_t)buf, .end = NULL};
	struct datagram_header header;

	cursor.end = cursor.at + len;
	datagram_read_header(&cursor, &header);
	return (struct gossip_message){
		.from = roster_find(g->roster, header.sender),
		.at = buf + DATAGRAM_MIN,
		.len = len - DATAGRAM_MIN - seal_tag(g),
	};
}

static const struct estimator *const estimators[GOSSIP_ESTIMATORS] = {
	[GOSSIP_STATE] = &estimator_state,
	[GOSSIP_TREE] = &estimator_tree,
};

static bool gossip_params_valid(const struct gossip_params *p)
{
	return p->roster && p->roster->n >= 1 && p->self < p->roster->n && p->epoch != 0 &&
	       p->branching >= 1 && p->tick_ns > 0 && p->datagram_max >= DATAGRAM_MIN + 64 &&
	       p->datagram_max <= DATAGRAM_MAX && p->estimator <= GOSSIP_STUDY &&
	       (p->estimator == GOSSIP_STUDY) == (p->study != NULL);
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
	g->estimator = p->study ? p->study : estimators[p->estimator];
	g->n_policies = p->n_policies;
	g->roster = p->roster;
	g->self = p->self;
	g->branching = p->branching;
	g->datagram_max = p->datagram_max;
	g->tick_ns = p->tick_ns;
	g->timeout_ns = p->timeout_ns;
	g->epoch = p->epoch;
	g->demand_max = p->demand_max;
	g->flags = (uint8_t)(p->estimator << DATAGRAM_ESTIMATOR_SHIFT);
	g->random_bits = p->random_bits;
	prng_seed(&g->prng, p->seed);
	prng_seed(&g->bits, p->seed ^ p->epoch);
	if (p->keyring)
		g->flags |= DATAGRAM_SEALED;
	g->keyring = p->keyring;
	ret = id_table_create(p->policies, p->n_policies, &g->policies);
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
	messages_destroy(g);
	id_table_destroy(g->policies);
	free(g->news);
	free(g->withdrawn_ns);
	free(g);
}

struct keyring *gossip_rekey(struct gossip *g, struct keyring *keyring)
{
	struct keyring *previous = g->keyring;

	g->keyring = keyring;
	return previous;
}

const struct keyring *gossip_keyring(const struct gossip *g)
{
	return g->keyring;
}

uint64_t gossip_clock(enum gossip_estimator estimator, uint64_t interval_ns)
{
	if (estimator == GOSSIP_TREE && interval_ns > GOSSIP_TREE_TICK_NS)
		return GOSSIP_TREE_TICK_NS;
	return interval_ns;
}

void gossip_set_limit(struct gossip *g, unsigned policy, double rate)
{
	if (g->estimator->set_limit)
		g->estimator->set_limit(g, policy, (float)rate);
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

size_t gossip_send(struct gossip *g, uint8_t *buf, unsigned *peer)
{
	size_t room = g->datagram_max - seal_tag(g);
	struct cursor cursor = {.at = buf, .end = buf + room}, again;
	struct datagram_header header;
	struct peer_speaks speaks;
	struct datagram_body body;

	*peer = g->estimator->next(g);
	if (*peer == g->roster->n)
		return 0;
	body = proof_body(g, *peer, g->estimator->find(g, *peer), &speaks);
	header = seal_header(g, speaks, g->flags);
	datagram_write_header(&cursor, &header);
	again = cursor;
	datagram_write_body(&cursor, &body);
	body.n_records = g->estimator->write(g, &cursor, *peer, header.version);
	datagram_write_body(&again, &body);
	return seal_datagram(g, buf, (size_t)(cursor.at - buf), &header, *peer);
}

/* Checks that the epoch is, or is now proven to be, the sender's present one; rejects replays. */
static enum gossip_verdict check_epoch(struct gossip *g, unsigned sender,
	const struct datagram_header *header, const struct datagram_body *body, uint64_t now_ns)
{
	struct peer *peer = g->estimator->admit(g, sender, now_ns);
	uint32_t age = proof_age(g, body);
	enum gossip_verdict verdict;

	if (!peer)
		return GOSSIP_NO_ROOM;
	verdict = proof_of_epoch(g, peer, header, body);
	if (verdict != GOSSIP_ACCEPTED)
		return verdict;
	if (!peer->known || peer->epoch != header->epoch)
		estimator_accept(g, sender, header->epoch, body->tick, now_ns);
	if (!peer->proven)
		peer_proven(peer, header->counter);
	if (!peer_counter_fresh(peer, header->counter))
		return GOSSIP_REPLAY;
	peer->speaks = seal_spoken(header);
	peer->key = header->key;
	peer->unreadable = 0;
	if (header->counter == peer->counter)
		peer_note_own_tick(peer, body->tick, g->tick, now_ns);
	if (header->counter == peer->counter)
		proof_note_echo(g, peer, body);
	if (age != UINT32_MAX) {
		peer_echoed(peer, body->echo_tick);
		peer_confirmed(peer, now_ns - age * g->tick_ns);
	}
	return GOSSIP_ACCEPTED;
}

static bool is_message(const struct datagram_header *header)
{
	return header->flags & DATAGRAM_MESSAGE;
}

/* Checks the format. Notes an unreadable one for its sender, the only field it is sure to have. */
static enum gossip_verdict check_format(
	const struct gossip *g, const struct datagram_header *header, size_t len)
{
	struct peer *peer;
	unsigned sender;

	if (len < DATAGRAM_NAMED)
		return GOSSIP_TRUNCATED;
	if (header->version >= DATAGRAM_OLDEST && header->version <= DATAGRAM_VERSION)
		return GOSSIP_ACCEPTED;
	sender = roster_find(g->roster, header->sender);
	peer = sender < g->roster->n ? g->estimator->find(g, sender) : NULL;
	if (peer)
		peer->unreadable = header->version;
	return GOSSIP_VERSION;
}

/* Checks the header before the key is used. */
static enum gossip_verdict check_header(
	const struct gossip *g, const struct datagram_header *header, size_t len)
{
	bool sealed = header->flags & DATAGRAM_SEALED, message = is_message(header);
	const uint8_t known = DATAGRAM_SEALED | DATAGRAM_ESTIMATOR | DATAGRAM_MESSAGE |
			      DATAGRAM_IDENTITY;
	const unsigned estimator = (header->flags & DATAGRAM_ESTIMATOR) >> DATAGRAM_ESTIMATOR_SHIFT;

	if (header->flags & ~known || estimator > (message ? GOSSIP_STATE : GOSSIP_STUDY))
		return GOSSIP_VERSION;
	if ((header->flags ^ g->flags) & DATAGRAM_SEALED)
		return GOSSIP_UNSEALED;
	if (!message && (header->flags ^ g->flags) & DATAGRAM_ESTIMATOR)
		return GOSSIP_ESTIMATOR;
	if (len < DATAGRAM_MIN + (sealed ? DATAGRAM_TAG : 0))
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
	verdict = check_format(g, &header, len);
	if (verdict == GOSSIP_ACCEPTED)
		verdict = cursor.failed ? GOSSIP_TRUNCATED : check_header(g, &header, len);
	if (verdict == GOSSIP_ACCEPTED)
		verdict = seal_open(g, &header, buf, &len);
	if (verdict != GOSSIP_ACCEPTED)
		return verdict;
	cursor.end = buf + len;
	datagram_read_body(&cursor, &body);
	body.version = header.version;
	if (cursor.failed)
		return GOSSIP_TRUNCATED;
	if (body.receiver != g->roster->ids[g->self])
		return GOSSIP_MISSENT;
	sender = roster_find(g->roster, header.sender);
	g->from = sender;
	if (is_message(&header))
		return message_take(g, sender, &header, &body, now_ns);
	/* A body is applied completely or not at all: one with an invalid end changes nothing. */
	if (!g->estimator->check(g, cursor, &body))
		return GOSSIP_MALFORMED;
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

unsigned gossip_from(const struct gossip *g)
{
	return g->from;
}

struct gossip_sum gossip_sum(const struct gossip *g, unsigned policy)
{
	return g->estimator->sum(g, policy);
}

bool gossip_reported_sum(
	const struct gossip *g, unsigned policy, unsigned peer, struct gossip_sum *values)
{
	return g->estimator->reported_sum && peer != g->self &&
	       g->estimator->reported_sum(g, policy, peer, values);
}

bool gossip_reports_news(const struct gossip *g)
{
	return g->estimator->reports_news;
}

unsigned gossip_next_news(struct gossip *g, unsigned from)
{
	unsigned n = g->n_policies;

	if (g->all_news) {
		memset(g->news, 0xff, n / 64 * sizeof(*g->news));
		g->news[n / 64] = (UINT64_C(1) << n % 64) - 1;
		g->all_news = false;
	}
	for (unsigned w = from / 64; w <= n / 64; w++) {
		uint64_t bits = g->news[w] &
				(w == from / 64 ? UINT64_MAX << from % 64 : UINT64_MAX);

		if (!bits)
			continue;
		g->news[w] &= ~(bits & -bits);
		from = w * 64 + (unsigned)__builtin_ctzll(bits);
		return from < n ? from : n; /* withdrawn policies begin at n */
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

static bool is_recent(const struct gossip *g, bool noted, uint32_t tick)
{
	return noted && g->tick - tick < proof_ticks(g);
}

static enum gossip_doubt doubt_of(const struct gossip *g, const struct peer *peer)
{
	if (!peer)
		return GOSSIP_SURE;
	if (is_recent(g, peer->twice, peer->twice_tick))
		return GOSSIP_TWICE;
	if (is_recent(g, peer->rival, peer->rival_tick))
		return GOSSIP_RIVAL;
	return is_recent(g, peer->replaced, peer->replaced_tick) ? GOSSIP_YOUNG : GOSSIP_SURE;
}

/* Messages and the estimator prove epochs separately; one can still receive a previous start. */
static bool two_starts_speak(
	const struct gossip *g, const struct peer *watched, const struct peer *correspondent)
{
	return watched && correspondent && watched->proven && correspondent->proven &&
	       watched->epoch != correspondent->epoch &&
	       is_recent(g, true, watched->received_tick) &&
	       is_recent(g, true, correspondent->received_tick);
}

enum gossip_doubt gossip_doubt(const struct gossip *g, unsigned i)
{
	const struct correspondent *c = g->correspondents ? g->correspondents[i] : NULL;
	const struct peer *watched = g->estimator->find(g, i), *correspondent = c ? &c->peer : NULL;
	enum gossip_doubt doubt = doubt_of(g, watched), other = doubt_of(g, correspondent);

	if (other > doubt)
		doubt = other;
	return doubt < GOSSIP_RIVAL && two_starts_speak(g, watched, correspondent) ? GOSSIP_RIVAL
										   : doubt;
}

bool gossip_usurped(const struct gossip *g)
{
	return is_recent(g, g->usurped, g->usurped_tick);
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
		[GOSSIP_NO_KEY] = "no_key",
		[GOSSIP_FORGED] = "forged",
		[GOSSIP_MISSENT] = "missent",
		[GOSSIP_REPLAY] = "replay",
		[GOSSIP_MALFORMED] = "malformed",
		[GOSSIP_NO_ROOM] = "no_room",
		[GOSSIP_MESSAGE] = "message",
	};

	return names[verdict];
}
