/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "replay_decide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classify/parse.h"
#include "meter/token_bucket.h"
#include "replay_limits.h"

#define TICKS_PER_S UINT64_C(1000000000) /* a tick is a nanosecond of the capture */
#define ETHER_LEN   14

/* One policy as a worker has it. */
struct policed {
	struct token_bucket_profile profile;
	struct token_bucket bucket;
	uint64_t arrived_bytes, dropped_packets;
};

struct decider {
	struct decide_params params;
	struct classifier *classifier;
	struct replay_limits limits;
	struct policed *policies;
	uint64_t now_ns; /* the latest time seen, as no worker's clock steps back */

	/* the burst in hand */
	struct packet packets[DECIDE_BURST];
	const uint8_t *data[DECIDE_BURST];
	uint32_t classes[DECIDE_BURST];
};

static int refuse(const struct policy *policy, const char *what)
{
	fprintf(stderr, "weirsim: policy %s: a replay does not know its %s yet\n", policy->name,
		what);
	return -ENOTSUP;
}

static int check(const struct policy *policy)
{
	if (policy->meter != METER_TOKEN_BUCKET)
		return refuse(policy, "meter");
	if (policy->action != ACTION_DROP)
		return refuse(policy, "action");
	if (policy->count != COUNT_BYTES)
		return refuse(policy, "count");
	if (policy->per_v4 || policy->per_v6)
		return refuse(policy, "sources");
	return 0;
}

static int start_policy(struct decider *d, unsigned i)
{
	struct limiter_view view;
	struct token_bucket_params params;
	int ret = check(&d->params.config->policies[i]);

	limiter_view(d->limits.limiter, i, &view);
	params.rate_bps = (uint64_t)(view.local_limit * 8);
	params.burst_bytes = view.local_burst;
	if (ret == 0)
		ret = token_bucket_profile_init(&d->policies[i].profile, &params, TICKS_PER_S);
	if (ret == 0)
		token_bucket_init(
			&d->policies[i].bucket, &d->policies[i].profile, d->params.start_ns);
	return ret;
}

int decider_create(const struct decide_params *params, struct decider **out)
{
	const struct config *config = params->config;
	struct decider *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return -ENOMEM;
	d->params = *params;
	d->policies = calloc(config->n_policies + 1, sizeof(*d->policies));
	ret = d->policies ? 0 : -ENOMEM;
	if (ret == 0)
		ret = limits_create(&d->limits, config, params->limiters, params->start_ns);
	if (ret == 0)
		ret = classifier_create(config->policies, config->n_policies, -1, &d->classifier);
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
	limits_destroy(&d->limits);
	free(d->policies);
	free(d);
}

static uint16_t ether_type(const struct frame *frame, const struct packet *packet)
{
	return (uint16_t)(frame->data[packet->l2_len - 2] << 8 | frame->data[packet->l2_len - 1]);
}

/* Bytes after the Ethernet and VLAN headers that say whether the packet is IP, and whose. */
static uint32_t header_bytes(const struct frame *frame, const struct packet *packet)
{
	switch (ether_type(frame, packet)) {
	case 0x0800:
		if (frame->captured == packet->l2_len)
			return 20;
		return (frame->data[packet->l2_len] & 0xf) * 4U;
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

/* Whether a frame is taken for another than it is because the capture has not all its headers. */
static bool truncated(const struct frame *frame, const struct packet *packet)
{
	if (packet->family != PACKET_OTHER || frame->captured >= frame->bytes ||
		frame->captured == sizeof(frame->data))
		return false;
	return frame->captured < ETHER_LEN ||
	       frame->captured < packet->l2_len + header_bytes(frame, packet);
}

static void measure(void *context, unsigned policy, struct limiter_sample *sample)
{
	const struct decider *d = context;

	sample->arrived_bytes = d->policies[policy].arrived_bytes;
	sample->dropped_packets = d->policies[policy].dropped_packets;
}

static uint32_t charge(
	enum accounting accounting, const struct frame *frame, const struct packet *packet)
{
	if (accounting == ACCOUNTING_L3)
		return frame->bytes - packet->l2_len;
	return frame->bytes + (accounting == ACCOUNTING_WIRE ? 24 : 0);
}

static void decide_one(struct decider *d, const struct frame *frame, const struct packet *packet,
	struct decision *decision)
{
	struct policed *policed = &d->policies[decision->policy];
	bool conforms;

	decision->cost = charge(
		d->params.config->policies[decision->policy].accounting, frame, packet);
	conforms = token_bucket_conforms(
		&policed->bucket, &policed->profile, d->now_ns, decision->cost);
	policed->arrived_bytes += decision->cost;
	policed->dropped_packets += !conforms;
	decision->verdict = conforms ? VERDICT_PASS : VERDICT_DROP;
	decision->reason = conforms ? REASON_CONFORMS : REASON_LIMIT;
}

void decide(struct decider *d, struct frame *frames, unsigned n, struct decision *decisions)
{
	for (unsigned i = 0; i < n; i++) {
		d->data[i] = frames[i].data;
		packet_parse(frames[i].data, frames[i].captured, &d->packets[i]);
	}
	classify_burst(d->classifier, d->params.wire, d->params.direction, d->packets, d->data, n,
		d->classes);
	for (unsigned i = 0; i < n; i++) {
		decisions[i] = (struct decision){
			.policy = d->classes[i],
			.verdict = VERDICT_PASS,
			.reason = REASON_UNMATCHED,
		};
		if (frames[i].time_ns > d->now_ns)
			d->now_ns = frames[i].time_ns;
		limits_advance(&d->limits, d->now_ns, measure, d);
		if (d->classes[i] != CLASSIFY_NONE)
			decide_one(d, &frames[i], &d->packets[i], &decisions[i]);
		if (truncated(&frames[i], &d->packets[i]))
			decisions[i].reason = REASON_TRUNCATED;
	}
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
	static const char *const names[REASONS] = {
		[REASON_CONFORMS] = "conforms",
		[REASON_LIMIT] = "limit",
		[REASON_UNMATCHED] = "unmatched",
		[REASON_UNMARKABLE] = "unmarkable",
		[REASON_TRUNCATED] = "truncated",
	};

	return names[reason];
}
