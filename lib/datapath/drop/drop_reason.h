/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Why a packet that came in did not leave: the reasons that workers count, that the shaper and the
 * replay of captures give, and that telemetry shows by name. Pure; any thread.
 */
#ifndef WEIR_DROP_REASON_H
#define WEIR_DROP_REASON_H

enum drop_reason {
	DROP_LIMIT,      /* did not conform to its policy's local limit */
	DROP_QUOTA,      /* its policy's total is spent, or was not here when it came */
	DROP_UNMARKABLE, /* did not conform, and could not be marked as its policy wants */
	DROP_UNPARSED, /* it is not known what it is, and the key "unparsed" says so, or "default" */
	DROP_UNMATCHED, /* no policy takes it, and its wire's "default" says so */
	DROP_TX_FULL,   /* the transmit queue of the other port took no more */
	DROP_RING_FULL, /* the worker that it was handed to took no more */
	DROP_OVERSIZE,  /* longer than a frame of the port's MTU can be */
	DROP_TRUNCATED, /* its IP packet is longer than the frame, of a port that cuts frames */
	/* Those of packets that were to wait; they are counted by policy too. */
	DROP_QUEUE_FULL, /* as many packets of its policy waited as may, or it would for too long */
	DROP_POOL_FULL,  /* as many packets of all policies waited as may */
	DROP_CODEL,      /* its policy's packets had been waiting for too long */
	DROP_DELAY_EXCEEDED, /* it had waited for longer than it may, as the limit fell */
	DROP_STOPPED,        /* it waited, or came, as the queue of its conserved limit ended */
	DROP_REASONS
};

/* The reasons of packets that were to wait: so many, from the first. */
#define DROP_SHAPE_FIRST   DROP_QUEUE_FULL
#define DROP_SHAPE_REASONS (DROP_REASONS - DROP_SHAPE_FIRST)

const char *drop_reason_name(enum drop_reason reason);

#endif
