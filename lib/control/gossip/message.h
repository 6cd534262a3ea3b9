/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The senders of messages, with the state that detects recorded messages. The estimator need not
 * watch these limiters, so this state has its own proofs of epochs and its own counters. Private to
 * lib/control/gossip.
 */
#ifndef WEIR_GOSSIP_MESSAGE_H
#define WEIR_GOSSIP_MESSAGE_H

#include "gossip/estimator.h"

struct correspondent {
	struct peer peer; /* its tick is the newest one of a message, alive is not used */
	bool answer;      /* an answer is due: it, or we, have not proven an epoch yet */
	uint32_t answered;
};

/* Prepares the correspondents of another roster, and puts them in force. 0 or -ENOMEM. */
int messages_regroup(
	const struct gossip *g, const struct regroup *map, struct correspondent ***out);
void messages_commit(struct gossip *g, const struct regroup *map, struct correspondent **moved);

#endif
