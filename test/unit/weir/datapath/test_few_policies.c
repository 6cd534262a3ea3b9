/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random bursts of one policy to many through decide(), against police_over() of each packet in
 * turn. The same packets pass, each byte of each line and shared bucket is the same, and the same
 * packets are sampled in the same order. WEIR_ALL_SEEDS sends ten million packets.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "policer.h"
#include "police/borrow.h"
#include "police/charge.h"
#include "police/eights.h"
#include "police/lineage.h"
#include "police/sample.h"
#include "police/try.h"
#include "slot_map.h"
#include "decide.h"
#include "worker_data.h"

#define FRAMES       256
#define FRAME_MAX    1600
#define BURSTS       256 /* until all lines start with other values */
#define ALL_PACKETS  10000000
#define SOME_PACKETS 400000

/* Clients, whose packets come; customers above them; a link above those. */
enum { CLIENTS = 256, CUSTOMERS = 16, LINK = CLIENTS + CUSTOMERS, POLICIES, LINES = 2 * POLICIES };

/* The lines of a worker, and the buckets that it shares with another one. */
struct side {
	struct policy_state states[LINES];
	struct shared_bucket shared[LINES];
};

struct frame {
	uint8_t bytes[FRAME_MAX];
	struct packet packet;
	uint32_t len;
};

/* Features of a row's policies. */
struct row {
	const char *name;
	bool levels, loans, samples, trials;
};

struct world {
	struct worker worker;
	struct path path;
	struct side here, there;
	struct frame frames[FRAMES];
	struct flow_sample samples[LINES];
	uint32_t parents[POLICIES];
	struct rx_burst burst;
	struct rte_mbuf mbufs[BURST], *received[BURST], *dropped[BURST];
	/* The outcome that the reference expects. */
	struct rte_mbuf *pass[BURST], *drop[BURST];
	struct sampled sampled[BURST];
	struct sample_bound bound;
	unsigned n_pass, n_drop, n_sampled, unmatched;
	uint64_t now, packets, few, drops;
};

static uint64_t up_to(struct prng *prng, unsigned bits)
{
	return prng_next(prng) >> (64 - bits) >> prng_below(prng, bits);
}

/* TCP or UDP over IPv4 or IPv6, with a tag or without, sometimes padded. */
static void make_frame(struct frame *frame, struct prng *prng)
{
	const unsigned l2 = prng_below(prng, 4) ? 14 : 18, proto = prng_below(prng, 2) ? 6 : 17;
	const bool v6 = prng_below(prng, 2);
	uint8_t *ip = frame->bytes + l2;
	unsigned whole;

	frame->len = 82 + prng_below(prng, prng_below(prng, 2) ? 20 : 1430);
	whole = frame->len - l2 - (prng_below(prng, 4) ? 0 : prng_below(prng, 4));
	for (unsigned i = 0; i < FRAME_MAX; i++)
		frame->bytes[i] = (uint8_t)prng_next(prng);
	if (l2 == 18)
		memcpy(frame->bytes + 12, (uint8_t[]){0x81, 0, 0, 5}, 4);
	memcpy(ip - 2, v6 ? (uint8_t[]){0x86, 0xdd} : (uint8_t[]){0x08, 0x00}, 2);
	if (v6) {
		whole -= 40;
		memcpy(ip,
			(uint8_t[]){0x60, 0, 0, 0, (uint8_t)(whole >> 8), (uint8_t)whole,
				(uint8_t)proto, 64},
			8);
	} else {
		memcpy(ip,
			(uint8_t[]){0x45, 0, (uint8_t)(whole >> 8), (uint8_t)whole, 0, 0, 0x40, 0,
				64, (uint8_t)proto},
			10);
	}
	packet_parse(frame->bytes, frame->len, &frame->packet);
}

/* A line of a policy: tight or loose, of any accounting, often with counters about to overflow. */
static struct policy_state random_line(struct prng *prng, const struct row *row, uint64_t now)
{
	static const unsigned shifts[] = {0, 1, 3, 6, POLICE_SHIFT_MAX, POLICE_UNSAMPLED};
	unsigned shift = row->samples ? shifts[prng_below(prng, COUNT(shifts))] : POLICE_UNSAMPLED;
	unsigned flags = POLICE_SIMPLE | (prng_below(prng, 4) ? 0 : POLICE_TCP_ONLY) |
			 (row->levels ? POLICE_BELOW : 0);
	bool ends = prng_below(prng, 8) == 0, tight = prng_below(prng, 2);
	uint64_t bytes = tight ? prng_below(prng, 20000) : up_to(prng, 30);
	struct policy_state line = {
		.limit = {.rate = (int64_t)up_to(prng, tight ? 54 : 62),
			.burst = bytes << TOKEN_BYTE},
		.bucket.fraction = prng_next(prng) << TOKEN_OWNER |
				   police_owner(
					   flags, shift, prng_below(prng, ACCOUNTING_WIRE + 1)),
		.bucket.last = now - up_to(prng, 20),
		.bytes = prng_next(prng),
		.dropped_bytes = prng_next(prng),
		.packets = ends ? UINT32_MAX - prng_below(prng, 40) : (uint32_t)prng_next(prng),
		.dropped_packets = (uint32_t)prng_next(prng),
	};

	line.bucket.tokens = prng_below(prng, 3) ? up_to(prng, 40) : line.limit.burst;
	return line;
}

/* Makes a line one that borrows. */
static void share_line(struct world *w, struct prng *prng, unsigned slot)
{
	const struct token_bucket_params params = {
		.rate_bps = 1000 + up_to(prng, 37), .burst_bytes = 1 + up_to(prng, 24)};
	struct policy_state *line = &w->here.states[slot];
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, 2,
				 prng_below(prng, 2) ? params.burst_bytes : 0, GHZ),
		0);
	shared_bucket_init(&w->here.shared[slot], &profile, w->now);
	line->limit = police_borrow_profile();
	token_bucket_set_level(&line->bucket, 0);
	police_borrow_init(line, &profile);
}

static void restart(struct world *w, struct prng *prng, const struct row *row)
{
	struct worker_own *own = &w->worker.own;

	for (unsigned slot = 0; slot < LINES; slot++) {
		struct policy_state *line = &w->here.states[slot];

		*line = random_line(prng, row, w->now);
		if (row->loans)
			share_line(w, prng, slot);
		if (row->trials && slot < CLIENTS && prng_below(prng, 64) == 0)
			police_set_trial(line, 1);
		/* Most levels above let all bursts pass; then packets are charged in order. */
		if (slot >= CLIENTS && slot < POLICIES) {
			token_bucket_set_owner(&line->bucket,
				police_owner(POLICE_SIMPLE | (slot < LINK ? POLICE_BELOW : 0),
					POLICE_UNSAMPLED, ACCOUNTING_L2));
			if (!row->loans && (row->samples || prng_below(prng, 4)))
				line->limit.burst = line->bucket.tokens = UINT64_C(1) << 58;
		}
	}
	memcpy(&w->there, &w->here, sizeof(w->there));
	sample_bound_init(&own->bound, 1 + (uint32_t)up_to(prng, 30), GHZ);
	w->bound = own->bound;
}

/* Advances the clock: by the time of a few bursts, by seconds, or back. */
static void advance(struct world *w, struct prng *prng)
{
	switch (prng_below(prng, 256)) {
	case 0:
		w->now += UINT64_C(1) << (20 + prng_below(prng, 16));
		break;
	case 1:
		w->now -= prng_below(prng, 100000);
		break;
	case 2:
		w->now -= UINT64_C(1) << 34;
		break;
	default:
		w->now += prng_below(prng, 20000);
	}
}

/* Draws policies: from a few to all, evenly or by Zipf's law, side by side or 64 slots apart. */
struct draw {
	unsigned n, first, step, none;
	bool zipf;
};

static struct draw random_draw(struct prng *prng)
{
	static const unsigned counts[] = {1, 2, 3, 4, 5, 6, 8, 20, 200, CLIENTS};

	return (struct draw){
		.n = counts[prng_below(prng, COUNT(counts))],
		.first = prng_below(prng, CLIENTS),
		.step = prng_below(prng, 4) ? 1 : 64,
		.none = prng_below(prng, 4) ? 0 : prng_below(prng, 8),
		.zipf = prng_below(prng, 2),
	};
}

static uint32_t drawn(const struct draw *draw, struct prng *prng)
{
	unsigned k = prng_below(prng, draw->n);

	if (prng_below(prng, 8) < draw->none)
		return CLASSIFY_NONE;
	/* The k-th is taken 1/k as often as the first. */
	while (draw->zipf && prng_below(prng, k + 1))
		k = prng_below(prng, draw->n);
	return (draw->first + k * draw->step) % CLIENTS;
}

static void make_packet(struct world *w, struct prng *prng, unsigned i, uint32_t policy)
{
	struct frames *frames = &w->burst.frames;
	struct frame *frame = &w->frames[prng_below(prng, FRAMES)];

	w->received[i] = &w->mbufs[i];
	frames->data[i] = frame->bytes;
	frames->len[i] = frame->len;
	frames->policy[i] = policy;
	frames->l2_len[i] = frame->packet.l2_len;
	frames->uncharged[i] = (uint16_t)(frame->packet.l2_len + frame->packet.padding);
}

static unsigned make_burst(struct world *w, struct prng *prng, const struct row *row)
{
	struct draw draw = random_draw(prng);
	unsigned n = prng_below(prng, 4) ? BURST : 1 + prng_below(prng, BURST), different = 0;
	uint64_t seen[CLIENTS / 64] = {0};

	w->burst.mbufs = w->received;
	w->burst.len = w->burst.frames.len;
	w->burst.frames.now = w->now;
	w->burst.frames.plain = UINT64_MAX;
	w->burst.frames.parsed = 0;
	/* A burst of one policy borrows the cost of all its packets together. */
	if (row->loans) {
		n = n < 2 ? 2 : n;
		draw.n = draw.n < 2 ? 2 : draw.n;
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t policy = drawn(&draw, prng);

		if (row->loans && i < 2)
			policy = (draw.first + i * draw.step) % CLIENTS;
		make_packet(w, prng, i, policy);
		if (policy == CLASSIFY_NONE || seen[policy / 64] >> policy % 64 & 1)
			continue;
		seen[policy / 64] |= UINT64_C(1) << policy % 64;
		different++;
	}
	w->few += different > 1 && different <= 4 ? n : 0;
	return n;
}

/* Expects a sample of a packet if its policy and the worker's bound take one. */
static void sample_there(struct world *w, unsigned i, uint32_t policy, uint32_t cost)
{
	const struct policy_state *state = &w->there.states[policy];
	const uint8_t *data = w->burst.frames.data[i];
	struct packet packet;
	uint32_t hash;

	if (!police_samples(state) || !sample_bound_takes(&w->bound, w->now))
		return;
	packet_parse(data, w->burst.frames.len[i], &packet);
	if (!police_samples_packet(state, &packet))
		return;
	hash = packet_flow_hash(&packet, data) * POLICE_WEYL;
	w->sampled[w->n_sampled++] = (struct sampled){
		.sample = &w->samples[policy],
		.bytes = police_sample_bytes(state, cost) << sample_bound_took(&w->bound, w->now),
		.hash = hash ^ hash >> 16,
	};
}

static void try_there(struct world *w, unsigned i, uint32_t policy, const struct row *row)
{
	uint32_t slot = trial_slot(policy, police_trial(&w->there.states[policy]), POLICIES);
	struct policy_state *trial = &w->there.states[slot];

	if (slot != policy)
		police_try_bytes(trial, row->loans ? &w->there.shared[slot] : NULL,
			police_bytes(trial, w->burst.frames.uncharged[i], w->burst.frames.len[i]),
			w->now);
}

/* One packet: whether it passes. */
static bool charge_there(struct world *w, unsigned i, const struct row *row)
{
	uint32_t policy = w->burst.frames.policy[i], at = policy, cost;
	struct lineage lineage = {.n = 0};

	if (policy == CLASSIFY_NONE) {
		w->unmatched++;
		return true;
	}
	cost = police_bytes(
		&w->there.states[policy], w->burst.frames.uncharged[i], w->burst.frames.len[i]);
	try_there(w, i, policy, row);
	sample_there(w, i, policy, cost);
	for (; at != SLOT_NONE; at = row->levels ? w->parents[at] : SLOT_NONE) {
		lineage.levels[lineage.n++] = &w->there.states[at];
		if (row->loans)
			police_borrow(&w->there.states[at], &w->there.shared[at], cost, w->now);
	}
	if (!row->levels)
		return !police_over(lineage.levels[0], cost, w->now);
	police_lineage_begin(&lineage, cost);
	police_lineage_ask(&lineage, w->now);
	return police_lineage_settle(&lineage, w->now);
}

static void charge_each_there(struct world *w, unsigned n, const struct row *row)
{
	w->n_pass = w->n_drop = w->n_sampled = w->unmatched = 0;
	for (unsigned i = 0; i < n; i++)
		if (charge_there(w, i, row))
			w->pass[w->n_pass++] = &w->mbufs[i];
		else
			w->drop[w->n_drop++] = &w->mbufs[i];
	w->drops += w->n_drop;
}

/* Another worker borrows from the shared bucket of a policy. */
static void borrow_elsewhere(struct world *w, struct prng *prng)
{
	unsigned slot = w->burst.frames.policy[0] % CLIENTS;
	uint64_t bytes = 1 + prng_below(prng, 3000);

	assert_int_equal(shared_bucket_take(&w->here.shared[slot], w->now, bytes),
		shared_bucket_take(&w->there.shared[slot], w->now, bytes));
}

/* Compares the lines. Lines above others are refilled first: decide() refills only some. */
static void check_lines(struct world *w, const struct row *row)
{
	for (unsigned slot = 0; row->levels && slot < POLICIES; slot++) {
		struct policy_state *here = &w->here.states[slot], *there = &w->there.states[slot];

		token_bucket_refill(&here->bucket, &here->limit, w->now);
		token_bucket_refill(&there->bucket, &there->limit, w->now);
	}
	assert_memory_equal(w->here.states, w->there.states, sizeof(w->here.states));
	if (row->loans)
		assert_memory_equal(w->here.shared, w->there.shared, sizeof(w->here.shared));
}

static void check_sampled(const struct world *w)
{
	const struct sample_bound *bound = &w->worker.own.bound;

	assert_int_equal(w->burst.n_sampled, w->n_sampled);
	for (unsigned i = 0; i < w->n_sampled; i++) {
		assert_ptr_equal(w->burst.sampled[i].sample, w->sampled[i].sample);
		assert_int_equal(w->burst.sampled[i].bytes, w->sampled[i].bytes);
		assert_int_equal(w->burst.sampled[i].hash, w->sampled[i].hash);
	}
	assert_int_equal(bound->offered, w->bound.offered);
	assert_int_equal(bound->taken, w->bound.taken);
	assert_int_equal(bound->shift, w->bound.shift);
	assert_int_equal(bound->began, w->bound.began);
}

static void check_burst(struct world *w, struct prng *prng, const struct row *row)
{
	uint64_t unmatched = w->worker.counters.unmatched_packets;
	unsigned n = make_burst(w, prng, row), passed;

	if (row->loans && prng_below(prng, 2))
		borrow_elsewhere(w, prng);
	charge_each_there(w, n, row);
	passed = decide(&w->worker, &w->burst, (uint16_t)n, w->now, w->dropped);
	assert_int_equal(passed, w->n_pass);
	assert_memory_equal(w->received, w->pass, passed * sizeof(w->pass[0]));
	assert_memory_equal(w->dropped, w->drop, w->n_drop * sizeof(w->drop[0]));
	assert_int_equal(w->worker.counters.unmatched_packets - unmatched, w->unmatched);
	check_sampled(w);
	check_lines(w, row);
	w->packets += n;
}

static struct world *open_world(struct prng *prng, const struct row *row, bool eights)
{
	struct world *w = aligned_alloc(CACHE_LINE, sizeof(*w));
	static struct flow_sample *samples[LINES];
	struct worker_own *own = &w->worker.own;

	memset(w, 0, sizeof(*w));
	w->now = UINT64_C(1) << 40;
	w->worker.paths = &w->path;
	w->worker.policies = w->here.states;
	w->worker.shared_buckets = row->loans ? w->here.shared : NULL;
	w->worker.samples = samples;
	w->worker.n_policies = POLICIES;
	for (unsigned slot = 0; slot < LINES; slot++)
		samples[slot] = &w->samples[slot];
	for (unsigned slot = 0; slot < CLIENTS; slot++)
		w->parents[slot] = CLIENTS + slot / CUSTOMERS;
	for (unsigned slot = CLIENTS; slot < LINK; slot++)
		w->parents[slot] = LINK;
	w->parents[LINK] = SLOT_NONE;
	own->eights = eights;
	own->view.kinds = 1U << POLICE_SIMPLE;
	own->view.parents = row->levels ? w->parents : NULL;
	for (unsigned i = 0; i < FRAMES; i++)
		make_frame(&w->frames[i], prng);
	return w;
}

static void check_row(const struct row *row, bool eights, uint64_t packets, struct prng *prng)
{
	ENDED_BY(free_at) struct world *w = open_world(prng, row, eights);

	while (w->packets < packets) {
		restart(w, prng, row);
		for (unsigned burst = 0; burst < BURSTS; burst++) {
			advance(w, prng);
			check_burst(w, prng, row);
		}
	}
	print_message("%s%s: %" PRIu64 " packets, %" PRIu64
		      " in bursts of 2 to 4 policies, %" PRIu64 " dropped\n",
		row->name, eights ? ", by eights" : "", w->packets, w->few, w->drops);
	/* Enough of the traffic has few policies, passes and is dropped. */
	assert_true(w->few > w->packets / 4);
	assert_true(w->drops > w->packets / 16 && w->drops < w->packets - w->packets / 16);
}

TEST(test_each_in_turn)
{
	static const struct row rows[] = {
		{.name = "plain"},
		{.name = "sampled", .samples = true},
		{.name = "lent to", .loans = true},
		{.name = "lent to, sampled", .loans = true, .samples = true},
		{.name = "some tried", .trials = true, .samples = true},
		{.name = "levels", .levels = true},
		{.name = "levels with room, sampled", .levels = true, .samples = true},
		{.name = "levels, lent to", .levels = true, .loans = true},
	};
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 0) : 0xfe3;
	const bool has_eights = police_has_eights();
	uint64_t packets = getenv("WEIR_ALL_SEEDS") ? ALL_PACKETS : ROUNDS(SOME_PACKETS);
	struct prng prng;

	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	prng_seed(&prng, seed);
	packets /= COUNT(rows) * (1 + has_eights);
	for (size_t i = 0; i < COUNT(rows); i++) {
		check_row(&rows[i], false, packets, &prng);
		if (has_eights)
			check_row(&rows[i], true, packets, &prng);
	}
}
