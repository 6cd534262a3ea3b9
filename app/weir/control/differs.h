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
bool differs_unheard(const struct instance *inst, unsigned i, uint64_t now_ns);

#endif
