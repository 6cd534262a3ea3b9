/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about scenarios of weirsim plan: see json/message_row.h.
 */
#ifndef WEIR_SIM_PLAN_MESSAGES_H
#define WEIR_SIM_PLAN_MESSAGES_H

#include "json/json_messages.h"

#define PLAN_MESSAGES(X)                                                               \
	X(PLAN_NAME_TWICE, EXPECTED, "each name once")                                 \
	X(PLAN_EMPTY, EXPECTED, "at least one")                                        \
	X(PLAN_OVERLOADED, WARNING, "sources send as much, and will wait without end") \
	X(PLAN_BELOW_CAPACITY, EXPECTED, "no less than the capacity")                  \
	X(PLAN_NO_ROOM, EXPECTED, "room for a packet")                                 \
	X(PLAN_ABOVE_OBJECTIVE, EXPECTED, "less than the objective")

PLAN_MESSAGES(MESSAGE_DECLARE)

#endif
