/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The shaper's state of a waiting packet is in its mbuf, in a dynamic field (rte_mbuf_dyn.h). The
 * slot of its policy is in the place of the flow's hash, which is not needed any more.
 *
 * The arrival of a packet is measured by its device. Without such a device, the owner of the
 * receive queue measures it, even if another worker decides the packet.
 */
#ifndef WEIR_APP_SHAPE_MBUF_H
#define WEIR_APP_SHAPE_MBUF_H

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "shape/shape.h"

struct nic_clock;

/* Offset in an mbuf; written by shape_mbuf_register() alone. */
extern int shape_mbuf_offset;
extern uint64_t shape_mbuf_stamped; /* flag of an mbuf with the arrival there */

/* Offset where devices write the time of reception, and the flag of an mbuf that has it. */
extern int shape_mbuf_nic_offset;
extern uint64_t shape_mbuf_nic_flag;

/*
 * Reserves the fields in mbufs; idempotent. Returns 0 or a negative errno. Control, after the start
 * of EAL and before the first port's.
 */
int shape_mbuf_register(void);

static inline struct shape_packet *shape_mbuf_packet(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, shape_mbuf_offset, struct shape_packet *);
}

static inline struct rte_mbuf *shape_mbuf_of(struct shape_packet *packet)
{
	return (struct rte_mbuf *)((uintptr_t)packet - (uintptr_t)shape_mbuf_offset);
}

/*
 * Returns the policy's slot of a waiting packet. It replaces the hash of the flow, because a
 * further field would take the last four bytes that an mbuf has for its drivers.
 */
static inline uint32_t shape_mbuf_slot(const struct rte_mbuf *m)
{
	return m->hash.usr;
}

static inline void shape_mbuf_set_slot(struct rte_mbuf *m, uint32_t slot)
{
	m->hash.usr = slot;
}

/* Notes the arrival of a packet for the worker that will decide it. */
static inline void shape_mbuf_stamp(struct rte_mbuf *m, uint64_t arrival)
{
	shape_mbuf_packet(m)->arrival = arrival;
	m->ol_flags |= shape_mbuf_stamped;
}

/*
 * Stamps packets with the arrival that their device measured. Packets without such a time are not
 * changed. n packets were received by tick `now`; ticks_per_us: of the TSC.
 */
void shape_mbuf_stamp_all(struct rte_mbuf **mbufs, uint16_t n, const struct nic_clock *clock,
	uint64_t now, uint64_t ticks_per_us);

#endif
