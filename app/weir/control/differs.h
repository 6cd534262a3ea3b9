/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * In what a peer differs from this limiter: what it was told otherwise (agree/agree.h), and whether
 * it can be heard at all. Control thread.
 */
#ifndef WEIR_APP_DIFFERS_H
#define WEIR_APP_DIFFERS_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

/* So many are named of one peer, with so many bytes each at most. */
#define DIFFERS_NAMED 2
#define DIFFERS_TEXT  240

struct differs {
	uint64_t since_ns; /* by control_now(); 0: it does not */
	bool fixed;        /* something of it no reload can be the reason of */
	bool more;         /* what else differs is not all known yet */
	unsigned named;
	unsigned others; /* that are not named */
	char text[DIFFERS_NAMED][DIFFERS_TEXT];
};

/* What is so of peer i of the roster. */
struct differs differs_of(const struct instance *inst, unsigned i, uint64_t now_ns);

/* Whether a peer should have been heard by now, and was not; gossip has to watch it. */
bool differs_unheard(const struct instance *inst, unsigned i, uint64_t now_ns);

#endif
