/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies that have a trial. A packet is first charged to the trial and counted there,
 * and is then treated as if there were none. Packets of other policies cost nothing more, because
 * decide() treats policies with a trial separately. The worker's own thread.
 */
#ifndef WEIR_APP_TRYING_H
#define WEIR_APP_TRYING_H

#include <stdint.h>

#include "rx_burst.h"
#include "snapshot.h"
#include "worker_data.h"

/* Charges packet i of a burst to the trial of its policy, whose state is given. */
void try_packet(struct worker *worker, const struct policy_state *state, struct rx_burst *burst,
	unsigned i, uint64_t now);

/*
 * Begins or ends the trials that a newer snapshot names, a limited number of them at a time.
 * Returns true when all are done; call it again until then.
 */
bool try_changes(struct worker *worker, const struct snapshot *newer);

#endif
