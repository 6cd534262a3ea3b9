/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Datagrams that came from a limiter's address and were not believed, of each limiter of the
 * roster: who has another key is in no datagram that opens, and shows here. Control thread.
 */
#ifndef WEIR_APP_REFUSALS_H
#define WEIR_APP_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#include "gossip/gossip.h"
#include "policy/config.h"

/* In place of a verdict: it names a limiter that has another address. */
#define REFUSED_SOURCE GOSSIP_VERDICTS

struct refusal {
	uint64_t n;
	uint64_t last_ns;  /* by control_now(), as these all; 0: none yet */
	uint64_t since_ns; /* the first of those since the limiter was last heard itself */
	unsigned verdict;  /* of the last one: an enum gossip_verdict, or REFUSED_SOURCE */
};

struct refusals;

/* 0 or -ENOMEM. The configuration is borrowed. */
int refusals_create(const struct gossip_config *config, struct refusals **out);
void refusals_destroy(struct refusals *refusals);

/* Whether a datagram with this verdict is one that the address it came from is asked about. */
bool refusals_count(unsigned verdict);

/*
 * The limiter of the roster with that address, or n_roster. Where several have it, it is the one
 * that the datagram names (an index in the roster, or n_roster), else the one with that port.
 */
unsigned refusals_source(
	const struct refusals *refusals, const struct sockaddr_storage *from, unsigned named);

/* One from a limiter that was last heard itself at that time, or 0: never. */
void refusals_note(struct refusals *refusals, unsigned peer, unsigned verdict, uint64_t spoke_ns,
	uint64_t now_ns);

const struct refusal *refusals_of(const struct refusals *refusals, unsigned peer);

/* "forged" or the like; NULL: there was none. */
const char *refusal_name(const struct refusal *refusal);

#endif
