/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies that have a trial: each is charged to that first, and counted there, and then
 * goes its way as if there were none. What others pay for it is nothing: such a policy is one of
 * those that decide() looks at aside. The worker's own thread.
 */
#ifndef WEIR_APP_TRYING_H
#define WEIR_APP_TRYING_H

#include <stdint.h>

#include "rx_burst.h"
#include "snapshot.h"
#include "worker_data.h"

/* Packet i of a burst, of the policy whose state this is. */
void try_packet(struct worker *worker, const struct policy_state *state, struct rx_burst *burst,
	unsigned i, uint64_t now);

/*
 * Leads packets to the trials that a newer snapshot names, or away from them, so many of them at a
 * time. Returns whether that is done; it is to be called again until then.
 */
bool try_changes(struct worker *worker, const struct snapshot *newer);

#endif
