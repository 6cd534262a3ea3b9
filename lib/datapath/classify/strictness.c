/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Control side of packets that are not fully parsed: computes each policy's strictness, as defined
 * in classify.h, as a number that can be compared.
 */
#include "classify/candidates.h"
#include "classify/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/time.h"
#include "policy/kind.h"

#define PACKET_BYTES 1500
#define MONTH_S      (30 * 86400.0)

/*
 * Classes of actions, in the upper bits of the number. The lower bits: the seconds in which the
 * limit earns one packet or flow, a float.
 */
enum strict_class { STRICT_COUNTS, STRICT_MARKS, STRICT_HOLDS };

#define CLASS_SHIFT 30

static enum strict_class class_of(enum action action)
{
	if (action == ACTION_COUNT || action == ACTION_PASS)
		return STRICT_COUNTS;
	return action == ACTION_MARK ? STRICT_MARKS : STRICT_HOLDS;
}

/* Units (bytes, packets or flows) per second, on average. */
static double units_per_s(const struct policy *policy)
{
	double rate = policy_rate(policy), period;

	if (policy->total == 0)
		return rate;
	period = policy->period == PERIOD_FIXED ? (double)policy->period_ns / SECOND_NS : MONTH_S;
	return rate + (double)policy->total / period;
}

/*
 * Combines both parts. Floats that are not negative sort in the order of their bits, and their
 * highest bit is 0.
 */
static uint32_t strict_word(enum strict_class class, double seconds)
{
	const float low = (float)seconds;
	uint32_t bits;

	memcpy(&bits, &low, sizeof(bits));
	return (uint32_t) class << CLASS_SHIFT | bits >> 1;
}

static uint32_t strictness_word(const struct policy *policy, bool opens)
{
	double cost = policy->count == COUNT_BYTES ? PACKET_BYTES : 1;

	if (policy->count == COUNT_FLOWS && !opens)
		cost = 0;
	return strict_word(class_of(policy->action), cost > 0 ? cost / units_per_s(policy) : 0);
}

/* The strictest of a policy and its parents, whose limits apply to its packets too. */
static uint32_t strictest_word(const struct policy *policies, uint32_t index, bool opens)
{
	uint32_t word = strictness_word(&policies[index], opens);

	while (policy_has_parent(&policies[index])) {
		uint32_t above;

		index = (uint32_t)policies[index].parent;
		above = strictness_word(&policies[index], opens);
		word = above > word ? above : word;
	}
	return word;
}

uint32_t classify_strictness(const struct policy *policies, uint32_t index)
{
	return strictest_word(policies, index, true);
}

static int compare_answers(const void *left, const void *right)
{
	const struct strictness *a = left, *b = right;

	return (a->answer > b->answer) - (a->answer < b->answer);
}

int strictness_make(const struct policy *policies, const uint32_t *answers, uint32_t n, int socket,
	struct classifier *classifier)
{
	classifier->strictness = rte_malloc_socket(
		"weir_strictness", (n + 1) * sizeof(*classifier->strictness), 64, socket);
	if (classifier->strictness == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		classifier->strictness[i] = (struct strictness){
			.answer = answers != NULL ? answers[i] : i,
			.opens = strictest_word(policies, i, true),
			.carries = strictest_word(policies, i, false),
		};
	classifier->n_strictness = n;
	if (answers != NULL)
		qsort(classifier->strictness, n, sizeof(*classifier->strictness), compare_answers);
	return 0;
}
