/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The default burst, and warnings about a burst that is too small for TCP. test/bench/burst.py
 * measures the throughput by depth, and doc/operate/burst.md has its tables.
 */
#include <inttypes.h>
#include <netinet/in.h>

#include "base/math.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "policy/kind.h"
#include "policy/units.h"

#define PACKET 1500 /* bytes: the usual MTU */

/*
 * ms of the limit. A flow with the smallest window, two packets, and a short round trip always
 * exceeds the limit. So it empties the bucket, loses its last packets, and waits for its timer:
 * 200 ms, the minimum of Linux, and a round trip. If the bucket is full before that, the rest of
 * the time is lost. 250 ms leave room for the ticks of the timer, and a round trip of up to 50 ms.
 */
#define TCP_MS 250

/* A single class has 0.78 of the burst of a phantom (phantom_needs()): 250 / 0.78, rounded up. */
#define PHANTOM_MS 350

/* Packets wait instead of being lost, so a smaller bucket is enough. */
#define SHAPE_MS 100

/* For packets and flows, which no round trip restricts. */
#define COUNT_MS 100

/* Packets. Below 1 Mbit/s a flow with a long round trip needs more than TCP_MS. */
#define LEAST_PACKETS 20

/* Packets or flows: the minimum for policies that count them, and for each part of a hard limit. */
#define LEAST_PART 10

/* bit/s. Two packets in a round trip of 0.1 ms; a higher limit of a limiter exceeds them. */
#define TCP_BPS UINT64_C(240000000)

/* Frames: with so many, acknowledgements of later frames report a lost one; see limiter.c. */
#define FRAMES 6

/* Frames that a flow needs at any limit: with two it has 0.83 of 0.1 Mbit/s. */
#define FEW_FRAMES 3

/* A smaller burst has a visible loss: 5 % at 200 ms. */
#define WARN_PART(bytes) ((bytes) / 5 * 4)

static unsigned depth_ms(const struct policy *policy)
{
	if (policy->count != COUNT_BYTES)
		return COUNT_MS;
	if (policy->action == ACTION_SHAPE)
		return SHAPE_MS;
	return meter_can(policy->meter, METER_CLASSES) ? PHANTOM_MS : TCP_MS;
}

/* The bucket of a hard limit is no larger than its part, so each part needs the minimum. */
static uint64_t least_burst(const struct policy *policy, unsigned n_limiters)
{
	unsigned parts = policy_is_hard(policy) ? n_limiters : 1;
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
 * Returns true if the depth of the bucket matters. A quota has a bucket only with a limit, for the
 * time after it is exhausted. Waiting packets get their tokens from a bucket of any size.
 */
static bool has_bucket(const struct policy *policy)
{
	if (policy->action == ACTION_SHAPE || policy->count != COUNT_BYTES)
		return false;
	return meter_can(policy->meter, METER_BURST) && policy->limit_bps > 0;
}

/* Returns true if each limiter's bucket is at most a part of the burst. */
static bool is_parted(const struct policy *policy)
{
	return policy_is_hard(policy) && policy->action != ACTION_SHAPE;
}

/* Warns if the burst, or a limiter's part of it, is too small for a frame. Returns true then. */
static bool warn_frame(struct reader *reader, const struct json_path *at,
	const struct policy *policy, uint64_t frame, unsigned n_limiters)
{
	if (policy->burst_bytes < frame)
		reader_report(reader, at, MESSAGE(BURST_BELOW_FRAME), frame);
	else if (is_parted(policy) && policy->burst_bytes / n_limiters < frame)
		reader_report(reader, at, MESSAGE(BURST_PART_BELOW_FRAME), n_limiters, frame);
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

/* Returns true if the policy can drop TCP packets. */
static bool drops_tcp(const struct policy *policy)
{
	return takes_tcp(policy) &&
	       (policy->action == ACTION_DROP ||
		       (policy->action == ACTION_MARK && policy->mark == MARK_ECN));
}

static void warn_tcp(struct reader *reader, const struct json_path *at, const struct policy *policy,
	uint64_t frame, unsigned n_limiters)
{
	/* All flows of TCP can be at any of the limiters. */
	const uint64_t most = TCP_BPS * n_limiters;
	const uint64_t limit = policy->limit_bps < most ? policy->limit_bps : most;
	uint64_t time = in_time(limit, depth_ms(policy)), few = FEW_FRAMES * frame;
	uint64_t parts = is_parted(policy) ? FRAMES * frame * n_limiters : 0;
	char text[UNITS_TEXT_MAX];

	if (policy->burst_bytes >= max_u64(max_u64(WARN_PART(time), few), parts))
		return;
	units_format_size(max_u64(max_u64(time, few), parts), text, sizeof(text));
	if (policy->burst_bytes < max_u64(WARN_PART(time), few))
		reader_report(reader, at, MESSAGE(BURST_BELOW_TCP), text);
	else if (policy->burst_bytes < parts)
		reader_report(reader, at, MESSAGE(BURST_PART_BELOW_TCP), n_limiters, FRAMES, text);
}

/* Warns if a limiter's part is less than one packet or flow. */
static void warn_count(struct reader *reader, const struct json_path *at,
	const struct policy *policy, unsigned n_limiters)
{
	if (is_parted(policy) && policy->burst_bytes < n_limiters)
		reader_report(reader, at, MESSAGE(BURST_PART_BELOW_ONE), n_limiters);
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
