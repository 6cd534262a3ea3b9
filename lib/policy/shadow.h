/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shadow: a limiter that enforces nothing. Its policies meter, count and tell the group what they
 * would in earnest, and every packet passes untouched. Pure; any thread.
 */
#ifndef WEIR_POLICY_SHADOW_H
#define WEIR_POLICY_SHADOW_H

#include "policy/config.h"

/*
 * Makes each policy of a complete configuration one that only counts. Where packets would wait its
 * bucket, and those of its schedule and trial, are as much deeper as packets would be in the queue:
 * what finds no room there is what the queue would drop. To be done before a worker knows of
 * the policies.
 */
void config_enter_shadow(struct config *config);

/* Enters shadow for good: what is read beside this one is in it too, whatever it says. */
void config_force_shadow(struct config *config);

/* Wires, a bit each, on which packets that no policy takes are dropped: in shadow none. */
uint32_t config_drops(const struct config *config);

/* What becomes of packets that are not understood: in shadow none is dropped. */
enum unparsed_action config_unparsed(const struct config *config);

#endif
