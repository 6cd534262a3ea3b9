/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/wire.h"
#include "policy/kind.h"
#include "policy/period.h"

struct policy_key policy_key(const struct policy *policy)
{
	uint8_t hash[2 * sizeof(uint64_t)];
	uint32_t seconds = policy_limit_s(policy);
	char text[BUDGET_NAME_MAX];

	_Static_assert(sizeof(hash) >= crypto_generichash_BYTES_MIN, "a whole hash");
	/* No name has a slash or a colon. */
	if (policy_is_hard(policy) && seconds > 1)
		snprintf(text, sizeof(text), "%s/%" PRIu32 "s", policy->name, seconds);
	else if (policy_is_quota(policy))
		budget_name(policy, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", policy->name);
	crypto_generichash(hash, sizeof(hash), (const uint8_t *)text, strlen(text), NULL, 0);
	return (struct policy_key){read_be64(hash), read_be64(hash + sizeof(uint64_t))};
}
