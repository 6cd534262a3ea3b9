/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sample of a worker's packets for a capture, with the outcome of each. Without a capture, a
 * worker checks for a tap once a burst. During a capture, a burst is decided packet by packet, by
 * the same functions, up to TAP_EXAMINED_S packets a second. Below that rate all packets are
 * examined; above it, some bursts.
 *
 * The packets go into a ring with one producer and one consumer. If it is full, they are lost and
 * counted. A tap that control does not renew ends by itself.
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
#define TAP_HEADERS    256  /* most bytes of a packet's headers */
#define TAP_WHOLE      9216 /* most bytes of a whole packet */
#define TAP_ANY        UINT32_MAX

enum tap_verdict { TAP_PASS, TAP_DROP, TAP_MARK, TAP_COUNT, TAP_WAIT, TAP_VERDICTS };

/* A packet in the ring. */
struct tap_record {
	uint64_t tick;
	uint32_t len, captured; /* bytes of the frame; bytes in bytes[] */
	uint32_t slot;          /* the policy's, or CLASSIFY_NONE */
	uint8_t verdict;        /* enum tap_verdict */
	uint8_t reason;         /* enum drop_reason; DROP_REASONS: not dropped */
	uint16_t path;
	uint8_t bytes[];
};

/* A bound on packets a second; a tenth of a second's can come together. The worker's. */
struct tap_pace {
	uint64_t ticks; /* for one packet; 0: no bound */
	uint64_t next;  /* tick from which the next packet is allowed */
	uint64_t depth; /* ticks that can be saved up */
};

struct tap {
	/* Written by control before the worker sees it; `until` also later, with atomics. */
	uint64_t until;
	uint32_t slot, reason; /* wanted ones, or TAP_ANY; slot TAP_NO_POLICY: without a policy */
	uint32_t verdict;      /* wanted one, or TAP_ANY */
	bool whole;
	bool by_lot;     /* made by tap_lots_create() */
	uint32_t record; /* bytes of a record in the ring */
	struct rte_ring *ring;
	/* Written by the worker. */
	const uint32_t *parents; /* by slot, in its snapshot; NULL: no policy has one */
	struct tap_pace examined, taken;
	struct packet_sample sample;                                /* for by_lot */
	uint64_t n_examined, n_skipped, n_taken, n_limited, n_lost; /* atomics */
	uint8_t room[sizeof(struct tap_record) + TAP_WHOLE] __attribute__((aligned(8)));
};

#define TAP_NO_POLICY (TAP_ANY - 1)

/* Returns true if the tap wants packets of the policy in this slot, or of a level above it. */
bool tap_asks_for(const struct tap *tap, uint32_t slot);

/*
 * Creates a tap of `rate` packets a second, with ticks of `hz`. Returns NULL if out of memory.
 * Control.
 */
struct tap *tap_create(unsigned worker, uint64_t number, bool whole, uint64_t rate, uint64_t hz);
void tap_destroy(struct tap *tap);

/* Moves the oldest record to `record`, of tap->record bytes. Returns false if none. Control. */
bool tap_read(struct tap *tap, struct tap_record *record);

/* Returns true if a burst of n packets must be decided one by one. The worker. */
bool tap_examines(struct tap *tap, uint16_t n, uint64_t now);

/* Takes a packet, if it is wanted and there is room. The worker. */
void tap_take(
	struct tap *tap, const struct rte_mbuf *m, const struct tap_record *what, uint32_t headers);

/* Takes packets of a path, of any policy, that were dropped for this reason. The worker. */
void tap_dropped(struct worker *worker, uint16_t path, struct rte_mbuf *const *mbufs, unsigned n,
	enum drop_reason reason, uint64_t now);

const char *tap_verdict_name(enum tap_verdict verdict);

/* --- lots ------------------------------------------------------------------------------------- */

/*
 * A tap that draws packets at random (flow/packet_sample.h), for estimates. Bursts are decided as
 * usual: a packet is described before the decision, and its verdict is looked up after it.
 */

struct rte_mbuf;
struct rx_burst;

/* For tap->slot, like TAP_ANY and TAP_NO_POLICY: unparsed packets of any policy. */
#define TAP_UNPARSED (TAP_ANY - 2)

/* A packet in the ring: its headers as classified, which can be in a tunnel. */
struct tap_lot {
	uint32_t slot;      /* the policy's, or CLASSIFY_NONE */
	uint32_t len;       /* bytes of the frame */
	uint8_t shift;      /* stands for 2^shift packets */
	uint8_t verdict;    /* TAP_PASS, TAP_DROP or TAP_WAIT */
	uint8_t family;     /* enum packet_family */
	uint8_t proto;      /* 0: unknown */
	uint8_t unparsed;   /* enum packet_unparsed */
	uint16_t vlan;      /* or PARSE_NO_VLAN */
	uint16_t ethertype; /* if the packet is not IP; 0: unknown */
	uint16_t src_port, dst_port;
	uint16_t path;
	uint8_t src[16], dst[16]; /* length by the family; MAC addresses if the packet is not IP */
};

/* The taken packets of a burst. */
struct tap_lots {
	unsigned n;
	const struct rte_mbuf *mbufs[BURST];
	struct tap_lot each[BURST];
};

/*
 * Creates a tap of about `rate` packets a second, with ticks of `hz`. Returns NULL if out of
 * memory. Free it with tap_destroy(). Control.
 */
struct tap *tap_lots_create(
	unsigned worker, uint64_t number, uint64_t seed, uint32_t rate, uint64_t hz);

/* Moves the oldest packet to *lot. Returns false if there is none. Control. */
bool tap_lots_read(struct tap *tap, struct tap_lot *lot);

/* Chooses some of n packets that are classified and not yet decided. The worker. */
void tap_lots_draw(struct tap *tap, struct rx_burst *burst, unsigned n, struct tap_lots *lots);

/*
 * Sets the verdicts of the chosen packets and puts them into the ring. A packet in neither array
 * gets TAP_WAIT. The worker.
 */
void tap_lots_take(struct tap *tap, struct tap_lots *lots, struct rte_mbuf *const *passing,
	unsigned n_pass, struct rte_mbuf *const *dropped, unsigned n_dropped);

#endif
