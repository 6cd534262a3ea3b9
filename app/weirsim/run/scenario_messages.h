/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about scenarios of weirsim run: see json/message_row.h.
 */
#ifndef WEIR_SIM_SCENARIO_MESSAGES_H
#define WEIR_SIM_SCENARIO_MESSAGES_H

#include "json/json_messages.h"

#define SCENARIO_MESSAGES(X)                                                                     \
	X(NAME_RESERVED, EXPECTED, "a name: this means something to traffic")                    \
	X(NAME_TWICE, EXPECTED, "each name once")                                                \
	X(ABOVE_DURATION, EXPECTED, "less than the duration")                                    \
	X(INTERVAL_NO_PART, EXPECTED, "a part of 1s, such as 100ms")                             \
	X(NOT_MULTIPLE_OF_INTERVAL, EXPECTED, "a multiple of the interval")                      \
	X(INTERVAL_TOO_SHORT, EXPECTED, "one that makes at most %u of them")                     \
	X(INTERVAL_TOO_MANY_NUMBERS, EXPECTED,                                                   \
		"a longer one: limiters and flows have %llu of them to be kept")                 \
	X(REQUESTS_MISSING, EXPECTED, "a rate of requests a second: kind is \"web\"")            \
	X(SIZES_REVERSED, ERROR, "expected least below most")                                    \
	X(KEY_OF_OTHER_TRAFFIC, ERROR, "has no meaning for this kind of traffic")                \
	X(ECN_NEEDS_CONGESTION, ERROR, "needs congestion \"newreno\" or \"cubic\"")              \
	X(RATE_MISSING, EXPECTED, "a rate: kind is \"cbr\", \"poisson\" or \"on-off\"")          \
	X(SIZE_TOO_LARGE, EXPECTED, "at most %lluB in such packets")                             \
	X(STOP_BEFORE_START, EXPECTED, "later than the start")                                   \
	X(WRONG_PLACE, EXPECTED, "the name of a limiter, \"each\" or \"random\"")                \
	X(NO_POLICY_OF_SCENARIO, EXPECTED, "the name of a policy in \"policies\"")               \
	X(NO_LIMITER_OF_SCENARIO, EXPECTED, "the name of a limiter")                             \
	X(SIDE_TYPE, EXPECTED, "an array of limiters")                                           \
	X(PAIRS_NUMBER, EXPECTED, "at most %u of them")                                          \
	X(SIDES_NUMBER, EXPECTED, "2 to %u sides")                                               \
	X(FOR_OF_OTHER_EVENT, ERROR, "has no meaning for this event")                            \
	X(PAUSE_MISSING, EXPECTED, "how long the pause is, such as \"2s\"")                      \
	X(POLICY_WITHOUT_LIMIT, ERROR, "requires \"limit\" in the same event")                   \
	X(EVENT_KIND, EXPECTED, "one of partition, heal, crash, restart, pause, network, limit") \
	X(EVENT_NOT_TRUE, EXPECTED, "true")                                                      \
	X(POLICY_LACKS, ERROR, "policies[0] %s")                                                 \
	X(LEASE_BELOW_GOSSIP, EXPECTED, "more than the timeout of gossip")                       \
	X(POLICIES_MISSING, EXPECTED, "at least one")                                            \
	X(EXPECT_RANGE, EXPECTED, "the least and the most, such as [0.97, 1.02]")                \
	X(FLOWS_TOO_MANY, ERROR, "%llu flows in all: expected at most %u")                       \
	X(SIZES_TOO_LARGE, ERROR, "expected most at most %lluB in such packets")                 \
	X(NOT_IN_SUMMARY, ERROR, "not a number of the summary: expected one of %s")

SCENARIO_MESSAGES(MESSAGE_DECLARE)

#endif
