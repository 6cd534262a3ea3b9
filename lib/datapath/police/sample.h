/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Chooses the packets of a policy that are samples of its flows, and their weight. No table and no
 * state of its own: the policy's count of packets decides.
 */
#ifndef WEIR_POLICE_SAMPLE_H
#define WEIR_POLICE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow_sample.h"
#include "packet/parse.h"
#include "police/policy_state.h"

#define POLICE_TCP 6 /* protocol number */

/* The upper 15 bits of where the next packet to be charged is in the sequence. */
static inline uint32_t police_word(const struct policy_state *state)
{
	return police_word_of(state->packets);
}

/* Words below this are of the sample: 2^-shift of all there are, or none. */
static inline uint32_t police_sample_below(const struct policy_state *state)
{
	return UINT32_C(0x8000) >> police_shift(state);
}

/*
 * Returns true if the next packet to be charged is of the sample: one in 2^k, by the policy's own
 * count of packets times the golden ratio (a Weyl sequence). That is spread as evenly as can be,
 * over any stretch of packets and over every m-th of them, for any m. So traffic in step with
 * something is not seen one-sidedly. The state's one writer.
 */
static inline bool police_samples(const struct policy_state *state)
{
	return police_word(state) < police_sample_below(state);
}

/*
 * Returns true if more than a charge is due for the next packet: it is sampled, or the policy is
 * not plain. One branch, which most packets take alike. The state's one writer.
 */
static inline bool police_is_slow(const struct policy_state *state)
{
	return police_owner_asides(token_bucket_owner(&state->bucket), state->packets);
}

/*
 * police_samples() of the next n packets (at most 64), a bit each. Mostly there is none, which is
 * found out with vectors.
 */
static inline uint64_t police_samples_burst(const struct policy_state *state, unsigned n)
{
	uint32_t word = state->packets * POLICE_WEYL, below = police_sample_below(state);
	uint32_t last = (below << 17) - 1, any = 0;
	uint64_t samples = 0;

	if (below == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		any |= word + i * POLICE_WEYL <= last;
	for (uint32_t i = 0; any && i < n; i++)
		samples |= (uint64_t)(word + i * POLICE_WEYL <= last) << i;
	return samples;
}

static inline bool police_samples_tcp_only(const struct policy_state *state)
{
	return police_flags(state) & POLICE_TCP_ONLY;
}

/* Returns true if the policy uses a packet that police_samples() has chosen. */
static inline bool police_samples_packet(
	const struct policy_state *state, const struct packet *packet)
{
	return !police_samples_tcp_only(state) || packet->proto == POLICE_TCP;
}

/* Returns the bytes of a sampled packet, which stands for others too. */
static inline uint64_t police_sample_bytes(const struct policy_state *state, uint32_t cost)
{
	return (uint64_t)cost << police_shift(state);
}

/*
 * Adds to the sample a packet that police_samples() has chosen. `data` are the bytes that `packet`
 * was parsed from.
 */
static inline void police_sample(struct flow_sample *sample, const struct policy_state *state,
	const struct packet *packet, const uint8_t *data, uint32_t cost)
{
	if (police_samples_packet(state, packet))
		flow_sample_add(
			sample, packet_flow_hash(packet, data), police_sample_bytes(state, cost));
}

#endif
