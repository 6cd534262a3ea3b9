/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Precedence: the sort key of a match, and the rule that it becomes. Private to this folder.
 * Control.
 */
#ifndef WEIR_CLASSIFY_ORDER_H
#define WEIR_CLASSIFY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/tables.h"

enum stage { STAGE_DST, STAGE_SRC, STAGE_ANY, STAGES };

/*
 * Compared as bytes, in this order. The fields up to `length` identify the prefix; the others are
 * precedence.
 */
struct order {
	uint8_t stage, family, addr[16], length;
	uint8_t source;       /* 128 - length of the source prefix: longest first */
	uint8_t no_field;     /* bits for VLAN (highest), DSCP and protocol not named */
	uint8_t dst_ports[2]; /* width: last - first, big-endian */
	uint8_t src_ports[2];
	uint8_t no_place; /* bits: a default policy; wire not named; direction not named */
};

struct order match_order(const struct match *match);

/* Returns whether a match can match any packet: its two addresses are of one family. */
bool match_is_possible(const struct match *match);

/* Returns the conditions of a match, except its addresses. */
struct rule match_rule(const struct match *match);

#endif
