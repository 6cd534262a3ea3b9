/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The differences between a peer and this limiter: other settings (agree/agree.h), or no datagrams
 * that can be read. Control thread.
 */
#ifndef WEIR_APP_DIFFERS_H
#define WEIR_APP_DIFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "gossip/gossip.h"
#include "policy/config.h"

/*
 * Rejected datagrams from the address of each limiter of the roster. No datagram of a limiter with
 * another key opens, so its key shows only here. Control thread.
 */

/* In place of a verdict: the limiter that it names has another address. */
#define REFUSED_SOURCE GOSSIP_VERDICTS

struct refusal {
	uint64_t n;
	uint64_t last_ns;  /* by control_now(); 0: none yet */
	uint64_t since_ns; /* the first one after the last accepted datagram */
	unsigned verdict;  /* the last one's: an enum gossip_verdict, or REFUSED_SOURCE */
};

struct refusals;

/* Returns 0 or -ENOMEM. Borrows the configuration. */
int refusals_create(const struct gossip_config *config, struct refusals **out);
void refusals_destroy(struct refusals *refusals);

/* Returns true if a datagram with this verdict counts for the address that it came from. */
bool refusals_count(unsigned verdict);

/*
 * Returns the limiter of the roster with that address, or n_roster. If several have it, returns the
 * one that the datagram names (`named`: an index in the roster, or n_roster), otherwise the one
 * with that port.
 */
unsigned refusals_source(
	const struct refusals *refusals, const struct sockaddr_storage *from, unsigned named);

/* Notes one from a limiter whose last accepted datagram came at spoke_ns, or never (0). */
void refusals_note(struct refusals *refusals, unsigned peer, unsigned verdict, uint64_t spoke_ns,
	uint64_t now_ns);

/* Continues with the former counts of a peer. */
void refusals_keep(struct refusals *refusals, unsigned peer, const struct refusal *before);

const struct refusal *refusals_of(const struct refusals *refusals, unsigned peer);

/* Returns a name such as "forged", or NULL if there was none. */
const char *refusal_name(const struct refusal *refusal);

struct instance;

/* Most differences that are named for one peer, and most bytes of each. */
#define DIFFERS_NAMED 2
#define DIFFERS_TEXT  240

struct differs {
	uint64_t since_ns; /* by control_now(); 0: no difference */
	bool fixed;        /* one of them cannot come from a reload */
	bool more;         /* some differences are not identified yet */
	unsigned named;
	unsigned others; /* differences without a text */
	char text[DIFFERS_NAMED][DIFFERS_TEXT];
};

/* Returns the differences of peer i of the roster. */
struct differs differs_of(const struct instance *inst, unsigned i, uint64_t now_ns);

/*
 * Returns true if a datagram of a peer should have arrived by now and has not. Gossip must watch
 * the peer.
 */
bool differs_silent(const struct instance *inst, unsigned i, uint64_t now_ns);

#endif
