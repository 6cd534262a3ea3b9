/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares decide() on a whole burst with police_charge() on each of its packets. The same packets
 * pass, counters and buckets end the same, and a packet that need not be parsed is not read.
 */
#include "check.h"
#include "scope.h"

#include <sys/mman.h>

#include "allocate/allocate.h"
#include "base/prng.h"
#include "decide.h"
#include "worker_data.h"
#include "police/charge.h"
#include "police/eights.h"
#include "police/sample.h"
#include "police/borrow.h"
#include "police/expire.h"
#include "police/lineage.h"
#include "policer.h"
#include "slot_map.h"
#include "packet/mark.h"
#include "police/extended.h"
#include "engine/profile.h"

#define FRAME_MAX   1600
#define BURSTS      400
#define MANY_BYTES  (UINT64_C(1) << 30)
#define TOTAL_BYTES 2000000 /* about 100 bursts */
#define FEW_BYTES   3000    /* less than a burst of packets */

/* All policies; a row uses some adjacent ones. */
enum {
	SAMPLED,
	LAX,
	TIGHT,
	TIGHT_L3,
	TIGHT_WIRE,
	MARKED,
	COUNTED,
	PACKETS,
	TOTAL_PACKETS,
	PER_SOURCE,
	MARKED_SOURCE,
	COUNTED_SOURCE,
	SHARED,
	UNPRESSED,
	TOTAL,
	LINK,
	CUSTOMER,
	CLIENT,
	MARKED_CLIENT,
	WIDE_LINK,
	WIDE_CUSTOMER,
	WIDE_CLIENT,
	OTHER_CLIENT,
	PLAN,
	SUBSCRIBERS,
	MARKED_SUBSCRIBERS,
	WIDE_PLAN,
	WIDE_SUBSCRIBERS,
	LAX_SUBSCRIBERS,
	YEAR,
	MONTH,
	MONTHS_CLIENT,
	COUNTED_MONTH,
	POLICIES
};

static const struct {
	uint64_t burst;
	enum accounting accounting;
	enum action action;
	enum counting count;
	uint8_t shift, per_v4;
	unsigned parent; /* 0: none */
	uint64_t total;
} kinds[POLICIES] = {
	[SAMPLED] = {.burst = FEW_BYTES, .shift = 2},
	[LAX] = {.burst = MANY_BYTES, .shift = POLICE_UNSAMPLED},
	[TIGHT] = {.burst = FEW_BYTES, .shift = POLICE_UNSAMPLED},
	[TIGHT_L3] = {.burst = FEW_BYTES, .accounting = ACCOUNTING_L3, .shift = POLICE_UNSAMPLED},
	[TIGHT_WIRE] = {.burst = FEW_BYTES,
		.accounting = ACCOUNTING_WIRE,
		.shift = POLICE_UNSAMPLED},
	[MARKED] = {.burst = FEW_BYTES, .action = ACTION_MARK, .shift = POLICE_UNSAMPLED},
	[COUNTED] = {.burst = FEW_BYTES, .action = ACTION_COUNT, .shift = POLICE_UNSAMPLED},
	[SHARED] = {.burst = 6 * FEW_BYTES, .accounting = ACCOUNTING_L3, .shift = 2},
	[UNPRESSED] = {.burst = MANY_BYTES, .shift = POLICE_UNSAMPLED},
	[TOTAL] = {.burst = FEW_BYTES, .shift = POLICE_UNSAMPLED, .total = TOTAL_BYTES},
	[LINK] = {.burst = 4 * FEW_BYTES, .shift = POLICE_UNSAMPLED},
	[CUSTOMER] = {.burst = 2 * FEW_BYTES, .shift = POLICE_UNSAMPLED, .parent = LINK},
	[CLIENT] = {.burst = FEW_BYTES, .shift = 3, .parent = CUSTOMER},
	[MARKED_CLIENT] = {.burst = FEW_BYTES,
		.action = ACTION_MARK,
		.shift = POLICE_UNSAMPLED,
		.parent = CUSTOMER},
	/* With room for a whole burst, or for most bursts. */
	[WIDE_LINK] = {.burst = MANY_BYTES, .shift = POLICE_UNSAMPLED},
	[WIDE_CUSTOMER] = {.burst = 20 * FEW_BYTES, .shift = POLICE_UNSAMPLED, .parent = WIDE_LINK},
	[WIDE_CLIENT] = {.burst = 10 * FEW_BYTES,
		.accounting = ACCOUNTING_WIRE,
		.shift = 3,
		.parent = WIDE_CUSTOMER},
	[OTHER_CLIENT] = {.burst = FEW_BYTES, .shift = POLICE_UNSAMPLED, .parent = WIDE_LINK},
	/* Samples in the order of arrival only while no packet is of its subscribers. */
	[PLAN] = {.burst = 3 * FEW_BYTES, .shift = 2, .parent = WIDE_LINK},
	[SUBSCRIBERS] = {.burst = FEW_BYTES,
		.shift = POLICE_UNSAMPLED,
		.per_v4 = 32,
		.parent = PLAN},
	[MARKED_SUBSCRIBERS] = {.burst = FEW_BYTES,
		.action = ACTION_MARK,
		.shift = POLICE_UNSAMPLED,
		.per_v4 = 32,
		.parent = PLAN},
	/* With room for most bursts. */
	[WIDE_PLAN] = {.burst = 20 * FEW_BYTES, .shift = 2, .parent = WIDE_LINK},
	[WIDE_SUBSCRIBERS] = {.burst = FEW_BYTES,
		.accounting = ACCOUNTING_WIRE,
		.shift = 3,
		.per_v4 = 32,
		.parent = WIDE_PLAN},
	[LAX_SUBSCRIBERS] = {.burst = 1500,
		.action = ACTION_COUNT,
		.shift = POLICE_UNSAMPLED,
		.per_v4 = 25,
		.parent = WIDE_PLAN},
	[YEAR] = {.burst = FEW_BYTES, .shift = POLICE_UNSAMPLED, .total = 3 * TOTAL_BYTES},
	[MONTH] = {.burst = 1,
		.shift = POLICE_UNSAMPLED,
		.parent = WIDE_LINK,
		.total = TOTAL_BYTES},
	[MONTHS_CLIENT] = {.burst = FEW_BYTES, .shift = 3, .parent = MONTH},
	[COUNTED_MONTH] = {.burst = FEW_BYTES,
		.action = ACTION_COUNT,
		.shift = POLICE_UNSAMPLED,
		.parent = PLAN,
		.total = TOTAL_BYTES / 2},
	[PACKETS] = {.burst = 5, .count = COUNT_PACKETS, .shift = POLICE_UNSAMPLED},
	[TOTAL_PACKETS] = {.burst = 5,
		.count = COUNT_PACKETS,
		.shift = POLICE_UNSAMPLED,
		.total = 4000},
	[PER_SOURCE] = {.burst = FEW_BYTES, .shift = 3, .per_v4 = 32},
	[MARKED_SOURCE] = {.burst = FEW_BYTES, .action = ACTION_MARK, .shift = 3, .per_v4 = 32},
	[COUNTED_SOURCE] = {.burst = FEW_BYTES, .action = ACTION_COUNT, .shift = 3, .per_v4 = 32},
};

/* All policies of one worker. */
struct side {
	struct policy_state *states;
	void *memory[POLICIES];
	struct shared_bucket *shared_buckets;
	struct credit credits[POLICIES];
};

/* A worker under test (`here`), and the same policies charged packet by packet (`there`). */
struct bench {
	struct worker worker;
	struct path path;
	struct side here, there;
	struct flow_sample *samples[POLICIES];
	uint8_t ending[POLICIES];      /* part of each hard limit after its lease */
	uint8_t soft_ending[POLICIES]; /* part of each soft limit without peers */
	uint32_t parents[POLICIES];
	uint8_t *forbidden; /* a page that cannot be read */
};

/* A received burst and its expected outcome. */
struct sent {
	struct rx_burst burst;
	struct rte_mbuf mbufs[BURST], *received[BURST], *dropped[BURST];
	uint8_t bytes[BURST][FRAME_MAX], copy[BURST][FRAME_MAX];
	struct rte_mbuf *want_pass[BURST], *want_drop[BURST];
	struct flow_sample *want_sampled[BURST];
	uint64_t want_parsed, may_parse;
	struct token_bucket shared; /* bucket of SHARED before the burst */
	bool alike, unlooked;
	unsigned n, n_pass, n_drop, n_sampled, unmatched, unmarkable, unpaid;
};

/*
 * Returns true if flows share the policy. Packets are then parsed if the bucket is under pressure.
 */
static bool is_shared(unsigned kind)
{
	return kind == SHARED || kind == UNPRESSED;
}

static void side_start(struct side *side, unsigned kind, bool borrows)
{
	const struct policy policy = {.limit_bps = 8 * GHZ / 10,
		.burst_bytes = kinds[kind].burst,
		.meter = is_shared(kind) ? METER_PHANTOM : METER_TOKEN_BUCKET,
		.classes = {.by = CLASSES_BY_FLOW, .n = 16},
		.mark = MARK_ECN,
		.accounting = kinds[kind].accounting,
		.action = kinds[kind].action,
		.count = kinds[kind].count,
		.per_v4 = kinds[kind].per_v4,
		.sources = 64,
		.above = kinds[kind].parent > 0,
		.allocator = allocator_find(kinds[kind].total ? "quota" : "central")};
	struct limiter_view view = {.limit = (double)policy.limit_bps / 8,
		.local_limit = (double)policy.limit_bps / 8,
		.local_burst = (double)policy.burst_bytes};
	const struct policy_start start = {.hz = GHZ};
	const struct token_bucket_params params = {
		.rate_bps = policy.limit_bps, .burst_bytes = policy.burst_bytes};
	const size_t bytes = policy_extended_bytes(&policy);
	struct policy_state *state = &side->states[kind];
	struct shared_bucket_profile shared;
	struct limit_profile profile;

	side->memory[kind] = bytes ? aligned_alloc(CACHE_LINE, bytes) : NULL;
	assert_int_equal(
		limit_profile_init(&profile, &policy, kind, &view, &(struct sampling){0}, 1, GHZ),
		0);
	profile.sample_shift = kinds[kind].shift;
	if (kinds[kind].total)
		credit_profile_join(&profile.meter.credit, &side->credits[kind], 0, FEW_BYTES);
	policy_state_init(state, side->memory[kind], &policy, &profile, &start);
	if (!borrows || !police_is_simple(state))
		return;
	assert_int_equal(shared_bucket_profile_init(&shared, &params, 2, true, GHZ), 0);
	shared_bucket_init(&side->shared_buckets[kind], &shared, 0);
	state->limit = police_borrow_profile();
	police_borrow_init(state, &shared);
}

static void side_open(struct side *side, bool borrows)
{
	side->states = aligned_alloc(CACHE_LINE, POLICIES * sizeof(*side->states));
	side->shared_buckets = aligned_alloc(CACHE_LINE, POLICIES * sizeof(*side->shared_buckets));
	memset(side->states, 0, POLICIES * sizeof(*side->states));
	for (unsigned kind = 0; kind < POLICIES; kind++) {
		side->credits[kind] = (struct credit){0};
		credit_put(&side->credits[kind], kinds[kind].total);
		side_start(side, kind, borrows);
	}
}

static void side_close(struct side *side)
{
	for (unsigned kind = 0; kind < POLICIES; kind++)
		free(side->memory[kind]);
	free(side->states);
	free(side->shared_buckets);
}

static struct bench *bench_open(bool borrows)
{
	struct bench *bench = aligned_alloc(CACHE_LINE, sizeof(*bench));

	memset(bench, 0, sizeof(*bench));
	side_open(&bench->here, borrows);
	side_open(&bench->there, borrows);
	bench->worker.paths = &bench->path;
	bench->worker.policies = bench->here.states;
	bench->worker.shared_buckets = borrows ? bench->here.shared_buckets : NULL;
	bench->worker.samples = bench->samples;
	bench->worker.ending = bench->ending;
	bench->worker.soft_ending = bench->soft_ending;
	for (unsigned kind = 0; kind < POLICIES; kind++) {
		bench->samples[kind] = calloc(1, sizeof(struct flow_sample));
		bench->parents[kind] = kinds[kind].parent ? kinds[kind].parent : SLOT_NONE;
	}
	bench->forbidden = mmap(NULL, FRAME_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bench->forbidden, MAP_FAILED);
	return bench;
}

static void bench_close(struct bench *bench)
{
	side_close(&bench->here);
	side_close(&bench->there);
	for (unsigned kind = 0; kind < POLICIES; kind++)
		free(bench->samples[kind]);
	munmap(bench->forbidden, FRAME_MAX);
	free(bench);
}

END_POINTER(bench_close, struct bench *)

/* Returns true if a policy or an ancestor parses its packets. */
static bool reads_packets(const struct policy_state *state, unsigned kind)
{
	for (unsigned above = kinds[kind].parent; above; above = kinds[above].parent)
		if (kinds[above].shift != POLICE_UNSAMPLED)
			return true;
	return kinds[kind].shift != POLICE_UNSAMPLED ||
	       (!police_is_simple(state) && police_kind(state) != POLICE_TOTAL &&
		       kind != UNPRESSED);
}

/*
 * Makes a frame with or without a VLAN tag: UDP over IPv4, or without an IP source. One in two IPv4
 * frames is ECN-capable.
 */
static void make_frame(struct prng *prng, uint8_t *frame, uint16_t len, bool tagged, bool is_ip)
{
	static const uint8_t ip[] = {0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17};
	uint8_t *at = frame + (tagged ? 16 : 12);

	memset(frame, 0, FRAME_MAX);
	if (tagged)
		memcpy(frame + 12, (uint8_t[]){0x81, 0, 0, 5}, 4);
	memcpy(at, ip, sizeof(ip));
	at[3] = prng_below(prng, 2) ? 2 : 0; /* ECT(0) */
	at[5] = (uint8_t)(len - (tagged ? 18 : 14));
	at[4] = (uint8_t)((len - (tagged ? 18 : 14)) >> 8);
	at[17] = (uint8_t)prng_below(prng, 4);
	at[21] = (uint8_t)prng_below(prng, 256);
	if (!is_ip)
		at[1] = 0x06;
}

static void make_packet(
	struct bench *bench, struct sent *sent, struct prng *prng, unsigned i, uint32_t policy)
{
	struct packet packet;
	const bool tagged = prng_below(prng, 4) == 0, is_ip = prng_below(prng, 16) != 0;
	const uint16_t len = (uint16_t)(60 + prng_below(prng, 1455));
	struct rte_mbuf *m = &sent->mbufs[i];
	bool read;

	make_frame(prng, sent->bytes[i], len, tagged, is_ip);
	memcpy(sent->copy[i], sent->bytes[i], FRAME_MAX);
	memset(m, 0, sizeof(*m));
	m->buf_addr = sent->bytes[i];
	m->data_len = len;
	m->pkt_len = len;
	m->nb_segs = 1;
	rte_mbuf_refcnt_set(m, prng_below(prng, 4) ? 1 : 2);
	sent->received[i] = m;
	sent->burst.frames.policy[i] = policy;
	sent->burst.frames.len[i] = len;
	sent->burst.frames.l2_len[i] = tagged ? 18 : 14;
	packet_parse(sent->copy[i], len, &packet);
	sent->burst.frames.uncharged[i] = (uint16_t)(packet.l2_len + packet.padding);
	/* The classifier sets this bit for plain IPv4 frames whose headers it has read. */
	if (is_ip && !sent->unlooked)
		sent->burst.frames.plain |= UINT64_C(1) << i;
	read = policy != CLASSIFY_NONE && reads_packets(&bench->here.states[policy], policy);
	sent->burst.frames.data[i] = read ? sent->bytes[i] : bench->forbidden;
}

/* Marks only bytes that no other buffer shares, as decide() must. */
static bool mark_copy(struct sent *sent, unsigned i, const struct packet *packet, int how)
{
	return rte_mbuf_refcnt_read(&sent->mbufs[i]) == 1 &&
	       mark_frame(sent->copy[i], sent->mbufs[i].data_len, packet, how);
}

/*
 * Returns true if the decision needs the packet's flow: tokens were not plentiful, and not too few
 * for any flow.
 */
static bool asks_flow(
	const struct policy_state *state, unsigned kind, uint32_t cost, enum verdict verdict)
{
	const uint64_t tokens = state->bucket.tokens;

	if (!is_shared(kind) || tokens >= phantom_mark(&state->limit))
		return false;
	return verdict == VERDICT_PASS || tokens >= (uint64_t)cost << TOKEN_BYTE;
}

/* Borrows the cost of one packet from the shared bucket, under a limit that may have ended. */
static void borrow_one(struct bench *bench, uint32_t policy, uint32_t cost, uint64_t now)
{
	struct policy_state *state = &bench->there.states[policy];
	struct shared_bucket *shared = &bench->there.shared_buckets[policy];
	const struct worker_own *own = &bench->worker.own;
	struct police_end end = {.from = own->ended, .ending = bench->ending[policy]};

	if (own->silent)
		end = (struct police_end){
			own->silent, police_burst_least(state), bench->soft_ending[policy]};
	if (end.from && end.ending)
		police_borrow_ended(state, shared, cost, now, &end);
	else
		police_borrow(state, shared, cost, now);
}

/* The packet's source is needed. A plain packet need not be parsed for that. */
static void want_source(struct sent *sent, unsigned i)
{
	if (sent->burst.frames.plain >> i & 1)
		sent->may_parse |= UINT64_C(1) << i;
	else
		sent->want_parsed |= UINT64_C(1) << i;
}

/* Charges a packet whose policy has a parent. Returns its verdict. */
static enum verdict charge_levels(
	struct bench *bench, struct sent *sent, unsigned i, uint32_t cost, uint64_t now)
{
	uint32_t at = sent->burst.frames.policy[i], slots[POLICY_LEVELS_MOST];
	struct lineage lineage = {.n = 0};
	bool marked = true, passes;
	struct packet packet;

	for (; at != SLOT_NONE; at = bench->parents[at], lineage.n++) {
		slots[lineage.n] = at;
		lineage.levels[lineage.n] = &bench->there.states[at];
		if (bench->worker.shared_buckets && police_is_simple(lineage.levels[lineage.n]))
			borrow_one(bench, at, cost, now);
	}
	police_lineage_begin(&lineage, cost);
	packet_parse(sent->copy[i], sent->burst.frames.len[i], &packet);
	if (police_lineage_asks_source(&lineage)) {
		police_lineage_source(&lineage, &packet, sent->copy[i], now);
		want_source(sent, i);
	}
	if (police_lineage_ask(&lineage, now) == VERDICT_MARK) {
		unsigned k = police_lineage_marker(&lineage);

		sent->want_parsed |= UINT64_C(1) << i;
		marked = mark_copy(sent, i, &packet, police_mark(lineage.levels[k]));
		if (!marked)
			police_lineage_refuse(&lineage, k);
		sent->unmarkable += !marked;
	}
	at = lineage.over & LINEAGE_REFUSED ? police_lineage_refuser(&lineage) : lineage.n - 1;
	for (unsigned k = 1; k <= at; k++) {
		if (police_samples(lineage.levels[k]))
			sent->want_sampled[sent->n_sampled++] = bench->samples[slots[k]];
		/*
		 * The packet of a plan that is sampled depends on the order in which packets are
		 * charged.
		 */
		if (police_shift(lineage.levels[k]) != POLICE_UNSAMPLED)
			sent->may_parse |= UINT64_C(1) << i;
	}
	passes = police_lineage_settle(&lineage, now);
	sent->unpaid += !passes && marked && kinds[slots[at]].total;
	return passes ? VERDICT_PASS : VERDICT_DROP;
}

/* Charges a packet that has a policy. Returns true if it passes. */
static bool charge_one(struct bench *bench, struct sent *sent, unsigned i, uint64_t now)
{
	const uint32_t policy = sent->burst.frames.policy[i], len = sent->burst.frames.len[i];
	struct policy_state *state = &bench->there.states[policy];
	const uint8_t *data = sent->copy[i];
	struct packet packet;
	enum verdict verdict;
	uint32_t cost;
	bool marked;

	packet_parse(data, len, &packet);
	cost = police_cost(state, &packet, data, len, now);
	if (police_samples(state))
		sent->want_sampled[sent->n_sampled++] = bench->samples[policy];
	if (police_is_below(state)) {
		/*
		 * The sampled packet of a plan depends on the order in which its subscribers'
		 * packets are charged. That order depends on packets without a source.
		 */
		if (policy == PLAN || policy == WIDE_PLAN || police_kind(state) == POLICE_SOURCED)
			sent->may_parse |= UINT64_C(1) << i;
		else
			sent->want_parsed |= (uint64_t)police_samples(state) << i;
		return charge_levels(bench, sent, i, cost, now) == VERDICT_PASS;
	}
	/* The sampled packet depends on the order in which packets without a source are charged. */
	if (police_samples(state) && police_kind(state) != POLICE_SOURCED)
		sent->want_parsed |= UINT64_C(1) << i;
	if (police_kind(state) == POLICE_SOURCED)
		want_source(sent, i);
	else if (!police_is_simple(state) && police_kind(state) != POLICE_TOTAL &&
		 !is_shared(policy))
		sent->want_parsed |= UINT64_C(1) << i;
	if (bench->worker.shared_buckets && police_is_simple(state))
		borrow_one(bench, policy, cost, now);
	verdict = police_charge(state, &packet, data, cost, now);
	if (asks_flow(state, policy, cost, verdict))
		sent->want_parsed |= UINT64_C(1) << i;
	if (policy == SHARED && (sent->alike || phantom_asks(&sent->shared, &state->limit, cost)))
		sent->may_parse |= UINT64_C(1) << i;
	sent->unpaid += kinds[policy].total && verdict == VERDICT_DROP;
	if (verdict != VERDICT_MARK)
		return verdict != VERDICT_DROP;
	marked = mark_copy(sent, i, &packet, police_mark(state));
	police_marked(state, &packet, data, cost, now, marked);
	sent->unmarkable += !marked;
	return marked;
}

/* Decides either the packets whose policy has a parent (`below`), or the others. */
static void charge_some(
	struct bench *bench, struct sent *sent, bool below, bool *passes, uint64_t now)
{
	for (unsigned i = 0; i < sent->n; i++) {
		const uint32_t policy = sent->burst.frames.policy[i];
		const bool none = policy == CLASSIFY_NONE;

		if ((!none && police_is_below(&bench->there.states[policy])) != below)
			continue;
		sent->unmatched += none;
		passes[i] = none || charge_one(bench, sent, i, now);
	}
}

static void charge_each_alone(struct bench *bench, struct sent *sent, uint64_t now)
{
	const struct policy_state *shared = &bench->there.states[SHARED];
	bool passes[BURST];

	sent->n_pass = sent->n_drop = sent->n_sampled = 0;
	sent->unmatched = sent->unmarkable = sent->unpaid = 0;
	sent->want_parsed = sent->may_parse = 0;
	sent->shared = shared->bucket;
	token_bucket_refill(&sent->shared, &shared->limit, now);
	sent->alike = true;
	for (unsigned i = 0; i < sent->n; i++)
		sent->alike &= sent->burst.frames.policy[i] == SHARED;
	/*
	 * Packets of policies with a parent come last, as in decide(). Both groups charge the link.
	 */
	charge_some(bench, sent, false, passes, now);
	charge_some(bench, sent, true, passes, now);
	for (unsigned i = 0; i < sent->n; i++)
		if (passes[i])
			sent->want_pass[sent->n_pass++] = &sent->mbufs[i];
		else
			sent->want_drop[sent->n_drop++] = &sent->mbufs[i];
}

/* A bucket that no packet was charged to has not been refilled, so this refills both first. */
static void check_line(
	const struct policy_state *here, const struct policy_state *there, uint64_t now)
{
	struct policy_state a = *here, b = *there;

	token_bucket_refill(&a.bucket, &a.limit, now);
	token_bucket_refill(&b.bucket, &b.limit, now);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void check_states(const struct bench *bench, uint64_t now)
{
	for (unsigned kind = 0; kind < POLICIES; kind++) {
		const struct policy_state *here = &bench->here.states[kind];
		const struct policy_state *there = &bench->there.states[kind];

		assert_int_equal(here->packets, there->packets);
		assert_int_equal(here->bytes, there->bytes);
		assert_int_equal(here->dropped_packets, there->dropped_packets);
		assert_int_equal(police_dropped_bytes(here), police_dropped_bytes(there));
		assert_int_equal(police_over_packets(here), police_over_packets(there));
		if (police_is_simple(here))
			check_line(here, there, now);
		assert_int_equal(credit_left(&bench->here.credits[kind]),
			credit_left(&bench->there.credits[kind]));
	}
}

/* Each policy is sampled equally often, in any order. */
static void check_sampled(const struct rx_burst *burst, const struct sent *sent)
{
	assert_int_equal(burst->n_sampled, sent->n_sampled);
	for (unsigned i = 0; i < sent->n_sampled; i++) {
		unsigned here = 0, there = 0;

		for (unsigned k = 0; k < sent->n_sampled; k++) {
			here += burst->sampled[k].sample == sent->want_sampled[i];
			there += sent->want_sampled[k] == sent->want_sampled[i];
		}
		assert_int_equal(here, there);
	}
}

static void check_burst(struct bench *bench, struct sent *sent, uint64_t now)
{
	const struct worker_counters was = bench->worker.counters, *is = &bench->worker.counters;
	struct rx_burst *burst = &sent->burst;
	unsigned n;

	charge_each_alone(bench, sent, now);
	burst->mbufs = sent->received;
	burst->len = burst->frames.len;
	burst->rx_hash = false;
	burst->frames.parsed = 0;
	/* Leftovers of an earlier burst. */
	burst->n_held = burst->refused = burst->n_refused = 7;
	burst->unpaid = burst->unmarkable = 7;
	burst->n_sampled = BURST;
	n = decide(&bench->worker, burst, (uint16_t)sent->n, now, sent->dropped);
	assert_int_equal(n, sent->n_pass);
	assert_memory_equal(burst->mbufs, sent->want_pass, n * sizeof(burst->mbufs[0]));
	assert_memory_equal(
		sent->dropped, sent->want_drop, (sent->n - n) * sizeof(burst->mbufs[0]));
	assert_memory_equal(sent->bytes, sent->copy, sent->n * sizeof(sent->bytes[0]));
	/* A packet is parsed without need if others of the burst take the tokens that it finds. */
	assert_int_equal(
		burst->frames.parsed & ~(sent->may_parse & ~sent->want_parsed), sent->want_parsed);
	check_sampled(burst, sent);
	assert_int_equal(is->unmatched_packets - was.unmatched_packets, sent->unmatched);
	assert_int_equal(
		is->dropped[DROP_UNMARKABLE] - was.dropped[DROP_UNMARKABLE], sent->unmarkable);
	assert_int_equal(is->dropped[DROP_QUOTA] - was.dropped[DROP_QUOTA], sent->unpaid);
	assert_int_equal(is->dropped[DROP_LIMIT] - was.dropped[DROP_LIMIT],
		sent->n_drop - sent->unmarkable - sent->unpaid);
	check_states(bench, now);
}

/* Policies of a row's bursts, and how many packets in 8 match none. */
struct row {
	const char *name;
	unsigned first, last, none;
	bool alike; /* all packets of a burst have one policy */
	bool borrows;
	enum { GO_ON, LEASE_ENDS, MEMBERSHIP_ENDS } ends; /* event half-way */
};

static void end_limits(struct bench *bench, bool soft, uint64_t now)
{
	uint8_t *ending = soft ? bench->soft_ending : bench->ending;

	/* The parts differ; LAX does not end. */
	for (unsigned kind = TIGHT; kind < POLICIES; kind++)
		ending[kind] = (uint8_t)(60 * (kind - TIGHT + 1));
	*(soft ? &bench->worker.own.silent : &bench->worker.own.ended) = now;
}

static void check_row(const struct row *row, bool eights, struct prng *prng)
{
	ENDED_BY(bench_close_at) struct bench *bench = bench_open(row->borrows);
	struct worker_own *own = &bench->worker.own;
	ENDED_BY(free_at) struct sent *sent = calloc(1, sizeof(*sent));
	uint64_t now = 0;

	print_message("%s%s\n", row->name, eights ? ", by eights" : "");
	own->eights = eights;
	for (unsigned kind = row->first; kind <= row->last; kind++)
		own->view.kinds |= 1U << police_kind(&bench->here.states[kind]);
	own->view.parents = row->last > LINK ? bench->parents : NULL;
	for (unsigned burst = 0; burst < BURSTS; burst++) {
		uint32_t policy = 0;

		/* Buckets range from empty to full. */
		now += prng_below(prng, 20000);
		if (row->ends && burst == BURSTS / 2)
			end_limits(bench, row->ends == MEMBERSHIP_ENDS, now);
		sent->burst.frames.plain = 0;
		sent->unlooked = prng_below(prng, 4) == 0;
		sent->n = 1 + row->borrows + prng_below(prng, BURST - row->borrows);
		for (unsigned i = 0; i < sent->n; i++) {
			if (i == 0 || !row->alike)
				policy = row->first + prng_below(prng, row->last - row->first + 1);
			if ((i == 0 || !row->alike) && prng_below(prng, 8) < row->none)
				policy = CLASSIFY_NONE;
			/* A burst of one policy borrows the cost of all its packets together. */
			if (row->borrows && i < 2)
				policy = LAX + i;
			make_packet(bench, sent, prng, i, policy);
		}
		check_burst(bench, sent, now);
	}
}

static uint64_t seed_of_run(void)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 0xdec1de;

	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	return seed;
}

TEST(test_one_by_one)
{
	static const struct row rows[] = {
		{"nothing dropped", LAX, LAX, 0, false, false, GO_ON},
		{"one policy", TIGHT, TIGHT, 0, true, false, GO_ON},
		{"one policy, L3", TIGHT_L3, TIGHT_L3, 0, true, false, GO_ON},
		{"one policy, wire", TIGHT_WIRE, TIGHT_WIRE, 0, true, false, GO_ON},
		{"one policy, sampled", SAMPLED, SAMPLED, 0, true, false, GO_ON},
		{"none", LAX, LAX, 8, true, false, GO_ON},
		{"one policy or none, by turns", TIGHT, TIGHT_WIRE, 4, true, false, GO_ON},
		{"one policy and none", TIGHT, TIGHT, 4, false, false, GO_ON},
		{"plain ones", LAX, TIGHT_WIRE, 0, false, false, GO_ON},
		{"plain ones, sampled too", SAMPLED, TIGHT_WIRE, 1, false, false, GO_ON},
		{"plain ones of several workers", LAX, TIGHT_WIRE, 1, false, true, GO_ON},
		{"plain ones of several workers, whose limits end", LAX, TIGHT_WIRE, 1, false, true,
			LEASE_ENDS},
		{"plain ones of several workers, as nobody hears of them", LAX, TIGHT_WIRE, 1,
			false, true, MEMBERSHIP_ENDS},
		{"marked", MARKED, MARKED, 0, true, false, GO_ON},
		{"marked and none", MARKED, MARKED, 2, false, false, GO_ON},
		{"one that flows share", SHARED, SHARED, 0, true, false, GO_ON},
		{"one that flows share, and none", SHARED, SHARED, 2, false, false, GO_ON},
		{"one that they do not press", UNPRESSED, UNPRESSED, 0, true, false, GO_ON},
		{"one that they do not press, and none", UNPRESSED, UNPRESSED, 2, false, false,
			GO_ON},
		{"a total", TOTAL, TOTAL, 0, true, false, GO_ON},
		{"a total of packets", TOTAL_PACKETS, TOTAL_PACKETS, 0, true, false, GO_ON},
		{"a total and none", TOTAL, TOTAL, 2, false, false, GO_ON},
		{"each source by itself", PER_SOURCE, PER_SOURCE, 0, true, false, GO_ON},
		{"each source, and no policy", PER_SOURCE, COUNTED_SOURCE, 3, false, false, GO_ON},
		{"each source, marked", MARKED_SOURCE, MARKED_SOURCE, 0, true, false, GO_ON},
		{"each source, counted", COUNTED_SOURCE, COUNTED_SOURCE, 0, true, false, GO_ON},
		{"none is plain", MARKED, PER_SOURCE, 1, false, false, GO_ON},
		{"a client of a customer of a link", CLIENT, CLIENT, 0, true, false, GO_ON},
		{"levels", LINK, MARKED_CLIENT, 1, false, false, GO_ON},
		{"levels with room", WIDE_LINK, OTHER_CLIENT, 1, false, false, GO_ON},
		{"one of them", WIDE_CLIENT, WIDE_CLIENT, 0, true, false, GO_ON},
		{"levels with room, of several workers", WIDE_LINK, OTHER_CLIENT, 1, false, true,
			GO_ON},
		{"levels with room, of several workers, whose limits end", WIDE_LINK, OTHER_CLIENT,
			1, false, true, LEASE_ENDS},
		{"levels with room, as nobody hears of them", WIDE_LINK, OTHER_CLIENT, 1, false,
			true, MEMBERSHIP_ENDS},
		{"levels and those with room", LINK, OTHER_CLIENT, 1, false, false, GO_ON},
		{"levels, of several workers", LINK, MARKED_CLIENT, 1, false, true, GO_ON},
		{"subscribers of a plan", SUBSCRIBERS, SUBSCRIBERS, 0, true, false, GO_ON},
		{"a plan and its subscribers", PLAN, MARKED_SUBSCRIBERS, 1, false, false, GO_ON},
		{"a plan and its subscribers, of several workers", PLAN, MARKED_SUBSCRIBERS, 1,
			false, true, GO_ON},
		{"subscribers of a plan with room", WIDE_SUBSCRIBERS, WIDE_SUBSCRIBERS, 0, true,
			false, GO_ON},
		{"a plan with room and its subscribers", WIDE_PLAN, LAX_SUBSCRIBERS, 1, false,
			false, GO_ON},
		{"a plan with room, of several workers", WIDE_PLAN, LAX_SUBSCRIBERS, 1, false, true,
			GO_ON},
		{"a plan with room, of several workers, whose limits end", WIDE_PLAN,
			LAX_SUBSCRIBERS, 1, false, true, LEASE_ENDS},
		{"totals at levels", YEAR, COUNTED_MONTH, 1, false, false, GO_ON},
		{"a total and what is below it", MONTH, MONTHS_CLIENT, 0, false, false, GO_ON},
		{"a total of a plan", COUNTED_MONTH, COUNTED_MONTH, 0, true, false, GO_ON},
		{"totals at levels, of several workers", YEAR, COUNTED_MONTH, 1, false, true,
			GO_ON},
		{"all there are", 0, POLICIES - 1, 1, false, false, GO_ON},
		{"all there are, of several workers", 0, POLICIES - 1, 1, false, true, GO_ON},
		{"all there are, of several workers, whose limits end", 0, POLICIES - 1, 1, false,
			true, LEASE_ENDS},
		{"all there are, as nobody hears of them", 0, POLICIES - 1, 1, false, true,
			MEMBERSHIP_ENDS},
	};
	struct prng prng;

	prng_seed(&prng, seed_of_run());
	for (unsigned i = 0; i < COUNT(rows); i++) {
		check_row(&rows[i], false, &prng);
		if (police_has_eights())
			check_row(&rows[i], true, &prng);
	}
}

/* No packet is parsed if the bucket has too few tokens for any of the burst. */
TEST(test_refused)
{
	const uint64_t tokens = UINT64_C(59) << TOKEN_BYTE; /* the smallest packet has 60 bytes */
	ENDED_BY(bench_close_at) struct bench *bench = bench_open(false);
	ENDED_BY(free_at) struct sent *sent = calloc(1, sizeof(*sent));
	struct prng prng;

	prng_seed(&prng, seed_of_run());
	sent->n = BURST;
	for (unsigned i = 0; i < sent->n; i++)
		make_packet(bench, sent, &prng, i, UNPRESSED);
	bench->here.states[UNPRESSED].bucket.tokens = tokens;
	bench->there.states[UNPRESSED].bucket.tokens = tokens;
	check_burst(bench, sent, 0);
	assert_int_equal(sent->n_drop, BURST);
	assert_int_equal(sent->burst.frames.parsed, 0);
}

/*
 * Decides a burst of which packets were rejected, with policies of these kinds, with or without
 * levels.
 */
static void expect_refused(unsigned there, bool levels)
{
	ENDED_BY(bench_close_at) struct bench *bench = bench_open(false);
	struct worker *w = &bench->worker;
	ENDED_BY(free_at) struct sent *sent = calloc(1, sizeof(*sent));
	struct worker_counters was = w->counters;
	struct prng prng;
	uint16_t n_pass;

	w->own.view.kinds = there;
	w->own.view.parents = levels ? bench->parents : NULL;
	prng_seed(&prng, seed_of_run());
	sent->n = 8;
	for (unsigned i = 0; i < sent->n; i++) {
		make_packet(bench, sent, &prng, i, LAX);
		if (i < 6)
			sent->burst.frames.policy[i] = CLASSIFY_NONE;
	}
	sent->burst.frames.refused = 0x17;
	sent->burst.frames.unparsed = 0x0a;
	sent->burst.mbufs = sent->received;
	sent->burst.len = sent->burst.frames.len;
	n_pass = decide(w, &sent->burst, sent->n, GHZ, sent->dropped);
	assert_int_equal(n_pass, 4);
	assert_int_equal(w->counters.dropped[DROP_UNPARSED] - was.dropped[DROP_UNPARSED], 1);
	assert_int_equal(w->counters.dropped[DROP_UNMATCHED] - was.dropped[DROP_UNMATCHED], 3);
	assert_int_equal(w->counters.dropped[DROP_LIMIT], was.dropped[DROP_LIMIT]);
	assert_int_equal(w->counters.unmatched_packets - was.unmatched_packets, 2);
}

/* Packets rejected before a policy is charged count under their reason, not as unmatched. */
TEST(test_of_nobody)
{
	static const unsigned there[] = {
		1U << POLICE_SIMPLE, 1U << POLICE_SIMPLE | 1U << POLICE_OTHER};

	for (unsigned i = 0; i < 4; i++)
		expect_refused(there[i / 2], i % 2);
}

/* Makes the policy sample all packets, or only those of TCP. */
static void sample_all(struct bench *bench, bool tcp_only)
{
	const struct policy policy = {.limit_bps = GHZ,
		.burst_bytes = 10000,
		.weigh_tcp_only = tcp_only,
		.allocator = allocator_find("central")};
	struct limiter_view view = {
		.limit = GHZ / 8.0, .local_limit = GHZ / 8.0, .local_burst = 10000};
	struct limit_profile profile;

	assert_int_equal(limit_profile_init(
				 &profile, &policy, SAMPLED, &view, &(struct sampling){0}, 1, GHZ),
		0);
	profile.sample_shift = 2;
	policy_state_init(&bench->here.states[SAMPLED], NULL, &policy, &profile,
		&(struct policy_start){.hz = GHZ});
}

/* A sample has the device's flow hash if the device gave one and the packet need not be parsed. */
TEST(test_sampled_flow)
{
	static const struct {
		bool tells, told, tcp_only;
		uint8_t proto;
		bool sampled, device;
	} rows[] = {
		{true, true, false, 17, true, true},
		{true, false, false, 17, true, false},
		{false, true, false, 17, true, false},
		{true, true, true, 17, false, false},
		{true, true, true, 6, true, true},
		{false, false, true, 6, true, false},
		{false, false, true, 17, false, false},
		{false, false, false, 17, true, false},
	};
	const uint32_t rss = 0x12345678, mixed = rss * POLICE_WEYL, of_device = mixed ^ mixed >> 16;
	ENDED_BY(free_at) struct sent *sent = aligned_alloc(CACHE_LINE, sizeof(*sent));
	ENDED_BY(bench_close_at) struct bench *bench = bench_open(false);
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct rx_burst *burst = &sent->burst;

		memset(sent, 0, sizeof(*sent));
		burst->mbufs = sent->received;
		burst->rx_hash = rows[i].tells;
		make_packet(bench, sent, &prng, 0, SAMPLED);
		make_frame(&prng, sent->bytes[0], 100, false, true);
		burst->frames.data[0] = sent->bytes[0];
		burst->frames.l2_len[0] = burst->frames.uncharged[0] = 14;
		sent->bytes[0][23] = rows[i].proto;
		sent->mbufs[0].hash.rss = rss;
		sent->mbufs[0].ol_flags = rows[i].told ? RTE_MBUF_F_RX_RSS_HASH : 0;
		sample_all(bench, rows[i].tcp_only);
		policer_sample(&bench->worker, burst, 0, 100);
		assert_int_equal(burst->n_sampled, rows[i].sampled);
		if (!rows[i].sampled)
			continue;
		assert_ptr_equal(burst->sampled[0].sample, bench->samples[SAMPLED]);
		assert_int_equal(burst->sampled[0].bytes, 100 << 2);
		assert_int_equal(burst->sampled[0].hash == of_device, rows[i].device);
	}
}

/*
 * Three packets. Each bucket has the burst's largest possible cost, and `short_of` one token less.
 */
static void make_free_burst(
	struct bench *bench, struct sent *sent, const unsigned *policies, unsigned short_of)
{
	struct worker_own *own = &bench->worker.own;
	struct rx_burst *burst = &sent->burst;
	struct prng prng;
	uint64_t bytes = 0;

	prng_seed(&prng, seed_of_run());
	memset(sent, 0, sizeof(*sent));
	burst->mbufs = sent->received;
	burst->len = burst->frames.len;
	burst->n = 3;
	own->view.kinds = 0;
	own->view.parents = bench->parents;
	for (unsigned i = 0; i < burst->n; i++) {
		make_packet(bench, sent, &prng, i, policies[i]);
		make_frame(&prng, sent->bytes[i], 500, false, true);
		burst->frames.len[i] = 500;
		burst->frames.l2_len[i] = burst->frames.uncharged[i] = 14;
		bytes += 500 + POLICE_WIRE;
		burst->unmatched |= policies[i] == CLASSIFY_NONE;
		if (policies[i] != CLASSIFY_NONE)
			own->view.kinds |= 1U << police_kind(&bench->here.states[policies[i]]);
	}
	for (unsigned kind = 0; kind < POLICIES; kind++)
		if (police_is_simple(&bench->here.states[kind]))
			bench->here.states[kind].bucket.tokens = (bytes << TOKEN_BYTE) -
								 (kind == short_of);
}

/*
 * Packets that decide() charges first: all levels have enough tokens, and no other packet needs
 * them.
 */
TEST(test_what_is_free)
{
	static const struct {
		unsigned policies[3], short_of;
		uint64_t free; /* set of packets */
	} rows[] = {
		{{WIDE_CLIENT, WIDE_CUSTOMER, WIDE_LINK}, POLICIES, 7},
		{{WIDE_CLIENT, WIDE_CLIENT, OTHER_CLIENT}, POLICIES, 7},
		{{CLASSIFY_NONE, WIDE_CLIENT, CLASSIFY_NONE}, POLICIES, 7},
		{{CLASSIFY_NONE, WIDE_CLIENT, CLASSIFY_NONE}, WIDE_LINK, 5},
		{{WIDE_CLIENT, WIDE_CUSTOMER, OTHER_CLIENT}, WIDE_CUSTOMER, 4},
		{{WIDE_LINK, WIDE_CLIENT, OTHER_CLIENT}, WIDE_CUSTOMER, 5},
		{{WIDE_CLIENT, WIDE_LINK, OTHER_CLIENT}, WIDE_LINK, 2},
		{{MARKED_CLIENT, CLIENT, LINK}, POLICIES, 6},
		{{MARKED_CLIENT, CUSTOMER, LINK}, POLICIES, 4},
		{{SUBSCRIBERS, PLAN, OTHER_CLIENT}, POLICIES, 4},
		{{SUBSCRIBERS, WIDE_PLAN, WIDE_CLIENT}, POLICIES, 6},
		{{MONTHS_CLIENT, OTHER_CLIENT, MONTH}, POLICIES, 2},
	};
	ENDED_BY(free_at) struct sent *sent = aligned_alloc(CACHE_LINE, sizeof(*sent));

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bench *bench = bench_open(false);
		uint64_t drops = 0, all = burst_mask(3);

		make_free_burst(bench, sent, rows[i].policies, rows[i].short_of);
		if (policer_free(&bench->worker, &sent->burst, all, 0, &drops) != rows[i].free)
			fail_msg("row %zu", i);
		assert_int_equal(drops, 0);
		bench_close(bench);
	}
}

/* Also with meters per source: not packets of policies that mark or only count. */
TEST(test_free_sources)
{
	static const struct {
		unsigned policies[3], short_of;
		uint64_t free;
	} rows[] = {
		{{SUBSCRIBERS, SUBSCRIBERS, WIDE_SUBSCRIBERS}, POLICIES, 7},
		{{SUBSCRIBERS, MARKED_SUBSCRIBERS, WIDE_SUBSCRIBERS}, POLICIES, 5},
		{{SUBSCRIBERS, LAX_SUBSCRIBERS, WIDE_SUBSCRIBERS}, PLAN, 4},
		{{SUBSCRIBERS, SUBSCRIBERS, WIDE_SUBSCRIBERS}, WIDE_LINK, 0},
	};
	ENDED_BY(free_at) struct sent *sent = aligned_alloc(CACHE_LINE, sizeof(*sent));

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bench *bench = bench_open(false);
		struct rx_burst *burst = &sent->burst;
		uint64_t drops = 0, all = burst_mask(3);

		make_free_burst(bench, sent, rows[i].policies, rows[i].short_of);
		sourced_begin(&burst->sourced);
		for (unsigned k = 0; k < 3; k++)
			policer_add_source(burst, k, burst_policy(&bench->worker, burst, k));
		if (policer_free_sources(&bench->worker, burst, all, 0, &drops) != rows[i].free)
			fail_msg("row %zu", i);
		assert_int_equal(drops, 0);
		bench_close(bench);
	}
}

/* A burst of one policy is charged as a whole, or not at all. */
TEST(test_free_alike)
{
	static const struct {
		unsigned policy, short_of;
		bool free;
	} rows[] = {
		{WIDE_CLIENT, POLICIES, true},
		{WIDE_CLIENT, WIDE_CUSTOMER, false},
		{WIDE_CLIENT, WIDE_LINK, false},
		{WIDE_LINK, POLICIES, true},
		{SUBSCRIBERS, POLICIES, true},
		{SUBSCRIBERS, PLAN, false},
		{MARKED_SUBSCRIBERS, POLICIES, false},
		{LAX_SUBSCRIBERS, POLICIES, false},
		{MARKED_CLIENT, POLICIES, false},
		{MONTHS_CLIENT, POLICIES, false},
	};
	ENDED_BY(free_at) struct sent *sent = aligned_alloc(CACHE_LINE, sizeof(*sent));

	for (size_t i = 0; i < COUNT(rows); i++) {
		const unsigned policies[3] = {rows[i].policy, rows[i].policy, rows[i].policy};
		struct bench *bench = bench_open(false);
		uint64_t drops = 0;

		make_free_burst(bench, sent, policies, rows[i].short_of);
		if (policer_free_alike(&bench->worker, &sent->burst, 3, 0, &drops) != rows[i].free)
			fail_msg("row %zu", i);
		assert_int_equal(bench->here.states[rows[i].policy].packets, rows[i].free ? 3 : 0);
		bench_close(bench);
	}
}
