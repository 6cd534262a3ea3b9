/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The reasons why a received packet is not transmitted. Workers count them, the shaper and the
 * replay of captures return them, and telemetry shows them by name. Pure; any thread.
 */
#ifndef WEIR_DROP_REASON_H
#define WEIR_DROP_REASON_H

enum drop_reason {
	DROP_LIMIT,      /* did not conform to its policy's local limit */
	DROP_QUOTA,      /* its policy's quota is spent, or was not on this node */
	DROP_UNMARKABLE, /* did not conform, and could not get its policy's mark */
	DROP_UNPARSED,   /* not fully parsed, and "unparsed" or "default" drops such packets */
	DROP_UNMATCHED,  /* no policy matches it, and its wire's "default" drops it */
	DROP_TX_FULL,    /* the transmit queue of the other port was full */
	DROP_RING_FULL,  /* the ring of the worker that should get it was full */
	DROP_OVERSIZE,   /* longer than a frame of the port's MTU */
	DROP_TRUNCATED,  /* its IP packet is longer than the frame, on a port that truncates */
	/* Drop reasons of shaped packets, which are also counted by policy. */
	DROP_QUEUE_FULL,     /* its policy's queue was full, or its delay would be too long */
	DROP_POOL_FULL,      /* the pool of waiting packets of all policies was full */
	DROP_CODEL,          /* its policy's packets had been waiting for too long */
	DROP_DELAY_EXCEEDED, /* waited for longer than allowed, because the limit fell */
	DROP_STOPPED,        /* came or waited while the queue of its hard limit ended */
	DROP_REASONS
};

/* The drop reasons of shaped packets: the first, and their number. */
#define DROP_SHAPE_FIRST   DROP_QUEUE_FULL
#define DROP_SHAPE_REASONS (DROP_REASONS - DROP_SHAPE_FIRST)

const char *drop_reason_name(enum drop_reason reason);

#endif
