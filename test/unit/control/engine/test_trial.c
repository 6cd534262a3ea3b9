/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A trial compared with an enforced policy of the same limit: on the same packets, the trial counts
 * exactly the packets that the other passes and drops. This holds for each meter, unit and number
 * of workers. The policy with the trial behaves like one without.
 */
#include "check.h"

#include "allocate/allocate.h"
#include "base/prng.h"
#include "base/time.h"
#include "engine/counts.h"
#include "engine/states.h"
#include "policy/trial.h"

#define HZ      UINT64_C(2500000000)
#define PACKETS 60000
#define FLOWS   50
#define MOST    1514
#define RATE    UINT64_C(8000000) /* bit/s of the policy; the trial has half of it */

/* The policy with a trial, one that enforces the trial's limit, and the first without a trial. */
enum { TRYING, ENFORCING, PLAIN, SLOTS };

struct trial_world {
	struct policy policies[SLOTS];
	struct engine engine;
	struct engine_limit limits[SLOTS];
	struct prng prng;
	uint64_t now;
};

/* By default a token bucket of bytes that drops. */
static const struct trial_row {
	const char *name;
	enum counting count;
	enum accounting accounting;
	enum action action;
	enum meter_kind meter, tried;
	enum classes_by by;
	bool per_source, hard;
} trial_rows[] = {
	{"bucket, L3", .accounting = ACCOUNTING_L3},
	{"bucket, L2", .accounting = ACCOUNTING_L2},
	{"bucket, on the wire", .accounting = ACCOUNTING_WIRE},
	{"bucket that marks", .action = ACTION_MARK},
	{"bucket that counts", .accounting = ACCOUNTING_L3, .action = ACTION_COUNT},
	{"hard bucket", .hard = true},
	{"hard gcra", .tried = METER_GCRA, .hard = true},
	{"gcra", .accounting = ACCOUNTING_L3, .tried = METER_GCRA},
	{"window", .tried = METER_FIXED_WINDOW},
	{"hybrid", .accounting = ACCOUNTING_WIRE, .tried = METER_HYBRID},
	{"flows that share", .tried = METER_PHANTOM, .by = CLASSES_BY_FLOW},
	{"flows that share, of such", .accounting = ACCOUNTING_L3, .meter = METER_PHANTOM,
		.tried = METER_PHANTOM, .by = CLASSES_BY_FLOW},
	{"DSCPs that share", .meter = METER_GCRA, .tried = METER_PHANTOM, .by = CLASSES_BY_DSCP},
	{"bucket of a hybrid", .meter = METER_HYBRID},
	{"packets", .count = COUNT_PACKETS},
	{"packets in a window", .count = COUNT_PACKETS, .action = ACTION_MARK,
		.tried = METER_FIXED_WINDOW},
	{"new flows", .count = COUNT_FLOWS},
	{"new flows, gcra", .count = COUNT_FLOWS, .action = ACTION_COUNT, .meter = METER_GCRA,
		.tried = METER_GCRA},
	{"each source", .per_source = true},
	{"each source, hybrid", .accounting = ACCOUNTING_L3, .meter = METER_GCRA,
		.tried = METER_HYBRID, .per_source = true},
};

/* About half of the offered traffic exceeds the policy, and more exceeds its trial. */
static void make_policies(struct trial_world *w, const struct trial_row *row)
{
	static const uint64_t rates[] = {
		[COUNT_BYTES] = RATE, [COUNT_PACKETS] = 8 * 1000, [COUNT_FLOWS] = 8 * 20};
	static const uint64_t bursts[] = {
		[COUNT_BYTES] = 30000, [COUNT_PACKETS] = 40, [COUNT_FLOWS] = 5};
	uint64_t rate = rates[row->count] / (row->per_source ? 100 : 1);
	struct policy policy = {
		.name = "p",
		.count = row->count,
		.accounting = row->accounting,
		.action = row->action,
		.mark = MARK_ECN,
		.meter = row->meter,
		.limit_bps = rate,
		.burst_bytes = bursts[row->count],
		.window_ns = 100 * MS_NS,
		.allocator = row->per_source || row->hard ? &allocator_static : &allocator_fps,
		.guarantee = row->hard ? GUARANTEE_HARD : GUARANTEE_SOFT,
		.classes = {.by = row->by, .n = 64},
		.per_v4 = row->per_source ? 32 : 0,
		.per_v6 = row->per_source ? 128 : 0,
		.sources = 1024,
	};

	memset(policy.classes.weights, 1, sizeof(policy.classes.weights));
	policy.trial = (struct trial_config){
		.set = true,
		.meter = row->tried,
		.limit_bps = rate / 2,
		.burst_bytes = bursts[row->count] / 2,
		.window_ns = 200 * MS_NS,
		.classes = policy.classes,
	};
	w->policies[TRYING] = policy;
	w->policies[ENFORCING] = policy_trial(&policy);
	w->policies[PLAIN] = policy;
	w->policies[PLAIN].trial.set = false;
}

/* Sets the part of the limit that the limiter has now. */
static void set_part(struct trial_world *w, double part)
{
	struct engine_trial trial;

	for (unsigned s = 0; s < SLOTS; s++)
		w->limits[s] = (struct engine_limit){
			.policy = &w->policies[s],
			.slot = s,
			.hz = HZ,
			.view.local_limit = policy_rate(&w->policies[s]) * part,
			.view.local_burst = w->policies[s].burst_bytes,
		};
	/* The trial has the same part, unless it is configured otherwise. */
	if (engine_trial(&w->engine, &w->limits[TRYING], &trial)) {
		assert_true(trial.limit.view.local_limit == w->limits[ENFORCING].view.local_limit);
		assert_int_equal(
			trial.limit.view.local_burst, w->limits[ENFORCING].view.local_burst);
	}
}

static void begin_world(struct trial_world *w, const struct trial_row *row, unsigned workers)
{
	*w = (struct trial_world){.now = HZ};
	prng_seed(&w->prng, 1 + workers);
	make_policies(w, row);
	assert_int_equal(engine_states_alloc(&w->engine, workers, SLOTS), 0);
	w->engine.frame = MOST + 24;
	set_part(w, 1);
	engine_share_begin(&w->engine, w->policies, SLOTS, 0);
	for (unsigned s = 0; s < SLOTS; s++) {
		for (unsigned i = 0; i < workers; i++) {
			const struct policy_start start = {
				.hz = HZ, .now = w->now, .secret = 7 + i, .seed = i};

			assert_int_equal(
				engine_states_add(&w->engine, i, &w->limits[s], &start), 0);
		}
		assert_int_equal(engine_begin(&w->engine, &w->limits[s], w->now, 0, false), 0);
	}
}

struct sent {
	struct packet packet;
	uint8_t data[64];
	uint32_t len;
};

/* Makes a packet of one of a few flows, TCP or UDP, with addresses after 14 or 18 bytes of L2. */
static void make_packet(struct trial_world *w, struct sent *sent)
{
	uint32_t flow = (uint32_t)prng_below(&w->prng, FLOWS);
	bool tcp = flow % 2;

	*sent = (struct sent){
		.packet = {.family = PACKET_IPV4,
			.proto = tcp ? 6 : 17,
			.tcp_flags = tcp && prng_below(&w->prng, 4) == 0 ? 0x02 : 0x10,
			.l2_len = flow % 3 ? 14 : 18,
			.src_off = 26,
			.dst_off = 30,
			.dscp = (uint8_t)(flow % 8),
			.flow_hash = flow * 0x9e3779b1U + 1},
		.len = 60 + (uint32_t)prng_below(&w->prng, MOST - 60 + 1),
	};
	memcpy(sent->data + 26, &flow, sizeof(flow));
	memcpy(sent->data + 34, &flow, sizeof(flow));
}

static enum verdict send_to(
	struct trial_world *w, unsigned worker, uint32_t slot, const struct sent *sent)
{
	uint32_t cost;
	enum verdict verdict = engine_states_police(
		&w->engine, worker, slot, &sent->packet, sent->data, sent->len, w->now, &cost);

	if (verdict == VERDICT_MARK)
		police_marked(&w->engine.workers[worker].states[slot], &sent->packet, sent->data,
			cost, w->now, true);
	return verdict;
}

/* Measures all policies like control does, and gives each another part. */
static void look(struct trial_world *w, double part)
{
	struct limiter_sample sample;

	for (unsigned s = 0; s < SLOTS; s++)
		(void)engine_measure(&w->engine, s, &w->policies[s],
			(uint64_t)((unsigned __int128)w->now * SECOND_NS / HZ), &sample);
	set_part(w, part);
	for (unsigned s = 0; s < SLOTS; s++)
		assert_int_equal(engine_enforce(&w->engine, &w->limits[s], w->now), 0);
}

static void offer_alike(struct trial_world *w)
{
	static const double parts[] = {1, 0.5, 0.9, 0.1, 1};

	for (unsigned i = 0; i < PACKETS; i++) {
		unsigned worker = (unsigned)prng_below(&w->prng, w->engine.n_workers);
		struct sent sent;

		make_packet(w, &sent);
		assert_int_equal(
			send_to(w, worker, TRYING, &sent), send_to(w, worker, PLAIN, &sent));
		(void)send_to(w, worker, ENFORCING, &sent);
		w->now += prng_below(&w->prng, 2 * HZ / 2500);
		if (i % 500 == 499)
			look(w, parts[i / 500 % (COUNT(parts))]);
	}
}

static void assert_totals_equal(const struct policy_totals *a, const struct policy_totals *b)
{
	assert_int_equal(a->passed_packets, b->passed_packets);
	assert_int_equal(a->passed_bytes, b->passed_bytes);
	assert_int_equal(a->dropped_packets, b->dropped_packets);
	assert_int_equal(a->dropped_bytes, b->dropped_bytes);
}

TEST(a_trial_counts_what_a_policy_enforces)
{
	for (size_t r = 0; r < COUNT(trial_rows); r++) {
		for (unsigned workers = 1; workers <= 3; workers += 2) {
			struct policy_totals tried, enforced, own, plain;
			struct trial_world w;

			begin_world(&w, &trial_rows[r], workers);
			offer_alike(&w);
			engine_trial_totals(&w.engine, TRYING, &tried);
			(void)engine_totals(&w.engine, ENFORCING, &enforced);
			(void)engine_totals(&w.engine, TRYING, &own);
			(void)engine_totals(&w.engine, PLAIN, &plain);
			print_message("%s, %u workers: tried %ju of %u dropped, enforced %ju\n",
				trial_rows[r].name, workers, (uintmax_t)tried.dropped_packets,
				PACKETS, (uintmax_t)enforced.dropped_packets);
			assert_totals_equal(&tried, &enforced);
			assert_totals_equal(&own, &plain);
			assert_int_equal(tried.passed_packets + tried.dropped_packets, PACKETS);
			/* Otherwise the comparison would be empty. */
			assert_true(tried.passed_packets > PACKETS / 100);
			assert_true(tried.dropped_packets > own.dropped_packets + PACKETS / 100);
			engine_states_free(&w.engine, SLOTS);
		}
	}
}
