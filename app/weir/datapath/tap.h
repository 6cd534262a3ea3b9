/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sample of a worker's packets for whoever captures them, with what became of each. While nobody
 * does, a worker asks once a burst whether there is a tap; while somebody does, a burst is judged
 * packet by packet, by the same functions, as long as that is no more than TAP_EXAMINED_S packets a
 * second. So below that all are seen, and above it some bursts.
 *
 * What is taken goes into a ring of one producer and one consumer; when that is full it is lost,
 * and counted. A tap that is not renewed ends by itself: nobody has to be there to end it.
 */
#ifndef WEIR_APP_TAP_H
#define WEIR_APP_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "drop/drop_reason.h"
#include "flow/packet_sample.h"
#include "worker_data.h"

struct rte_mbuf;
struct rte_ring;
struct rx_burst;

#define TAP_EXAMINED_S 50000
#define TAP_HEADERS    256  /* bytes of a packet's headers at most */
#define TAP_WHOLE      9216 /* and of a whole one */
#define TAP_ANY        UINT32_MAX

enum tap_verdict { TAP_PASS, TAP_DROP, TAP_MARK, TAP_COUNT, TAP_WAIT, TAP_VERDICTS };

/* A packet that was taken. */
struct tap_record {
	uint64_t tick;
	uint32_t len, captured; /* bytes: of the frame, and in bytes[] */
	uint32_t slot;          /* of its policy, or CLASSIFY_NONE */
	uint8_t verdict;        /* enum tap_verdict */
	uint8_t reason;         /* enum drop_reason; DROP_REASONS: it was not dropped */
	uint16_t path;
	uint8_t bytes[];
};

/* So many a second, and up to a tenth of that at once. The worker's. */
struct tap_pace {
	uint64_t ticks; /* of one; 0: no bound */
	uint64_t next;  /* tick at which the next one is earned, or before */
	uint64_t depth; /* ticks that may be saved up */
};

struct tap {
	/* Control, before the worker sees it; but for `until`, with atomics. */
	uint64_t until;
	uint32_t slot, reason; /* only these, or TAP_ANY; TAP_NO_POLICY: of none */
	uint32_t verdict;      /* likewise */
	bool whole;
	bool by_lot;     /* it is tap_lots_create()'s: see tap_lots.h */
	uint32_t record; /* bytes of one in the ring */
	struct rte_ring *ring;
	/* The worker. */
	const uint32_t *parents; /* of slots, in its snapshot; NULL: there are none */
	struct tap_pace examined, taken;
	struct packet_sample sample;                                /* by lot */
	uint64_t n_examined, n_skipped, n_taken, n_limited, n_lost; /* with atomics */
	uint8_t room[sizeof(struct tap_record) + TAP_WHOLE] __attribute__((aligned(8)));
};

#define TAP_NO_POLICY (TAP_ANY - 1)

/* Whether packets of a policy are asked for, by its slot: what a child gets, its parent does. */
bool tap_asks_for(const struct tap *tap, uint32_t slot);

/* Control: a tap of so many packets a second, on a counter of hz; NULL when out of memory. */
struct tap *tap_create(unsigned worker, uint64_t number, bool whole, uint64_t rate, uint64_t hz);
void tap_destroy(struct tap *tap);

/* Control: the oldest record into `record`, of tap->record bytes; false if there is none. */
bool tap_read(struct tap *tap, struct tap_record *record);

/*
 * Whether a burst of n packets is to be judged one by one. The worker.
 */
bool tap_examines(struct tap *tap, uint16_t n, uint64_t now);

/* Takes a packet, if it is wanted and there is room. The worker. */
void tap_take(
	struct tap *tap, const struct rte_mbuf *m, const struct tap_record *what, uint32_t headers);

/* Packets of a path that were dropped, each for that reason, whosever they are. The worker. */
void tap_dropped(struct worker *worker, uint16_t path, struct rte_mbuf *const *mbufs, unsigned n,
	enum drop_reason reason, uint64_t now);

const char *tap_verdict_name(enum tap_verdict verdict);

#endif
