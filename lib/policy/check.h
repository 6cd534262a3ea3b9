/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to lib/policy: what no key can decide by itself. Values that were refused before are
 * marked (empty name, zero length, the constants below) and not complained about twice.
 */
#ifndef WEIR_POLICY_CHECK_H
#define WEIR_POLICY_CHECK_H

#include <limits.h>

#include "policy/config.h"
#include "policy/read.h"

#define WIRE_REFUSED (-2)     /* match.wire of a match with an error anywhere in it */
#define PORT_REFUSED UINT_MAX /* wire.a and wire.b */

/* Fills in the defaults that depend on other keys. */
void config_complete(struct reader *reader, struct config *config);

/* Reports what does not fit together. */
void config_check(struct reader *reader, const struct config *config);

/* Warns of what fits but is hardly meant. Only for a configuration without errors. */
void config_warn(struct reader *reader, const struct config *config);

/* The same of policies alone, which a group of n_limiters shares. */
void policies_complete(struct policy *policies, unsigned n, unsigned n_limiters);
void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters);

/* That no packet could belong to two policies. */
void policies_check_matches(struct reader *reader, const struct policy *policies, unsigned n);

#endif
