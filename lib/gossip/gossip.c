/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip/gossip.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"

/*
 * Own records that a datagram carries although nothing changed: all of them come round now and
 * then.
 */
#define REFRESH 8

/* A change of this share of a value is sent at once; a smaller one waits for its refresh. */
#define CHANGED_ENOUGH (1.0f / 64)

struct entry {
	uint32_t version;
	float demand, weight;
	bool present;
	uint8_t fresh; /* datagrams that are still to carry it */
};

struct name {
	uint32_t id;
	unsigned index;
};

struct gossip {
	unsigned n, self, n_policies, branching, datagram_max;
	uint64_t tick_ns, timeout_ns, epoch, counter;
	uint32_t tick;
	bool sealed;
	uint8_t key[DATAGRAM_KEY];
	struct prng prng;
	struct gossip_counters counters;
	struct name *by_id;     /* n, sorted */
	struct name *by_policy; /* n_policies, sorted */
	uint32_t *policies;
	struct peer *peers;      /* n */
	struct entry *entries;   /* n_policies rows of n */
	struct entry *announced; /* n_policies: our own, as last marked to be sent */
	unsigned *order;         /* n - 1 peers, shuffled for each round */
	unsigned order_at;
	unsigned to_send;          /* of this tick, still */
	unsigned own_at, relay_at; /* where the next datagram goes on */
	bool echo_claim;           /* alternates between a peer's believed and claimed epoch */
};

static int name_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct name *)a)->id, y = ((const struct name *)b)->id;

	return x < y ? -1 : x > y;
}

static struct name *names_sorted(const uint32_t *ids, unsigned n)
{
	struct name *names = calloc(n ? n : 1, sizeof(*names));

	if (!names)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		names[i] = (struct name){ids[i], i};
	qsort(names, n, sizeof(*names), name_compare);
	return names;
}

/* Index of the name with that id, or n. */
static unsigned name_find(const struct name *names, unsigned n, uint32_t id)
{
	struct name key = {.id = id}, *found;

	found = bsearch(&key, names, n, sizeof(key), name_compare);
	return found ? found->index : n;
}

static struct entry *entry_of(const struct gossip *g, unsigned policy, unsigned origin)
{
	return &g->entries[(size_t)policy * g->n + origin];
}

static bool params_valid(const struct gossip_params *p)
{
	return p->n >= 1 && p->self < p->n && p->epoch != 0 && p->branching >= 1 &&
	       p->tick_ns > 0 && p->datagram_max >= DATAGRAM_MIN + 64 &&
	       p->datagram_max <= DATAGRAM_MAX;
}

static int gossip_allocate(struct gossip *g, const struct gossip_params *p)
{
	unsigned n = g->n, m = g->n_policies ? g->n_policies : 1;

	g->by_id = names_sorted(p->ids, n);
	g->by_policy = names_sorted(p->policies, g->n_policies);
	g->policies = calloc(m, sizeof(*g->policies));
	g->peers = calloc(n, sizeof(*g->peers));
	g->entries = calloc((size_t)m * n, sizeof(*g->entries));
	g->announced = calloc(m, sizeof(*g->announced));
	g->order = calloc(n, sizeof(*g->order));
	if (!g->by_id || !g->by_policy || !g->policies || !g->peers || !g->entries ||
		!g->announced || !g->order)
		return -ENOMEM;
	return 0;
}

int gossip_create(const struct gossip_params *p, uint64_t now_ns, struct gossip **out)
{
	struct gossip *g;

	if (!params_valid(p))
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->n = p->n;
	g->self = p->self;
	g->n_policies = p->n_policies;
	g->branching = p->branching;
	g->datagram_max = p->datagram_max;
	g->tick_ns = p->tick_ns;
	g->timeout_ns = p->timeout_ns;
	g->epoch = p->epoch;
	prng_seed(&g->prng, p->seed);
	if (p->key) {
		g->sealed = true;
		memcpy(g->key, p->key, DATAGRAM_KEY);
	}
	if (gossip_allocate(g, p)) {
		gossip_destroy(g);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < p->n_policies; i++)
		g->policies[i] = p->policies[i];
	for (unsigned i = 0, k = 0; i < g->n; i++) {
		g->peers[i].id = p->ids[i];
		g->peers[i].heard_ns = now_ns;
		if (i != g->self)
			g->order[k++] = i;
	}
	g->order_at = g->n - 1; /* the first tick shuffles */
	*out = g;
	return 0;
}

void gossip_destroy(struct gossip *g)
{
	if (!g)
		return;
	free(g->by_id);
	free(g->by_policy);
	free(g->policies);
	free(g->peers);
	free(g->entries);
	free(g->announced);
	free(g->order);
	explicit_bzero(g->key, sizeof(g->key));
	free(g);
}

/* Datagrams after which each peer has probably had a new value of ours twice. */
static uint8_t own_fresh(const struct gossip *g)
{
	unsigned n = 2 * (g->n - 1);

	return (uint8_t)(n < UINT8_MAX ? n : UINT8_MAX);
}

/* A rumour spreads to N in about log2(N) rounds. */
static uint8_t relay_fresh(const struct gossip *g)
{
	unsigned rounds = 1;

	for (unsigned n = g->n; n > 1; n >>= 1)
		rounds++;
	rounds *= g->branching;
	return (uint8_t)(rounds < UINT8_MAX ? rounds : UINT8_MAX);
}

static bool changed_enough(float from, float to)
{
	return fabsf(to - from) > CHANGED_ENOUGH * fmaxf(from, to);
}

void gossip_set(struct gossip *g, unsigned policy, double demand, double weight)
{
	struct entry *own = entry_of(g, policy, g->self), *told = &g->announced[policy];
	float d = (float)demand, w = (float)weight;

	if (own->present && own->demand == d && own->weight == w)
		return;
	if (!own->present || changed_enough(told->demand, d) || changed_enough(told->weight, w)) {
		own->fresh = own_fresh(g);
		*told = (struct entry){.demand = d, .weight = w};
	}
	own->present = true;
	own->version = g->tick + 1; /* it goes out with the next tick */
	own->demand = d;
	own->weight = w;
}

static unsigned ticks_a_round(const struct gossip *g)
{
	unsigned peers = g->n - 1;

	return peers == 0 ? 1 : (peers + g->branching - 1) / g->branching;
}

uint64_t gossip_timeout(const struct gossip *g)
{
	return g->timeout_ns * ticks_a_round(g);
}

static void shuffle(struct gossip *g)
{
	for (unsigned i = g->n - 1; i > 1; i--) {
		unsigned j = prng_below(&g->prng, i), t = g->order[j];

		g->order[j] = g->order[i - 1];
		g->order[i - 1] = t;
	}
	g->order_at = 0;
}

void gossip_tick(struct gossip *g, uint64_t now_ns)
{
	unsigned left;

	g->tick++;
	for (unsigned i = 0; i < g->n; i++)
		if (i != g->self)
			peer_expire(&g->peers[i], now_ns, gossip_timeout(g));
	/* Random peers, but each once a round, so that the longest silence is bounded. */
	if (g->order_at >= g->n - 1)
		shuffle(g);
	left = g->n - 1 - g->order_at;
	g->to_send = left < g->branching ? left : g->branching;
}

static struct datagram_record record_of(
	const struct gossip *g, unsigned policy, const struct entry *entry)
{
	return (struct datagram_record){
		.policy = g->policies[policy],
		.version = entry->version,
		.demand = entry->demand,
		.weight = entry->weight,
	};
}

/* Those that changed, and a few that did not; goes on next time where the room ended. */
static uint16_t write_own(struct gossip *g, struct cursor *cursor)
{
	unsigned refresh = REFRESH, i = 0;
	uint16_t n = 0;

	for (; i < g->n_policies && cursor_left(cursor) >= DATAGRAM_RECORD; i++) {
		unsigned policy = (g->own_at + i) % g->n_policies;
		struct entry *own = entry_of(g, policy, g->self);
		struct datagram_record record;

		if (!own->present || (own->fresh == 0 && refresh == 0))
			continue;
		if (own->fresh)
			own->fresh--;
		else
			refresh--;
		record = record_of(g, policy, own);
		datagram_write_record(cursor, &record);
		n++;
	}
	if (g->n_policies)
		g->own_at = (g->own_at + (i < g->n_policies ? i : REFRESH)) % g->n_policies;
	return n;
}

static uint16_t write_relayed(struct gossip *g, struct cursor *cursor, unsigned origin)
{
	uint16_t n = 0;

	for (unsigned i = 0; i < g->n_policies && cursor_left(cursor) >= DATAGRAM_RECORD; i++) {
		struct entry *entry = entry_of(g, i, origin);
		struct datagram_record record;

		if (!entry->present || entry->fresh == 0)
			continue;
		entry->fresh--;
		record = record_of(g, i, entry);
		datagram_write_record(cursor, &record);
		n++;
	}
	return n;
}

/* What we have heard of others, as far as the room goes; each gets its turn. */
static void write_sections(struct gossip *g, struct cursor *cursor, unsigned to)
{
	for (unsigned i = 0; i < g->n; i++) {
		unsigned origin = g->relay_at;
		struct peer *peer = &g->peers[origin];
		struct datagram_section section = {peer->id, peer->epoch, peer->tick, 0};
		uint8_t *at = cursor->at;

		if (cursor_left(cursor) < DATAGRAM_SECTION + DATAGRAM_RECORD)
			return;
		g->relay_at = (g->relay_at + 1) % g->n;
		if (origin == g->self || origin == to || !peer->alive)
			continue;
		datagram_write_section(cursor, &section);
		section.n_records = write_relayed(g, cursor, origin);
		datagram_write_section(
			&(struct cursor){.at = at, .end = at + DATAGRAM_SECTION}, &section);
	}
}

static struct datagram_body body_for(struct gossip *g, const struct peer *peer)
{
	struct datagram_body body = {.receiver = peer->id, .tick = g->tick};
	bool claim = peer->claimed_epoch != 0 && (!peer->known || g->echo_claim);

	g->echo_claim = !g->echo_claim;
	if (claim || peer->known) {
		body.echo_epoch = claim ? peer->claimed_epoch : peer->epoch;
		body.echo_tick = claim ? peer->claimed_tick : peer->tick;
	}
	return body;
}

size_t gossip_send(struct gossip *g, uint8_t *buf, unsigned *peer)
{
	size_t room = g->datagram_max - (g->sealed ? DATAGRAM_TAG : 0), len;
	struct cursor cursor = {.at = buf, .end = buf + room};
	struct datagram_header header = {DATAGRAM_VERSION, g->sealed ? DATAGRAM_SEALED : 0,
		g->peers[g->self].id, g->epoch, 0};
	struct datagram_body body;

	if (g->to_send == 0)
		return 0;
	g->to_send--;
	*peer = g->order[g->order_at++];
	header.counter = ++g->counter;
	body = body_for(g, &g->peers[*peer]);
	datagram_write_header(&cursor, &header);
	datagram_write_body(&cursor, &body);
	body.n_records = write_own(g, &cursor);
	datagram_write_body(
		&(struct cursor){.at = buf + DATAGRAM_HEADER, .end = buf + DATAGRAM_MIN}, &body);
	if (g->n - 1 > g->branching)
		write_sections(g, &cursor, *peer);
	len = (size_t)(cursor.at - buf);
	if (g->sealed)
		len = datagram_seal(buf, len, g->key);
	g->counters.sent++;
	g->counters.sent_bytes += len;
	return len;
}

static void forget(struct gossip *g, unsigned origin)
{
	for (unsigned i = 0; i < g->n_policies; i++)
		*entry_of(g, i, origin) = (struct entry){0};
}

static void believe(
	struct gossip *g, unsigned origin, uint64_t epoch, uint32_t tick, uint64_t now_ns)
{
	/* What it said before it restarted is no longer so. */
	forget(g, origin);
	peer_believe(&g->peers[origin], epoch, tick, now_ns);
}

static bool record_valid(const struct datagram_record *record)
{
	return isfinite(record->demand) && isfinite(record->weight) && record->demand >= 0 &&
	       record->weight >= 0;
}

static void take_record(struct gossip *g, unsigned origin, const struct datagram_record *record)
{
	unsigned policy = name_find(g->by_policy, g->n_policies, record->policy);
	struct entry *entry;

	if (policy == g->n_policies) {
		g->counters.unknown_policy++;
		return;
	}
	entry = entry_of(g, policy, origin);
	if (entry->present && !serial_newer(record->version, entry->version))
		return;
	*entry = (struct entry){
		.version = record->version,
		.demand = record->demand,
		.weight = record->weight,
		.present = true,
		.fresh = relay_fresh(g),
	};
}

/* Reads n records; takes them as those of `origin` unless that is g->n. */
static bool read_records(struct gossip *g, struct cursor *cursor, unsigned n, unsigned origin)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_record record;

		datagram_read_record(cursor, &record);
		if (cursor->failed || !record_valid(&record))
			return false;
		if (origin < g->n)
			take_record(g, origin, &record);
	}
	return true;
}

/* The origin whose records are to be taken, or g->n when they are not. */
static unsigned take_section(
	struct gossip *g, const struct datagram_section *section, uint64_t now_ns)
{
	unsigned origin = name_find(g->by_id, g->n, section->origin);
	struct peer *peer;

	if (origin == g->n || origin == g->self || section->epoch == 0)
		return g->n;
	peer = &g->peers[origin];
	/* Hearsay may introduce a peer; only the peer itself can say that it has restarted. */
	if (!peer->known)
		believe(g, origin, section->epoch, section->tick, now_ns);
	if (peer->epoch != section->epoch)
		return g->n;
	peer_heard(peer, section->tick, now_ns);
	return origin;
}

/* One pass over a body after its fixed part: `sender` is g->n to check without taking. */
static bool read_body(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned sender, uint64_t now_ns)
{
	if (!read_records(g, &cursor, body->n_records, sender))
		return false;
	while (cursor_left(&cursor) > 0) {
		struct datagram_section section;
		unsigned origin = g->n;

		datagram_read_section(&cursor, &section);
		if (cursor.failed)
			return false;
		if (sender < g->n)
			origin = take_section(g, &section, now_ns);
		if (!read_records(g, &cursor, section.n_records, origin))
			return false;
	}
	return true;
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
	struct peer *peer = &g->peers[sender];
	uint32_t age = echo_age(g, body);

	if (!peer->known || header->epoch != peer->epoch) {
		if (header->epoch == 0 || header->epoch == peer->retired_epoch)
			return GOSSIP_REPLAY;
		if (age == UINT32_MAX || age * g->tick_ns >= gossip_timeout(g)) {
			peer->claimed_epoch = header->epoch;
			peer->claimed_tick = body->tick;
			return GOSSIP_UNPROVEN;
		}
		believe(g, sender, header->epoch, body->tick, now_ns);
	}
	if (!peer_counter_fresh(peer, header->counter))
		return GOSSIP_REPLAY;
	peer_heard(peer, body->tick, now_ns);
	if (age != UINT32_MAX)
		peer_confirmed(peer, now_ns - age * g->tick_ns);
	return GOSSIP_ACCEPTED;
}

/* What can be said before the key is used. */
static enum gossip_verdict check_header(
	const struct gossip *g, const struct datagram_header *header, size_t len)
{
	bool sealed = header->flags & DATAGRAM_SEALED;

	if (header->version != DATAGRAM_VERSION || header->flags & ~DATAGRAM_SEALED)
		return GOSSIP_VERSION;
	if (sealed != g->sealed)
		return GOSSIP_UNSEALED;
	if (len < (size_t)DATAGRAM_MIN + (sealed ? DATAGRAM_TAG : 0))
		return GOSSIP_TRUNCATED;
	if (header->sender == g->peers[g->self].id)
		return GOSSIP_SELF;
	if (name_find(g->by_id, g->n, header->sender) == g->n)
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
	if (g->sealed) {
		int opened = datagram_open(buf, len, g->key);

		if (opened < 0)
			return GOSSIP_FORGED;
		cursor.end = buf + opened;
	}
	datagram_read_body(&cursor, &body);
	if (cursor.failed)
		return GOSSIP_TRUNCATED;
	if (body.receiver != g->peers[g->self].id)
		return GOSSIP_MISSENT;
	/* Whole or not at all: a body that ends badly changes nothing. */
	if (!read_body(g, cursor, &body, g->n, now_ns))
		return GOSSIP_MALFORMED;
	sender = name_find(g->by_id, g->n, header.sender);
	verdict = check_epoch(g, sender, &header, &body, now_ns);
	if (verdict == GOSSIP_ACCEPTED)
		read_body(g, cursor, &body, sender, now_ns);
	return verdict;
}

enum gossip_verdict gossip_receive(struct gossip *g, uint64_t now_ns, uint8_t *buf, size_t len)
{
	enum gossip_verdict verdict = take_datagram(g, now_ns, buf, len);

	g->counters.received_bytes += len;
	g->counters.verdict[verdict]++;
	return verdict;
}

struct gossip_sum gossip_sum(const struct gossip *g, unsigned policy)
{
	struct gossip_sum sum = {0};

	for (unsigned i = 0; i < g->n; i++) {
		const struct entry *entry = entry_of(g, policy, i);

		if (i == g->self)
			continue;
		if (!g->peers[i].alive || !entry->present) {
			sum.lost++;
			continue;
		}
		sum.weight += entry->weight;
		sum.demand += entry->demand;
	}
	return sum;
}

unsigned gossip_alive(const struct gossip *g)
{
	unsigned alive = 0;

	for (unsigned i = 0; i < g->n; i++)
		alive += i != g->self && g->peers[i].alive;
	return alive;
}

const struct peer *gossip_peer(const struct gossip *g, unsigned i)
{
	return &g->peers[i];
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
		[GOSSIP_FORGED] = "forged",
		[GOSSIP_MISSENT] = "missent",
		[GOSSIP_REPLAY] = "replay",
		[GOSSIP_MALFORMED] = "malformed",
	};

	return names[verdict];
}
