/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How deep a bucket has to be, by what TCP needs of one. doc/operate/configuration.md has the table
 * of what passes by depth, and test/bench/burst.py makes it.
 */
#include <inttypes.h>
#include <netinet/in.h>

#include "base/math.h"
#include "config/check.h"
#include "policy/kind.h"
#include "policy/units.h"

#define PACKET 1500 /* bytes: the usual MTU */

/*
 * A flow whose window is its least, two packets, and whose round trip is short sends more than the
 * limit whatever it does. So it empties the bucket, loses what it sent last, and waits for its
 * timer: 200 ms, Linux's least, and a round trip. A bucket that is full before that loses the rest
 * of the time. It needs no more for that than what is earned meanwhile, and this has something to
 * spare: for the ticks of the timer, and a round trip of up to 50 ms.
 */
#define TCP_MS 250

/* A class alone has .78 of a phantom's burst (phantom_needs()), so this is more by as much. */
#define PHANTOM_MS 350

/* What waits is not lost. */
#define SHAPE_MS 100

/* The depth for packets and flows, where nothing is known of a round trip. */
#define COUNT_MS 100

/* Below a limit of 1 Mbit/s a flow of a long round trip needs more than a time. */
#define LEAST_PACKETS 20

/* At least so many packets, or flows, of what counts these; and where each limiter has its part. */
#define LEAST_PART 10

/* Above it two packets a round trip of 0.1 ms, which is short, are less than a limiter's limit. */
#define TCP_BPS UINT64_C(240000000)

/* A flow that loses one of so many still hears of it from those behind; see limiter.c. */
#define FRAMES 6

/* A flow needs so many of a slow limit, whatever the time: with two 0.1 Mbit/s have .83. */
#define FEW_FRAMES 3

/* A burst so much below the default loses what can be seen: at 200 ms it is 5 %. */
#define WARN_PART(bytes) ((bytes) / 5 * 4)

static unsigned depth_ms(const struct policy *policy)
{
	if (policy->count != COUNT_BYTES)
		return COUNT_MS;
	if (policy->action == ACTION_SHAPE)
		return SHAPE_MS;
	return meter_can(policy->meter, METER_CLASSES) ? PHANTOM_MS : TCP_MS;
}

/* A conserved bucket is no larger than its part, however small: so as much for each limiter. */
static uint64_t least_burst(const struct policy *policy, unsigned n_limiters)
{
	unsigned parts = policy_is_conserved(policy) ? n_limiters : 1;
	uint64_t part = UINT64_C(1) * parts * LEAST_PART;

	if (policy->count != COUNT_BYTES)
		return part;
	return PACKET * (policy->action == ACTION_SHAPE ? part : max_u64(part, LEAST_PACKETS));
}

/* The limit has at most 4 × 10^11 bit/s: this fits. */
static uint64_t in_time(uint64_t limit_bps, unsigned ms)
{
	return limit_bps * ms / 8000;
}

uint64_t burst_default(const struct policy *policy, unsigned n_limiters)
{
	uint64_t most = policy->count == COUNT_BYTES ? CONFIG_BURST_MAX : CONFIG_COUNT_MAX;
	uint64_t burst = in_time(policy->limit_bps, depth_ms(policy)) / policy_limit_s(policy);

	burst = max_u64(burst, least_burst(policy, n_limiters));
	return burst < most ? burst : most;
}

/*
 * A quota has one for when its total is spent, if anything is to pass then. What waits has its
 * tokens in the end, however small the bucket.
 */
static bool has_bucket(const struct policy *policy)
{
	if (policy->action == ACTION_SHAPE || policy->count != COUNT_BYTES)
		return false;
	return meter_can(policy->meter, METER_BURST) && policy->limit_bps > 0;
}

/* Whether each limiter's bucket has a part of the burst, and no more. */
static bool is_parted(const struct policy *policy)
{
	return policy_is_conserved(policy) && policy->action != ACTION_SHAPE;
}

/* By itself, and of what is divided its part. True when it has warned. */
static bool warn_frame(struct reader *reader, const struct json_path *at,
	const struct policy *policy, uint64_t frame, unsigned n_limiters)
{
	if (policy->burst_bytes < frame)
		reader_warn(reader, at,
			"less than %" PRIu64 " bytes, so the largest frames never pass", frame);
	else if (is_parted(policy) && policy->burst_bytes / n_limiters < frame)
		reader_warn(reader, at,
			"its part at each of %u limiters is less than %" PRIu64
			" bytes, so the largest frames pass only where more of the limit is",
			n_limiters, frame);
	else
		return false;
	return true;
}

static bool takes_tcp(const struct policy *policy)
{
	for (unsigned i = 0; i < policy_n_matches(policy); i++) {
		uint8_t proto = policy_match(policy, i)->proto;

		if (proto == 0 || proto == IPPROTO_TCP)
			return true;
	}
	return false;
}

/* Whether it drops packets of TCP. */
static bool drops_tcp(const struct policy *policy)
{
	return takes_tcp(policy) &&
	       (policy->action == ACTION_DROP ||
		       (policy->action == ACTION_MARK && policy->mark == MARK_ECN));
}

/* The time at the limit at which TCP needs most; at whatever limiters it is. */
static uint64_t tcp_needs(const struct policy *policy, unsigned n_limiters)
{
	uint64_t most = TCP_BPS * n_limiters;
	uint64_t limit = policy->limit_bps < most ? policy->limit_bps : most;

	return in_time(limit, depth_ms(policy));
}

static void warn_tcp(struct reader *reader, const struct json_path *at, const struct policy *policy,
	uint64_t frame, unsigned n_limiters)
{
	uint64_t time = tcp_needs(policy, n_limiters), few = FEW_FRAMES * frame;
	uint64_t parts = is_parted(policy) ? FRAMES * frame * n_limiters : 0;
	char text[UNITS_TEXT_MAX];

	if (policy->burst_bytes >= max_u64(max_u64(WARN_PART(time), few), parts))
		return;
	units_format_size(max_u64(max_u64(time, few), parts), text, sizeof(text));
	if (policy->burst_bytes < max_u64(WARN_PART(time), few))
		reader_warn(reader, at,
			"less than TCP needs to reach the limit over a short round trip, as it "
			"waits 200 ms when the last of what it sent is lost: %s is enough",
			text);
	else if (policy->burst_bytes < parts)
		reader_warn(reader, at,
			"its part at each of %u limiters is less than %d of the largest frames, "
			"so TCP stops there where it should slow down: %s is enough",
			n_limiters, FRAMES, text);
}

/* A packet or a flow at each limiter. */
static void warn_count(struct reader *reader, const struct json_path *at,
	const struct policy *policy, unsigned n_limiters)
{
	if (is_parted(policy) && policy->burst_bytes < n_limiters)
		reader_warn(reader, at,
			"less than one for each of %u limiters: nothing passes where it is none",
			n_limiters);
}

void burst_warn(struct reader *reader, const struct json_path *path, const struct policy *policy,
	uint64_t frame, unsigned n_limiters)
{
	struct json_path at = {.parent = path, .key = "burst"};
	unsigned n = n_limiters ? n_limiters : 1;

	if (policy->count != COUNT_BYTES)
		warn_count(reader, &at, policy, n);
	else if (has_bucket(policy) && !warn_frame(reader, &at, policy, frame, n) &&
		 drops_tcp(policy))
		warn_tcp(reader, &at, policy, frame, n);
}
