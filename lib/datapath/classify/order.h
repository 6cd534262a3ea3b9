/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Precedence: what policies are sorted by, and a policy as the rule that it becomes. Private to
 * this folder. Control.
 */
#ifndef WEIR_CLASSIFY_ORDER_H
#define WEIR_CLASSIFY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/tables.h"

enum stage { STAGE_DST, STAGE_SRC, STAGE_ANY, STAGES };

/* Compared as bytes, in this order. Up to length it names the prefix; the rest is precedence. */
struct order {
	uint8_t stage, family, addr[16], length;
	uint8_t source;   /* 128 - length of the source prefix, as the longest goes first */
	uint8_t no_field; /* a bit for each of VLAN, DSCP, protocol not named; VLAN weighs most */
	uint8_t dst_ports[2]; /* how many more than one, big-endian */
	uint8_t src_ports[2];
	uint8_t no_place; /* a bit each for whether it is a default, and wire and direction */
};

struct order match_order(const struct match *match);

/* A packet has one family, so a policy that names both can match nothing. */
bool match_is_possible(const struct match *match);

/* What a match asks for beside its addresses. */
struct rule match_rule(const struct match *match);

#endif
