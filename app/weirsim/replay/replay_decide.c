/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides frames as weir would: with the parser, classifier, meters and actions of its workers, in
 * the order and at the times of the capture.
 */
#include "replay_decide.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/time.h"
#include "engine/credit_account.h"
#include "engine/engine.h"
#include "engine/states.h"
#include "group/roster.h"
#include "limiter/limiter.h"
#include "packet/fragment.h"
#include "packet/mark.h"
#include "packet/parse.h"
#include "police/coloured.h"
#include "police/lineage.h"
#include "policy/config.h"
#include "policy/kind.h"
#include "policy/trial.h"

struct replay_limits {
	struct roster *roster; /* peers that never send anything */
	struct limiter *limiter;
	uint64_t longest_ns; /* longest of the estimate intervals */
	uint64_t busy_ns;    /* time of the last packet */
	bool needs_demand;   /* some meter uses the demand; otherwise intervals need not end */
};

/* Makes the limiter's policies. A quota is divided over the limiters, also if it is in etcd. */
static struct limiter_policy *make_policies(
	const struct config *config, unsigned n, uint64_t now_ns)
{
	struct limiter_policy *policies = engine_limiter_policies(
		config->policies, config->n_policies, LOANS_NONE, (int64_t)(now_ns / SECOND_NS));

	for (unsigned i = 0; policies && i < config->n_policies; i++) {
		policies[i].drawn = false;
		if (!policy_is_quota(&config->policies[i]))
			policies[i].allocator = n > 1 ? &allocator_static : &allocator_central;
	}
	return policies;
}

/* Makes a roster of n. The names do not matter to limit/N. */
static int make_roster(unsigned n, struct roster **out)
{
	uint32_t *ids = calloc(n, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		ids[i] = i + 1;
	ret = roster_create(ids, n, out);
	free(ids);
	return ret;
}

/* Starts at now_ns, for one of n limiters. Returns 0 or -ENOMEM. */
static int limits_create(
	struct replay_limits *limits, const struct config *config, unsigned n, uint64_t now_ns)
{
	struct limiter_policy *policies = make_policies(config, n, now_ns);
	struct limiter_params params = {
		.gossip = {.epoch = 1,
			.branching = 1,
			.timeout_ns = config->gossip.timeout_ns,
			.datagram_max = config->gossip.datagram_max},
		.policies = policies,
		.n_policies = config->n_policies,
		.n_workers = 1,
		/* Nothing is granted: each limiter keeps its share of hard limits. */
		.ledger = {.epoch = 1,
			.lease_ns = config->ledger.lease_ns,
			.timeout_ns = config->gossip.timeout_ns},
	};
	int ret = -ENOMEM;

	*limits = (struct replay_limits){.busy_ns = now_ns};
	for (unsigned i = 0; i < config->n_policies; i++) {
		const struct policy *policy = &config->policies[i];

		limits->needs_demand |= meter_can(policy->meter, METER_AT_RANDOM);
		if (policy->interval_ns > limits->longest_ns)
			limits->longest_ns = policy->interval_ns;
	}
	if (policies)
		ret = make_roster(n, &limits->roster);
	params.gossip.roster = limits->roster;
	if (ret == 0)
		ret = limiter_create(&params, now_ns, &limits->limiter);
	free(policies);
	return ret;
}

/*
 * Ends every estimate interval up to now_ns, before the packets of that time are counted. Returns
 * true if any ended, so that views might have changed. Time must not step back. / Ends the
 * intervals one by one while they have packets: for the longest interval, and one tick more, after
 * the last packet. The quiet time after that is one interval of any length. A filter with zero
 * input for two times ends in the same state as for both together. /
 */
static bool limits_advance(
	struct replay_limits *limits, uint64_t now_ns, limiter_measure measure, void *context)
{
	bool ended = false;
	uint64_t due;

	if (!limits->needs_demand)
		return false;
	while ((due = limiter_next(limits->limiter)) <= now_ns) {
		bool quiet = due - limits->busy_ns > 2 * limits->longest_ns;

		limiter_tick(limits->limiter, quiet ? now_ns : due, measure, context);
		ended = true;
	}
	limits->busy_ns = now_ns;
	return ended;
}

#define TICKS_PER_S UINT64_C(1000000000) /* a tick is a nanosecond of the capture */
#define ETHER_LEN   14
#define LABEL_LEN   4
#define PPPOE_LEN   8

/*
 * Secret of the tables of sources. No attacker can choose the packets of a replay, and every replay
 * must give the same result.
 */
#define SECRET 0

struct decider {
	struct decide_params params;
	struct classifier *classifier;
	struct replay_limits limits;
	struct engine engine; /* engine with one worker */
	struct credit_states totals;
	uint64_t look_ns;              /* time of the next look at quotas; UINT64_MAX: none */
	const struct tunnels *tunnels; /* NULL: tunnels are not entered */
	struct fragments *fragments;   /* NULL: no policy needs ports */
	uint64_t now_ns;               /* latest time, because a worker's clock never steps back */

	/* The present burst. */
	struct packet packets[DECIDE_BURST];
	const uint8_t *data[DECIDE_BURST];
	uint32_t classes[DECIDE_BURST];
};

static struct engine_limit replay_limit_of(const struct decider *d, unsigned i)
{
	struct engine_limit limit = {
		.policy = &d->params.config->policies[i], .slot = i, .hz = TICKS_PER_S};

	engine_view(&d->engine, d->limits.limiter, i, &limit);
	return limit;
}

static struct credit_owner owner_of(const struct decider *d, unsigned i)
{
	return (struct credit_owner){.limiter = d->limits.limiter,
		.index = i,
		.policy = &d->params.config->policies[i],
		.n_workers = 1};
}

static int start_totals(struct decider *d)
{
	const struct config *config = d->params.config;
	int ret = 0;

	d->look_ns = UINT64_MAX;
	if (limiter_budget(d->limits.limiter))
		ret = credit_states_alloc(&d->totals, &d->engine, config->n_policies);
	for (unsigned i = 0; ret == 0 && i < config->n_policies; i++) {
		const struct credit_owner owner = owner_of(d, i);

		if (!policy_is_quota(owner.policy))
			continue;
		credit_states_begin(&d->totals, &owner, d->params.start_ns);
		d->look_ns = d->params.start_ns;
	}
	return ret;
}

/*
 * Creates the state of a policy. The seed of a meter that drops at random is the same in every run.
 */
static int start_policy(struct decider *d, unsigned i)
{
	const struct policy_start start = {
		.now = d->params.start_ns,
		.hz = TICKS_PER_S,
		.secret = SECRET,
		.seed = name_hash(d->params.config->policies[i].name),
	};
	struct engine_limit limit = replay_limit_of(d, i);
	int ret = engine_states_add(&d->engine, 0, &limit, &start);

	return ret ? ret : engine_begin(&d->engine, &limit, start.now, start.now, false);
}

static int start_fragments(struct decider *d)
{
	const struct config *config = d->params.config;

	if (!policies_ask_first(config->policies, config->n_policies))
		return 0;
	d->fragments = aligned_alloc(CACHE_LINE, sizeof(*d->fragments));
	if (!d->fragments)
		return -ENOMEM;
	fragments_init(d->fragments, SECRET, TICKS_PER_S);
	return 0;
}

int decider_create(const struct decide_params *params, struct decider **out)
{
	const struct config *config = params->config;
	struct decider *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return -ENOMEM;
	d->params = *params;
	d->now_ns = params->start_ns;
	d->tunnels = tunnels_to_enter(config);
	ret = engine_states_alloc(&d->engine, 1, config->n_policies);
	engine_share_begin(&d->engine, config->policies, config->n_policies, params->start_ns);
	if (ret == 0)
		ret = start_fragments(d);
	if (ret == 0)
		ret = limits_create(&d->limits, config, params->limiters, params->start_ns);
	if (ret == 0)
		ret = start_totals(d);
	if (ret == 0)
		ret = classifier_create(config->policies, config->n_policies, -1, &d->classifier);
	if (ret == 0)
		classifier_set_unparsed(d->classifier, config->unparsed);
	if (ret == 0)
		classifier_set_drops(d->classifier, config_drops(config));
	for (unsigned i = 0; ret == 0 && i < config->n_policies; i++)
		ret = start_policy(d, i);
	if (ret) {
		decider_destroy(d);
		return ret;
	}
	*out = d;
	return 0;
}

void decider_destroy(struct decider *d)
{
	if (!d)
		return;
	classifier_destroy(d->classifier);
	limiter_destroy(d->limits.limiter);
	roster_destroy(d->limits.roster);
	free(d->fragments);
	engine_states_free(&d->engine, d->params.config->n_policies);
	credit_states_free(&d->totals);
	free(d);
}

/* Returns the bytes of the IP header at an offset, 0 if there is none. */
static uint32_t ip_bytes(const struct frame *frame, uint32_t at)
{
	const unsigned version = at < frame->captured ? frame->data[at] >> 4 : 4;

	if (version == 4)
		return at < frame->captured ? (frame->data[at] & 0xf) * 4U : 20;
	return version == 6 ? 40 : 0;
}

/* Returns the bytes of a stack of MPLS labels. */
static uint32_t label_bytes(const struct frame *frame, uint32_t at)
{
	uint32_t bytes = LABEL_LEN;

	while (at + bytes <= frame->captured && !(frame->data[at + bytes - 2] & 1))
		bytes += LABEL_LEN;
	return bytes;
}

/*
 * Returns the bytes after the Ethernet and VLAN headers that show if the packet is IP, and its
 * addresses.
 */
static uint32_t header_bytes(const struct frame *frame, const struct packet *packet)
{
	const uint32_t l2 = packet->l2_len;
	const uint16_t ether_type = (uint16_t)(frame->data[l2 - 2] << 8 | frame->data[l2 - 1]);
	uint32_t labels;

	switch (ether_type) {
	case 0x0800:
		if (frame->captured == l2)
			return 20;
		return (frame->data[l2] & 0xf) * 4U;
	case 0x8847:
	case 0x8848:
		labels = label_bytes(frame, l2);
		return labels + ip_bytes(frame, l2 + labels);
	case 0x8864:
		return PPPOE_LEN + ip_bytes(frame, l2 + PPPOE_LEN);
	case 0x86dd:
		return 40;
	case 0x8100:
	case 0x88a8:
	case 0x9100:
		return 4;
	default:
		return 0;
	}
}

/* Returns true if a frame is misclassified because the capture lacks some of its headers. */
static bool is_truncated(const struct frame *frame, const struct packet *packet)
{
	if (packet->family != PACKET_OTHER || !frame->cut)
		return false;
	return frame->captured < ETHER_LEN ||
	       frame->captured < packet->l2_len + header_bytes(frame, packet);
}

/* A limiter_measure. The time of a measurement is for the sampling rate, which is not used here. */
static void measure_replayed(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct decider *d = context;

	engine_measure(&d->engine, policy, &d->params.config->policies[policy], d->now_ns, sample);
}

/*
 * Enforces the present limits. If no meter can express one, the old one stays in force, as in weir.
 */
static void renew_limits(struct decider *d)
{
	for (unsigned i = 0; i < d->params.config->n_policies; i++) {
		struct engine_limit limit = replay_limit_of(d, i);

		engine_enforce(&d->engine, &limit, d->now_ns);
	}
}

static void look_at_totals(struct decider *d)
{
	uint64_t rest = CREDIT_REST_NS;

	for (unsigned i = 0; i < d->params.config->n_policies; i++) {
		const struct credit_owner owner = owner_of(d, i);
		struct credit_news news;

		if (!policy_is_quota(&d->params.config->policies[i]))
			continue;
		/* The capture's time is the wall clock. */
		news = credit_account_look(&d->totals.accounts[i], &owner,
			(int64_t)(d->now_ns / SECOND_NS), d->now_ns);
		if (news.changed) {
			struct engine_limit limit = replay_limit_of(d, i);

			engine_enforce(&d->engine, &limit, d->now_ns);
		}
		if (credit_account_is_active(&d->totals.accounts[i], d->now_ns))
			rest = CREDIT_LOOK_NS;
	}
	d->look_ns = d->now_ns + rest;
}

static void set_time(struct decider *d, uint64_t now_ns)
{
	if (now_ns > d->now_ns) {
		d->now_ns = now_ns;
		if (limits_advance(&d->limits, now_ns, measure_replayed, d))
			renew_limits(d);
	}
	if (d->now_ns >= d->look_ns)
		look_at_totals(d);
}

static void note_source(const struct policy_state *state, const struct frame *frame,
	const struct packet *packet, struct prefix *source)
{
	const uint8_t *addr = frame->data + packet->src_off;
	unsigned bits = police_source_bits(state, packet);

	if (bits == 0)
		return;
	source->family = packet->family;
	source->length = (uint8_t)bits;
	for (unsigned bit = 0; bit < bits; bit++)
		source->addr[bit / 8] |= addr[bit / 8] & (0x80 >> bit % 8);
}

/* A quota has another reason than a limit. */
static enum reason reason_of(const struct policy_state *state)
{
	return police_is_quota(state) ? REASON_QUOTA : REASON_LIMIT;
}

/*
 * Marks the packet for the level that marks. Returns false if it cannot; then that level refuses
 * it.
 */
static bool mark_level(struct frame *frame, const struct packet *packet, struct lineage *lineage)
{
	unsigned k = police_lineage_marker(lineage);

	if (mark_frame(frame->data, frame->captured, packet, police_mark(lineage->levels[k])))
		return true;
	police_lineage_refuse(lineage, k);
	return false;
}

static void note_levels(const struct lineage *lineage, bool markable, struct decision *decision)
{
	decision->cost = lineage->cost;
	decision->n_levels = (uint8_t)police_lineage_reached(lineage);
	for (unsigned k = 0; k < decision->n_levels; k++)
		decision->levels[k] = police_lineage_level(lineage, k);
	if (!markable)
		decision->reason = REASON_UNMARKABLE;
	else if (decision->verdict == VERDICT_PASS)
		decision->reason = REASON_CONFORMS;
	else
		decision->reason = reason_of(
			lineage->levels[police_lineage_doer(lineage, decision->verdict)]);
}

static void decide_levels(struct decider *d, struct frame *frame, const struct packet *packet,
	struct decision *decision)
{
	const struct lineage_slots slots = engine_states_lineage(
		d->params.config->policies, decision->policy);
	struct lineage_packet asked = {.slots = &slots,
		.packet = packet,
		.data = frame->data,
		.frame_len = frame->bytes,
		.now = d->now_ns};
	bool markable = true;

	decision->verdict = engine_states_ask_levels(&d->engine, 0, &asked);
	if (decision->verdict == VERDICT_MARK)
		markable = mark_level(frame, packet, &asked.lineage);
	if (!engine_states_settle_levels(&d->engine, 0, &asked))
		decision->verdict = VERDICT_DROP;
	note_levels(&asked.lineage, markable, decision);
}

/* Decides a packet of a policy without a parent. */
static void decide_alone(struct decider *d, struct frame *frame, const struct packet *packet,
	struct decision *decision)
{
	struct policy_state *state = &d->engine.workers[0].states[decision->policy];
	bool is_green, marked;

	decision->verdict = engine_states_police(&d->engine, 0, decision->policy, packet,
		frame->data, frame->bytes, d->now_ns, &decision->cost);
	decision->reason = reason_of(state);
	/* A green packet conforms, also if it is marked or counted. */
	is_green = police_is_coloured(state) && coloured_last(state->other) == COLOUR_GREEN;
	if (decision->verdict == VERDICT_PASS || (decision->verdict != VERDICT_DROP && is_green))
		decision->reason = REASON_CONFORMS;
	if (decision->verdict != VERDICT_MARK)
		return;
	marked = mark_frame(frame->data, frame->captured, packet, police_mark(state));
	police_marked(state, packet, frame->data, decision->cost, d->now_ns, marked);
	if (!marked) {
		decision->verdict = VERDICT_DROP;
		decision->reason = REASON_UNMARKABLE;
	}
}

static void decide_one(struct decider *d, struct frame *frame, const struct packet *packet,
	struct decision *decision)
{
	const struct policy_state *state = &d->engine.workers[0].states[decision->policy];

	note_source(state, frame, packet, &decision->source);
	if (policy_has_parent(&d->params.config->policies[decision->policy])) {
		decide_levels(d, frame, packet, decision);
		return;
	}
	decide_alone(d, frame, packet, decision);
	decision->levels[0] = decision->verdict;
	decision->n_levels = 1;
}

/*
 * Parses like frames_packet(). The capture's time can step back, which does not affect fragments.
 */
static void parse_frame(struct decider *d, const struct frame *frame, struct packet *packet)
{
	packet_parse(frame->data, frame->captured, packet);
	if (d->tunnels)
		packet_enter_tunnels(frame->data, frame->captured, d->tunnels, packet);
	if (d->fragments && packet->fragment)
		fragments_ports(d->fragments, frame->data, frame->bytes, frame->time_ns, packet);
	if (d->tunnels)
		packet_doubt_tunnels(d->tunnels, packet);
}

void decide(struct decider *d, struct frame *frames, unsigned n, struct decision *decisions)
{
	uint64_t refused;

	for (unsigned i = 0; i < n; i++) {
		d->data[i] = frames[i].data;
		parse_frame(d, &frames[i], &d->packets[i]);
	}
	refused = classify_burst(d->classifier, d->params.wire, d->params.direction, d->packets,
		d->data, n, d->classes);
	for (unsigned i = 0; i < n; i++) {
		const bool passes = !(refused >> i & 1);

		decisions[i] = (struct decision){
			.policy = d->classes[i],
			.verdict = passes ? VERDICT_PASS : VERDICT_DROP,
			.reason = passes || !d->packets[i].unparsed ? REASON_UNMATCHED
								    : REASON_UNPARSED,
			.unparsed = d->packets[i].unparsed,
		};
		set_time(d, frames[i].time_ns);
		if (d->classes[i] != CLASSIFY_NONE)
			decide_one(d, &frames[i], &d->packets[i], &decisions[i]);
		if (is_truncated(&frames[i], &d->packets[i]))
			decisions[i].reason = REASON_TRUNCATED;
	}
}

void decider_tried(struct decider *d, unsigned policy, struct policy_totals *totals)
{
	*totals = (struct policy_totals){0};
	if (d)
		engine_trial_totals(&d->engine, policy, totals);
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {
		[VERDICT_PASS] = "pass",
		[VERDICT_DROP] = "drop",
		[VERDICT_MARK] = "mark",
		[VERDICT_COUNT] = "count",
	};

	return names[verdict];
}

const char *reason_name(enum reason reason)
{
	switch (reason) {
	case REASON_CONFORMS:
		return "conforms";
	case REASON_UNMATCHED:
		return "unmatched";
	case REASON_TRUNCATED:
		return "truncated";
	default:
		return drop_reason_name((enum drop_reason)reason);
	}
}
