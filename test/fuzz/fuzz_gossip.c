/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two limiters of a group, whose estimator the input chooses. The input is a list of events: ticks,
 * datagrams of any bytes, datagrams of an insider with the key, and their own datagrams, delivered,
 * cut or repeated. An insider's datagrams are nonsense or nearly valid: names and epochs come from
 * small sets, so that the inner parts of the parser are reached.
 *
 * Or, if the input chooses that, the two are honest and receive each other in every tick, and an
 * insider sends as one of the other three. Then each of the two counts for the other in the end.
 * Its own records are used, with any datagrams of the three.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/hash.h"
#include "gossip/gossip.h"

#define N          5
#define N_POLICIES 6
#define MS         UINT64_C(1000000)
#define TICK       (50 * MS)
#define LENGTH_MAX 400 /* longest datagram made of input */
#define STEPS_MAX  400

/*
 * Ticks after which two that receive each other count, although others pretend to be them, or
 * repeat datagrams.
 */
#define EXCHANGES_FIRST 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t keys[2][DATAGRAM_KEY] = {
	"an example key of thirty-two by", "another one of thirty-two bytes"};

/* Keys of a group: one, two, or one with identities, required or optional. */
enum { RINGS_ONE, RINGS_TWO, RINGS_IDENTITY, RINGS_OPTIONAL, RING_KINDS };
static struct keyring *rings[RING_KINDS][2];

struct world {
	const uint8_t *at, *end; /* the rest of the input */
	struct gossip *g[2];     /* limiters 0 and 1 of the roster */
	struct keyring *rings[2];
	unsigned n_policies[2]; /* the first ones of `policies` */
	uint64_t received[2];
	uint32_t ids[N];
	uint64_t policies[N_POLICIES];
	enum gossip_estimator estimator;
	bool sealed, honest, all_told; /* all_told: all policies in every tick */
	unsigned exchanges;
	float said[2][N_POLICIES]; /* weights that the two sent */
	uint64_t now;
	uint32_t ticks;
	unsigned datagram_max;
};

static void expect_gossip(bool condition, int line)
{
	if (!condition) {
		fprintf(stderr, "fuzz_gossip.c:%d: it does not hold\n", line);
		abort();
	}
}

#define check(condition) expect_gossip((condition), __LINE__)

/* The next byte of the input; zeros after its end. */
static unsigned next_gossip_byte(struct world *w)
{
	return w->at < w->end ? *w->at++ : 0;
}

static size_t next_bytes(struct world *w, uint8_t *buf, size_t most)
{
	size_t n = next_gossip_byte(w) * 2, left = (size_t)(w->end - w->at);

	n = n < left ? n : left;
	n = n < most ? n : most;
	if (n)
		memcpy(buf, w->at, n);
	w->at += n;
	return n;
}

static void check_state(const struct world *w, unsigned i)
{
	const struct gossip_counters *c = gossip_counters(w->g[i]);
	uint64_t verdicts = 0;

	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		verdicts += c->verdict[v];
	check(verdicts == w->received[i]);
	check(gossip_alive(w->g[i]) < N);
	for (unsigned p = 0; p < w->n_policies[i]; p++) {
		struct gossip_sum sum = gossip_sum(w->g[i], p);
		struct gossip_enforced enforced = gossip_enforced(w->g[i], p);

		check(isfinite(sum.weight) && sum.weight >= 0);
		check(isfinite(sum.demand) && sum.demand >= 0);
		check(sum.lost < N);
		check(isfinite(enforced.most) && isfinite(enforced.now) && enforced.now >= 0);
		check(enforced.unreported < N && enforced.at_ns <= w->now);
		if (w->estimator != GOSSIP_TREE) /* neighbours in a tree report for others */
			check(sum.lost >= N - 1 - gossip_alive(w->g[i]));
	}
}

/* Delivers from memory of exactly this length, so that reads beyond it are caught. */
static enum gossip_verdict deliver_gossip(
	struct world *w, unsigned to, const uint8_t *buf, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum gossip_verdict verdict;

	check(copy != NULL);
	memcpy(copy, buf, len);
	verdict = gossip_receive(w->g[to], w->now, copy, len);
	if (verdict == GOSSIP_MESSAGE) {
		struct gossip_message message = gossip_message(w->g[to], copy, len);

		check(message.from < N && message.at + message.len <= copy + len);
	}
	free(copy);
	w->received[to]++;
	check_state(w, to);
	return verdict;
}

static void deliver_raw(struct world *w, unsigned to)
{
	uint8_t buf[LENGTH_MAX];
	enum gossip_verdict verdict = deliver_gossip(w, to, buf, next_bytes(w, buf, sizeof(buf)));

	if (w->sealed)
		check(verdict != GOSSIP_ACCEPTED && verdict != GOSSIP_UNPROVEN &&
			verdict != GOSSIP_MALFORMED && verdict != GOSSIP_MISSENT &&
			verdict != GOSSIP_MESSAGE);
}

static uint32_t some_name(struct world *w)
{
	unsigned i = next_gossip_byte(w) % (N + 1);

	return i < N ? w->ids[i] : 0x0badbad0;
}

static uint64_t some_epoch(struct world *w)
{
	/* 0, those of the two, and a few possible earlier ones. */
	return next_gossip_byte(w) % 8;
}

static uint32_t some_tick(struct world *w)
{
	unsigned choice = next_gossip_byte(w);

	return choice < 0xf0 ? w->ticks + 4 - choice % 32 : choice << 28;
}

static float some_float(struct world *w)
{
	static const float odd[] = {INFINITY, -1, NAN, 3.4e38F, 1e-45F, -0.0F};
	unsigned choice = next_gossip_byte(w);

	return choice < 6 ? odd[choice] : (float)choice * 1000;
}

static void write_some_records(struct world *w, struct cursor *cursor, unsigned n)
{
	while (n--) {
		unsigned policy = next_gossip_byte(w) % (N_POLICIES + 1);
		struct datagram_record record = {
			policy < N_POLICIES ? w->policies[policy] : 0x0badbad0, some_tick(w),
			some_float(w), some_float(w)};

		datagram_write_record(cursor, &record);
	}
}

static void write_some_sections(struct world *w, struct cursor *cursor)
{
	for (unsigned n = next_gossip_byte(w) % 4; n; n--) {
		struct datagram_section section = {some_name(w), some_epoch(w), some_tick(w), 0};
		unsigned records = next_gossip_byte(w) % 5;

		section.epoch |= (uint64_t)(next_gossip_byte(w) % 4) << 34; /* times of reports */
		section.epoch |= (uint64_t)(next_gossip_byte(w) % 4) << 24;

		/* Usually the number is right. */
		section.n_records = (uint16_t)(next_gossip_byte(w) < 0xf8 ? records
									  : next_gossip_byte(w));
		datagram_write_section(cursor, &section);
		write_some_records(w, cursor, records);
	}
}

static void write_some_sums(struct world *w, struct cursor *cursor, unsigned n, uint8_t version)
{
	struct datagram_edge edge = {.link = next_gossip_byte(w) % 4,
		.asks = next_gossip_byte(w) & 1,
		.sequence = next_gossip_byte(w),
		.received = {next_gossip_byte(w) & 1, next_gossip_byte(w), next_gossip_byte(w)}};

	datagram_write_edge(cursor, &edge, version);
	while (n--) {
		unsigned policy = next_gossip_byte(w) % (N_POLICIES + 1);
		struct datagram_sum sum = {policy < N_POLICIES ? w->policies[policy] : 0x0badbad0,
			next_gossip_byte(w) % (N + 1), some_float(w), some_float(w)};

		datagram_write_sum(cursor, &sum);
	}
}

static void write_some_body(struct world *w, struct cursor *cursor, unsigned to, uint8_t version)
{
	struct datagram_body body = {
		.receiver = next_gossip_byte(w) < 0xf0 ? w->ids[to] : some_name(w),
		.echo_epoch = next_gossip_byte(w) < 0xe0 ? to + 1 : some_epoch(w),
		.echo_tick = some_tick(w),
		.tick = some_tick(w)};
	unsigned records = next_gossip_byte(w) % 5;

	/* Usually the number is right. */
	body.n_records = (uint16_t)(next_gossip_byte(w) < 0xf8 ? records : next_gossip_byte(w));
	datagram_write_body(cursor, &body);
	if (w->estimator == GOSSIP_TREE) {
		write_some_sums(w, cursor, records, version);
	} else {
		write_some_records(w, cursor, records);
		write_some_sections(w, cursor);
	}
}

/* Delivers a datagram by an insider: any bytes as a body, or a consistent body. */
static void deliver_insider(struct world *w, unsigned to, bool structured)
{
	uint8_t buf[LENGTH_MAX * 2 + DATAGRAM_TAG];
	struct cursor cursor = {.at = buf, .end = buf + LENGTH_MAX * 2};
	unsigned kind = next_gossip_byte(w) < 0xf0 ? w->estimator << DATAGRAM_ESTIMATOR_SHIFT
						   : DATAGRAM_MESSAGE;
	unsigned from = w->honest ? 2 + next_gossip_byte(w) % (N - 2) : next_gossip_byte(w) % N;
	uint8_t version = next_gossip_byte(w) & 1 ? DATAGRAM_VERSION : DATAGRAM_OLDEST;
	struct datagram_header header = {.version = version,
		.flags = (uint8_t)((w->sealed ? DATAGRAM_SEALED : 0) | kind),
		.newest = (uint8_t)(next_gossip_byte(w) % 6),
		.oldest = 1,
		.sender = w->ids[from],
		.epoch = some_epoch(w),
		.counter = next_gossip_byte(w),
		.key = w->sealed ? keyring_name(w->rings[to], w->at < w->end && *w->at & 1) : 0};
	const uint8_t *key = w->sealed ? keyring_find(w->rings[to], from, header.key) : NULL;
	size_t len;

	datagram_write_header(&cursor, &header);
	if (structured)
		write_some_body(w, &cursor, to, version);
	cursor.at += next_bytes(w, cursor.at, LENGTH_MAX / 2);
	check(!cursor.failed && cursor.at <= cursor.end);
	len = (size_t)(cursor.at - buf);
	if (w->sealed)
		len = datagram_seal(buf, len, from == to || key == NULL ? keys[0] : key);
	deliver_gossip(w, to, buf, len);
}

static void tick_gossip(struct world *w, unsigned i)
{
	w->now += next_gossip_byte(w) * 4 * MS;
	w->ticks += i == 0;
	gossip_tick(w->g[i], w->now);
	check_state(w, i);
}

/* Sends everything of this tick; datagrams to the other arrive whole, cut, twice or not. */
static void send_all(struct world *w, unsigned from)
{
	uint8_t *buf = malloc(w->datagram_max);
	unsigned peer, sent = 0;
	size_t len;

	check(buf != NULL);
	while ((len = gossip_send(w->g[from], buf, &peer)) > 0) {
		unsigned fate = next_gossip_byte(w);
		enum gossip_verdict verdict;

		/* Each datagram to a peer has a record that it has not had in this tick. */
		check(++sent <= (N - 1) * N_POLICIES);
		check(len <= w->datagram_max && peer < N && peer != from);
		if (peer > 1 || fate >= 0xc0)
			continue;
		if (fate >= 0x80) {
			deliver_gossip(w, peer, buf, fate % len);
			continue;
		}
		/* Genuine datagrams are never malformed; other checks cover replay and unproven. */
		verdict = deliver_gossip(w, peer, buf, len);
		check(verdict == GOSSIP_ACCEPTED || verdict == GOSSIP_UNPROVEN ||
			verdict == GOSSIP_REPLAY);
		if (fate >= 0x40 && verdict == GOSSIP_ACCEPTED)
			check(deliver_gossip(w, peer, buf, len) == GOSSIP_REPLAY);
		check(deliver_gossip(w, from, buf, len) == GOSSIP_SELF);
	}
	free(buf);
}

/* Checks that the other counts, and that its weights are the ones that it has just sent. */
static void check_honest(const struct world *w, unsigned i, bool spoke)
{
	const struct peer *other = gossip_peer(w->g[i], !i);

	if (w->exchanges < EXCHANGES_FIRST || w->estimator == GOSSIP_TREE)
		return; /* a tree chooses its neighbours */
	check(other && other->alive);
	if (!spoke || w->estimator != GOSSIP_STATE || w->datagram_max < 1200 || !w->all_told)
		return;
	for (unsigned p = 0; p < N_POLICIES; p++)
		check(gossip_sum(w->g[i], p).weight >= (double)w->said[!i][p] * (1 - 1e-6));
}

/* Both send, and datagrams to each other arrive. */
static void exchange_honest(struct world *w)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	w->now += 1 + next_gossip_byte(w) % 200 * MS;
	w->ticks++;
	w->exchanges++;
	for (unsigned i = 0; i < 2; i++) {
		gossip_tick(w->g[i], w->now);
		check_honest(w, i, false);
		while ((len = gossip_send(w->g[i], buf, &to)) > 0)
			if (to < 2)
				deliver_gossip(w, to, buf, len);
	}
	for (unsigned i = 0; i < 2; i++)
		check_honest(w, i, true);
}

static void set_weight(struct world *w, unsigned who)
{
	unsigned policy = next_gossip_byte(w) % w->n_policies[who], weight, demand;

	demand = next_gossip_byte(w);
	weight = next_gossip_byte(w);
	gossip_set(w->g[who], policy, demand * 1e5, weight);
	w->said[who][policy] = (float)weight;
}

static void enforce_limits(struct world *w, unsigned who)
{
	for (unsigned p = next_gossip_byte(w) % w->n_policies[who]; p < w->n_policies[who]; p++)
		gossip_enforce(w->g[who], p, next_gossip_byte(w) * 1e6);
}

/* Delivers a message: its bytes arrive whole, or the receiver answers that it is unproven. */
static void send_message(struct world *w, unsigned from)
{
	uint8_t buf[DATAGRAM_MAX], text[LENGTH_MAX], answer[DATAGRAM_MAX];
	size_t room = gossip_message_room(w->g[from]);
	size_t n = next_bytes(w, text, room < LENGTH_MAX ? room : LENGTH_MAX), len;
	enum gossip_verdict verdict;
	unsigned peer;

	if (n)
		memcpy(gossip_message_at(buf), text, n);
	len = gossip_seal_message(w->g[from], buf, n, !from);
	check(len <= w->datagram_max);
	w->received[!from]++;
	verdict = gossip_receive(w->g[!from], w->now, buf, len);
	check_state(w, !from);
	if (verdict == GOSSIP_MESSAGE) {
		struct gossip_message got = gossip_message(w->g[!from], buf, len);

		check(got.from == from && got.len == n && memcmp(got.at, text, n) == 0);
	} else {
		check(verdict == GOSSIP_UNPROVEN || verdict == GOSSIP_REPLAY);
	}
	while ((len = gossip_answer(w->g[!from], answer, &peer)) > 0)
		if (peer == from)
			deliver_gossip(w, from, answer, len);
}

/* Changes the policies: fewer, or up to all again. */
static void change_policies(struct world *w, unsigned who)
{
	unsigned n = 1 + next_gossip_byte(w) % N_POLICIES, from[N_POLICIES];

	for (unsigned i = 0; i < n; i++)
		from[i] = i < w->n_policies[who] ? i : GOSSIP_ADDED;
	check(gossip_update(w->g[who], w->policies, n, from, TICK, w->now) == 0);
	w->n_policies[who] = n;
	check_state(w, who);
}

static const struct roster *fuzz_roster(struct world *w)
{
	static const char *const names[N] = {"l1", "l2", "l3", "l4", "l5"};
	static struct roster *roster;

	for (unsigned i = 0; i < N; i++)
		w->ids[i] = name_hash(names[i]);
	if (roster == NULL)
		check(roster_create(w->ids, N, &roster) == 0);
	return roster;
}

static void ask_about_peers(struct world *w, unsigned who)
{
	unsigned next = 0;

	for (unsigned i = 0; i < N; i++) {
		struct gossip_sum told;

		if (gossip_reported_sum(w->g[who], 0, i, &told))
			check(told.weight >= 0 && told.lost == 0);
		if (gossip_peer(w->g[who], i) != NULL)
			check(gossip_doubt(w->g[who], i) <= GOSSIP_TWICE);
	}
	while (gossip_reports_news(w->g[who]) && next < w->n_policies[who])
		next = gossip_next_news(w->g[who], next) + 1;
	check(gossip_silent(w->g[who]) < N);
	if (w->sealed)
		check(gossip_rekey(w->g[who], w->rings[who]) == w->rings[who]);
	/* All limiters stay, with their state at the same index. */
	check(gossip_regroup(w->g[who], fuzz_roster(w), who, w->rings[who], w->now) == 0);
	check_state(w, who);
}

static void step_honest(struct world *w)
{
	unsigned op = next_gossip_byte(w), who = op >> 7;

	switch (op % 8) {
	case 0:
	case 1:
		exchange_honest(w);
		break;
	case 2:
		deliver_raw(w, who);
		break;
	case 3:
		set_weight(w, who);
		exchange_honest(w);
		break;
	default:
		deliver_insider(w, who, op % 8 > 4);
	}
}

static void step_gossip(struct world *w)
{
	unsigned op = next_gossip_byte(w), who = op >> 7;

	switch (op % 16) {
	case 0:
		tick_gossip(w, who);
		break;
	case 1:
		deliver_raw(w, who);
		break;
	case 2:
		deliver_insider(w, who, false);
		break;
	case 3:
		set_weight(w, who);
		break;
	case 4:
		tick_gossip(w, who);
		/* fall through */
	case 5:
		send_all(w, who);
		break;
	case 8:
		enforce_limits(w, who);
		break;
	case 9:
		send_message(w, who);
		break;
	case 10:
		change_policies(w, who);
		break;
	case 11:
		ask_about_peers(w, who);
		break;
	default:
		deliver_insider(w, who, true);
	}
}

/* Made once: identities are expensive, and a keyring does not change. */
static struct keyring *fuzz_ring(const struct roster *roster, unsigned kind, unsigned self)
{
	static uint8_t secrets[N][DATAGRAM_KEY], publics[N][DATAGRAM_KEY];
	bool identities = kind >= RINGS_IDENTITY;
	struct keyring_params params = {.roster = roster,
		.self = self,
		.n_keys = kind == RINGS_TWO ? 2 : 1,
		.keys = keys,
		.secret = identities ? secrets[self] : NULL,
		.publics = identities ? publics : NULL,
		.identities_optional = kind == RINGS_OPTIONAL};

	if (rings[kind][self] != NULL)
		return rings[kind][self];
	for (unsigned i = 0; i < N; i++) {
		memset(secrets[i], (int)i + 1, DATAGRAM_KEY);
		check(crypto_scalarmult_base(publics[i], secrets[i]) == 0);
	}
	check(keyring_create(&params, &rings[kind][self]) == 0);
	return rings[kind][self];
}

static void create_fuzz_gossip(struct world *w, unsigned branching, unsigned kind)
{
	static const char *const policies[N_POLICIES] = {"p1", "p2", "p3", "p4", "p5", "p6"};
	const struct roster *roster = fuzz_roster(w);

	for (unsigned i = 0; i < N_POLICIES; i++)
		w->policies[i] = name_hash(policies[i]);
	for (unsigned i = 0; i < 2; i++) {
		struct gossip_params params = {.roster = roster,
			.self = i,
			.n_policies = N_POLICIES,
			.policies = w->policies,
			.epoch = i + 1,
			.seed = i,
			.branching = branching,
			.tick_ns = TICK,
			.timeout_ns = 1000 * MS,
			.datagram_max = w->datagram_max,
			.demand_max = 3e7,
			.estimator = w->estimator};

		w->n_policies[i] = N_POLICIES;
		if (w->sealed)
			w->rings[i] = fuzz_ring(roster, kind, i);
		params.keyring = w->rings[i];
		check(gossip_create(&params, w->now, &w->g[i]) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.at = data, .end = data + size, .now = 5000 * MS};
	unsigned options = next_gossip_byte(&w);

	check(sodium_init() >= 0);
	w.honest = options & 0x40;
	w.sealed = options & 1 || w.honest;
	w.datagram_max = options & 2 ? 1200 : DATAGRAM_MIN + 64;
	w.estimator = (enum gossip_estimator)(options >> 3 & 3) % GOSSIP_ESTIMATORS;
	w.all_told = options & 4;
	create_fuzz_gossip(&w, w.all_told ? N - 1 : 2, (options >> 5 & 1) | (options >> 6 & 2));
	for (unsigned i = 0; i < STEPS_MAX && w.at < w.end; i++)
		(w.honest ? step_honest : step_gossip)(&w);
	gossip_destroy(w.g[0]);
	gossip_destroy(w.g[1]);
	return 0;
}
