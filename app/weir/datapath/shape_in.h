/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that a worker holds until they conform (ACTION_SHAPE). What the shaper keeps of one lies
 * in its mbuf, where DPDK gives room to whoever asks (rte_mbuf_dyn.h); the slot of its policy where
 * the hash of its flow was, which nobody asks for any more.
 *
 * A packet arrived when its device says so, or else when the worker that owns the receive queue
 * took in its burst, whichever worker decides it.
 */
#ifndef WEIR_APP_SHAPE_IN_H
#define WEIR_APP_SHAPE_IN_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "police/shaped.h"
#include "shape/shape.h"
#include "worker_data.h"

struct nic_clock;
struct policy_state;

/* Where in an mbuf; written by shape_in_register() alone. */
extern int shape_in_offset;
extern uint64_t shape_in_stamped; /* flag of an mbuf whose arrival is written there */

/* Where devices write when a packet came in, and the flag of an mbuf where one has. */
extern int shape_in_nic_offset;
extern uint64_t shape_in_nic_flag;

/* Control, after EAL's start and before any port's: 0 or a negative errno. Twice is as once. */
int shape_in_register(void);

static inline struct shape_packet *shape_in_of(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, shape_in_offset, struct shape_packet *);
}

static inline struct rte_mbuf *shape_in_mbuf(struct shape_packet *packet)
{
	return (struct rte_mbuf *)((uintptr_t)packet - (uintptr_t)shape_in_offset);
}

/*
 * The slot of the policy of a packet that waits. It lies where the hash of its flow was, since a
 * field more of our own would take the last four bytes that an mbuf has for its drivers.
 */
static inline uint32_t shape_in_slot(const struct rte_mbuf *m)
{
	return m->hash.usr;
}

static inline void shape_in_set_slot(struct rte_mbuf *m, uint32_t slot)
{
	m->hash.usr = slot;
}

/* Notes when a packet arrived that another worker will decide. */
static inline void shape_in_stamp(struct rte_mbuf *m, uint64_t arrival)
{
	shape_in_of(m)->arrival = arrival;
	m->ol_flags |= shape_in_stamped;
}

/*
 * Stamps each of n packets received by tick `now`, as their device says; of those that it says
 * nothing of, `now` is to be taken. ticks_per_us: of the TSC.
 */
void shape_in_stamp_all(struct rte_mbuf **mbufs, uint16_t n, const struct nic_clock *clock,
	uint64_t now, uint64_t ticks_per_us);

/* A packet on its way to shape_in_arrive(). */
struct held {
	struct rte_mbuf *m;
	uint32_t slot; /* of its policy */
	uint32_t cost;
	uint16_t path; /* of the worker's, by which it came */
	bool ecn;      /* may be marked */
};

/*
 * A packet of a policy that police_is_shaped(), and counts it. SHAPE_WAITS: it is the worker's
 * shaper's; above that it is to be dropped, and is counted as the worker's drop too. The worker's
 * own thread.
 */
enum shape_verdict shape_in_arrive(
	struct worker *worker, struct policy_state *state, const struct held *held, uint64_t now);

#endif
