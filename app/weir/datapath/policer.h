/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How a worker decides the packets of each kind of policy (enum police_kind). Each kind has a row,
 * in a file of its own. decide.c divides a burst by these rows; most bursts have only one kind and
 * are not divided. Private to this room; the worker's own thread.
 */
#ifndef WEIR_APP_POLICER_H
#define WEIR_APP_POLICER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "packet/mark.h"
#include "police/borrow.h"
#include "police/charge.h"
#include "police/expire.h"
#include "police/sample.h"
#include "rx_burst.h"
#include "snapshot.h"
#include "worker_data.h"

/* Rows: one for each kind of state, and one for policies below others. */
enum { POLICER_LEVEL = POLICE_KINDS, POLICERS };

/*
 * Returns the row of a policy by its state. A shaped policy keeps its row even if it is below
 * others: the levels above are charged when its packets leave.
 */
static inline unsigned policer_row(const struct policy_state *state)
{
	enum police_kind kind = police_kind(state);

	return police_is_below(state) && kind != POLICE_SHAPED ? POLICER_LEVEL : kind;
}

struct policer {
	/*
	 * Begins to fetch the data that packets (bit mask) need in addition to their policies'
	 * lines, which have been fetched. Can be NULL.
	 */
	void (*fetch)(
		struct worker *worker, struct rx_burst *burst, uint64_t packets, uint64_t now);

	/*
	 * Charges packets (bit mask) in their order, samples and counts them. Returns the packets
	 * that do not pass, as a bit mask.
	 */
	uint64_t (*charge)(
		struct worker *worker, struct rx_burst *burst, uint64_t packets, uint64_t now);

	/*
	 * Does the same for a whole burst of n packets of one policy. NULL if that has no
	 * advantage.
	 */
	uint64_t (*charge_alike)(
		struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now);

	bool tries; /* charge() also makes the packets' trials */
};

extern const struct policer policer_simple; /* also packets without a policy */
extern const struct policer policer_total;
extern const struct policer policer_phantom;
extern const struct policer policer_shaped;
extern const struct policer policer_sourced;
/* Policies of police_is_below(). While limits have not ended, also those of policer_simple. */
extern const struct policer policer_level;
extern const struct policer policer_other;

/* Returns the policy of a packet that has one. */
static inline struct policy_state *burst_policy(
	struct worker *worker, const struct rx_burst *burst, unsigned i)
{
	return &worker->policies[burst->frames.policy[i]];
}

/* Begins to fetch the lines of the levels above the policy in that slot. */
void policer_fetch_above(struct worker *worker, uint32_t slot);

/* Returns the bytes that a packet's policy charges. */
static inline uint32_t policer_bytes(
	const struct policy_state *state, const struct rx_burst *burst, unsigned i)
{
	return police_bytes(state, burst->frames.uncharged[i], burst->len[i]);
}

/* Returns a mask of n packets. */
static inline uint64_t burst_mask(unsigned n)
{
	return UINT64_MAX >> (64 - n);
}

/* Returns those of the packets (bit mask) that have a policy. */
static inline uint64_t burst_matched(const struct rx_burst *burst, uint64_t packets)
{
	if (likely(!burst->unmatched))
		return packets;
	for (unsigned i = 0; i < burst->n; i++)
		packets &= ~((uint64_t)(burst->frames.policy[i] == CLASSIFY_NONE) << i);
	return packets;
}

/*
 * Notes a packet that its policy samples, if the worker's bound allows. Begins to fetch the memory
 * that the sample will be written to.
 */
void policer_sample(struct worker *worker, struct rx_burst *burst, unsigned i, uint32_t cost);

/* policer_sample() for another policy, in that slot, that the packet is charged to. */
void policer_sample_of(
	struct worker *worker, struct rx_burst *burst, unsigned i, uint32_t slot, uint32_t cost);

/* policer_sample() for the packets of a burst of one policy that police_samples_burst() selects. */
static inline void policer_sample_alike(struct worker *worker, const struct policy_state *state,
	struct rx_burst *burst, const uint32_t *costs, uint16_t n)
{
	for (uint64_t samples = police_samples_burst(state, n); samples; samples &= samples - 1) {
		unsigned i = (unsigned)__builtin_ctzll(samples);

		policer_sample(worker, burst, i, costs[i]);
	}
}

/* Sets costs[] to police_bytes() of every packet by one accounting. Masks allow vectors. */
void policer_costs_alike(
	uint32_t *costs, const struct rx_burst *burst, enum accounting accounting, uint16_t n);

/*
 * Begins to fetch the meter of a packet's source. Returns 1 if the packet can be added, see
 * sourced_fetch().
 */
static inline uint64_t policer_fetch_source(
	struct rx_burst *burst, unsigned i, const struct sourced_policy *policy, uint32_t bytes)
{
	struct sourced_packet packet = {.bytes = bytes};

	packet.family = frames_source(&burst->frames, i, &packet.src);
	return sourced_fetch(&burst->sourced, i, policy, &packet);
}

/* Adds a packet of a per-source policy to the packets that are metered together. */
static inline void policer_add_source(
	struct rx_burst *burst, unsigned i, struct policy_state *state)
{
	const struct sourced_policy policy = sourced_policy(state);
	const uint32_t bytes = policer_bytes(state, burst, i);

	sourced_add(&burst->sourced, &policy, policer_fetch_source(burst, i, &policy, bytes) << i);
}

/* Adds all n packets of a burst of one such policy, and no others. */
static inline void policer_add_sources(
	struct rx_burst *burst, struct policy_state *state, uint16_t n)
{
	const struct sourced_policy policy = sourced_policy(state);
	uint32_t bytes[BURST];
	uint64_t packets = 0;

	sourced_begin(&burst->sourced);
	policer_costs_alike(bytes, burst, police_accounting(state), n);
	for (uint16_t i = 0; i < n; i++)
		packets |= policer_fetch_source(burst, i, &policy, bytes[i]) << i;
	sourced_add(&burst->sourced, &policy, packets);
}

/*
 * burst_flow_hash() without a hash from the device. Keeps the result in the packet for later calls.
 */
uint32_t burst_keep_flow_hash(struct rx_burst *burst, unsigned i);

/* Returns the hash of a packet's flow. */
static inline uint32_t burst_flow_hash(struct rx_burst *burst, unsigned i)
{
	if (likely(burst_has_hash(burst, i)))
		return burst->mbufs[i]->hash.rss;
	return burst_keep_flow_hash(burst, i);
}

/* Marks a packet in its buffer. Private to this room. */

/*
 * Marks a packet if its buffer is not shared and its IP header is in its first segment. A copy of a
 * shared buffer would need another buffer, and there might be none. Returns true if it was marked.
 */
static inline bool policer_mark(struct rte_mbuf *m, const struct packet *packet, int how)
{
	return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 &&
	       mark_frame(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, packet, how);
}

/*
 * Tokens that the bucket shared by all workers lends to a policy's bucket on a worker, also by a
 * limit that has ended. Private to this room; the worker's own thread.
 */

/*
 * Returns true if limits might have ended, so that policer_lend() is due. One branch for both
 * kinds.
 */
static inline bool policer_limits_end(const struct worker *worker)
{
	return (worker->own.ended | worker->own.silent) != 0;
}

/*
 * Returns true if limits of shared buckets might have ended. Without shared buckets, the lines have
 * the limits in force.
 */
static inline bool policer_loans_end(const struct worker *worker)
{
	return worker->shared_buckets && policer_limits_end(worker);
}

/* Lends the cost of a packet to a policy that is simple or police_borrows(). */
void policer_lend(struct worker *worker, struct policy_state *state, uint32_t policy, uint32_t cost,
	uint64_t now);

/*
 * Packets of policies that have a trial. A packet is first charged to the trial and counted there,
 * and is then treated as if there were none. Packets of other policies cost nothing more, because
 * decide() treats policies with a trial separately. The worker's own thread.
 */

/* Charges packet i of a burst to the trial of its policy, whose state is given. */
void try_packet(struct worker *worker, const struct policy_state *state, struct rx_burst *burst,
	unsigned i, uint64_t now);

/*
 * Begins or ends the trials that a newer snapshot names, a limited number of them at a time.
 * Returns true when all are done; call it again until then.
 */
bool try_changes(struct worker *worker, const struct snapshot *newer);

/*
 * Packets of a burst that are charged to one line each, in one step. Private to this room; the
 * worker's own thread.
 */

/* The policy's state and the costs of each packet. */
struct policer_lines {
	struct policy_state *states[BURST];         /* plain; `none` if it is not charged */
	uint32_t costs[ACCOUNTING_WIRE + 1][BURST]; /* police_bytes() by each accounting */
	/*
	 * A plain state that is never empty: charging packets without a policy to it saves a
	 * branch.
	 */
	struct policy_state none;
};

/*
 * Fills in `lines` and begins to fetch the policies' lines. `matched`: bit mask of the packets to
 * charge; they have plain policies.
 */
void policer_lines_find(struct policer_lines *lines, struct worker *worker,
	const struct rx_burst *burst, uint64_t matched, uint64_t now);

/* Charges, samples and counts them. Returns those of the burst that do not pass, as a bit mask. */
uint64_t policer_lines_charge(
	struct policer_lines *lines, struct worker *worker, struct rx_burst *burst, uint64_t now);

/*
 * Charges, samples and counts packets like policer_lines_charge(), eight at a time. Sets *drops to
 * the packets that do not pass, as a bit mask. Returns false, and has done nothing, if the CPU
 * cannot, if limits have ended, or if it is slower because more than one eight repeats a policy.
 */
bool policer_lines_charge_eights(struct worker *worker, struct rx_burst *burst, uint64_t matched,
	uint64_t now, uint64_t *drops);

/*
 * Packets of policies below others, while every level above has tokens for the whole burst. Such a
 * level refuses no packet, so the order of charging does not matter. A packet's own policy decides,
 * like any plain policy, and the levels above are charged for the packets that it passed. Private
 * to this room; the worker's own thread.
 */

struct rx_burst;
struct worker;

/*
 * Charges, samples, tries and counts such packets, and packets without a policy. Limits must not
 * have ended. `packets` is a bit mask of candidates. Returns those that it has charged, and adds to
 * *drops those of them that do not pass.
 */
uint64_t policer_free(struct worker *worker, struct rx_burst *burst, uint64_t packets, uint64_t now,
	uint64_t *drops);

/*
 * Does the same for packets whose own policies have a meter for each source, and that were added to
 * burst->sourced. Call it after policer_free().
 */
uint64_t policer_free_sources(struct worker *worker, struct rx_burst *burst, uint64_t packets,
	uint64_t now, uint64_t *drops);

/*
 * policer_free() of all n packets of a burst of one policy, which is below others and has no trial.
 * Returns false, and has charged nothing, if it cannot decide them.
 */
bool policer_free_alike(
	struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now, uint64_t *drops);

#endif
