/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who has sent us messages, as far as is needed to know a recorded one. Messages go to whom they
 * are for, which need not be anybody whom the estimator watches; so epochs are proven and counters
 * seen by what is kept here. Private to lib/control/gossip.
 */
#ifndef WEIR_GOSSIP_MESSAGE_H
#define WEIR_GOSSIP_MESSAGE_H

#include "gossip/estimator.h"

struct correspondent {
	struct peer peer; /* its tick is the newest one of a message, alive is not used */
	bool answer;      /* it is to hear from us: it, or we, have not proven an epoch yet */
	uint32_t answered;
};

/* What to make of an authentic message: GOSSIP_MESSAGE, or why it is not delivered. */
enum gossip_verdict message_take(struct gossip *g, unsigned from,
	const struct datagram_header *header, const struct datagram_body *body, uint64_t now_ns);

void messages_destroy(struct gossip *g);

#endif
