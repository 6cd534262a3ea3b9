/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shadow mode: the limiter enforces nothing. Its policies meter, count and exchange messages as if
 * they enforced, and every packet passes unchanged. Pure; any thread.
 */
#ifndef WEIR_POLICY_SHADOW_H
#define WEIR_POLICY_SHADOW_H

#include "policy/config.h"

/*
 * Makes every policy of a complete configuration only count. If packets would wait, the buckets of
 * the policy, its schedule and its trial become deeper by the size of the queue. They then reject
 * the packets that the queue would drop. Call it before a worker uses the policies.
 */
void config_enter_shadow(struct config *config);

/*
 * Enters shadow mode, and marks it as forced. Configurations read later are in it too, even if they
 * do not request it.
 */
void config_force_shadow(struct config *config);

/*
 * Returns the set of wires, one bit each, that drop packets without a policy. Empty in shadow mode.
 */
uint32_t config_drops(const struct config *config);

/* Returns the treatment of packets that the parser does not understand. Shadow mode drops none. */
enum unparsed_action config_unparsed(const struct config *config);

#endif
