/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The balance of packets: received = transmitted + dropped + waiting. Workers count without locks,
 * so the counters can be read in the middle of a burst. `missing` and `surplus` are lower bounds:
 * neither is above `in_work` unless a packet is in no counter, or in two of them.
 */
#ifndef WEIR_APP_PACKET_BALANCE_H
#define WEIR_APP_PACKET_BALANCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "drop/drop_reason.h"

struct instance;

struct packet_balance {
	uint64_t received; /* by the worker that decides the packet */
	uint64_t transmitted, dropped;
	uint64_t reasons[DROP_REASONS]; /* parts of `dropped` */
	uint64_t waiting;               /* in queues of shaped policies, and between workers */
	uint64_t missing, surplus;      /* received without an end; ended without being received */
	uint64_t in_work;               /* largest number that running workers can hold */
};

/* Packets of a wire, by its index, or of all wires, since the start. Control. */
#define PACKET_BALANCE_ALL UINT_MAX
struct packet_balance packet_balance(const struct instance *inst, unsigned wire);

/* Returns true if counters and packets cannot agree. */
static inline bool packet_balance_fails(const struct packet_balance *balance)
{
	return balance->missing > balance->in_work || balance->surplus > balance->in_work;
}

#endif
