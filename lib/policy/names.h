/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies by their names, in a time that does not grow with their number. Immutable once made:
 * whoever replaces the policies makes another one.
 */
#ifndef WEIR_POLICY_NAMES_H
#define WEIR_POLICY_NAMES_H

#include "policy/policy.h"

struct policy_names;

/* n policies have different names, and are kept by pointer. 0 or -ENOMEM. */
int policy_names_create(const struct policy *policies, unsigned n, struct policy_names **out);
void policy_names_destroy(struct policy_names *names);

/* Index of the policy of that name, or their number; so, too, without a name. */
unsigned policy_names_find(const struct policy_names *names, const char *name);

#endif
