/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An owner of a receive queue with the mover that is tested, and workers that decide as theirs do:
 * a packet passes or waits in a queue, and what passes goes back over a ring. The test says when a
 * worker does the next bit of its turn; the world checks what leaves.
 */
#ifndef WEIR_TEST_MOVER_WORLD_H
#define WEIR_TEST_MOVER_WORLD_H

#include "check.h"

#include "base/prng.h"
#include "mover.h"

#define MOVER_WORKERS 4
#define MOVER_OWNER   1
#define MOVER_SOURCES 512
#define MOVER_BURST   32
#define MOVER_LANE    1024
#define MOVER_PACKETS (1 << 16)

struct fake_packet {
	struct fake_packet *next; /* in a queue */
	uint32_t source, serial;
};

/* What it has in hand, and how far it is in its turn. */
enum fake_phase { FAKE_RELEASE, FAKE_RETURN, FAKE_TAKE, FAKE_DECIDE, FAKE_PASS, FAKE_END };

struct fake_worker {
	struct rte_ring *out, *back;
	struct fake_packet *head, **tail;
	struct fake_packet *hand[MOVER_BURST];
	unsigned n_hand;
	enum fake_phase phase;
	struct prng prng;
	uint32_t turn;         /* atomics */
	uint64_t waited, left; /* likewise */
	bool stuck;            /* releases nothing */
};

struct mover_world {
	struct mover mover;
	struct seating seating;
	struct owner_seats seats;
	struct fake_worker workers[MOVER_WORKERS];
	struct prng prng;
	uint64_t seed;
	struct fake_packet *packets;
	unsigned n_packets; /* that have come */
	unsigned n_out, n_lost;
	uint32_t sent[MOVER_SOURCES], seen[MOVER_SOURCES];
	unsigned ahead; /* packets that may be on their way */
	bool wants;     /* something has been, since it was last looked at */
};

void mover_world_open(struct mover_world *world, uint64_t seed);
void mover_world_close(struct mover_world *world);

/* The next phase of a worker's turn. Its thread. */
void fake_worker_step(struct fake_worker *worker);

/* The owner's turn: n packets of random sources up to `sources` come in. Its thread. */
void mover_world_turn(struct mover_world *world, unsigned n, unsigned sources);

/* Some buckets are wanted elsewhere. */
void mover_world_want(struct mover_world *world, unsigned n);

/* Everything has left, as it came. */
void mover_world_check(const struct mover_world *world);

#endif
