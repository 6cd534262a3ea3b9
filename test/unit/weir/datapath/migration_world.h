/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An owner of a receive queue with the migration that is tested, and workers that decide as theirs
 * do: a packet passes or waits in a queue, and what passes goes back over a ring. The test says
 * when a worker does the next bit of its turn; the world checks what leaves.
 */
#ifndef WEIR_TEST_MIGRATION_WORLD_H
#define WEIR_TEST_MIGRATION_WORLD_H

#include "check.h"

#include "base/prng.h"
#include "migration.h"

#define MIGRATION_WORKERS 4
#define MIGRATION_OWNER   1
#define MIGRATION_SOURCES 512
#define MIGRATION_BURST   32
#define MIGRATION_LANE    1024
#define MIGRATION_PACKETS (1 << 16)

struct fake_packet {
	struct fake_packet *next; /* in a queue */
	uint32_t source, serial;
};

/* What it has in hand, and how far it is in its turn. */
enum fake_phase { FAKE_RELEASE, FAKE_RETURN, FAKE_TAKE, FAKE_DECIDE, FAKE_PASS, FAKE_END };

struct fake_worker {
	struct rte_ring *out, *back;
	struct fake_packet *head, **tail;
	struct fake_packet *hand[MIGRATION_BURST];
	unsigned n_hand;
	enum fake_phase phase;
	struct prng prng;
	uint32_t turn;         /* atomics */
	uint64_t waited, left; /* likewise */
	bool stuck;            /* releases nothing */
};

struct migration_world {
	struct migration migration;
	struct reta_target reta_target;
	struct reta reta;
	struct fake_worker workers[MIGRATION_WORKERS];
	struct prng prng;
	uint64_t seed;
	struct fake_packet *packets;
	unsigned n_packets; /* that have come */
	unsigned n_out, n_lost;
	uint32_t sent[MIGRATION_SOURCES], seen[MIGRATION_SOURCES];
	unsigned ahead; /* packets that may be on their way */
	bool wants;     /* something has been, since it was last looked at */
};

void migration_world_open(struct migration_world *world, uint64_t seed);
void migration_world_close(struct migration_world *world);

/* The next phase of a worker's turn. Its thread. */
void fake_worker_step(struct fake_worker *worker);

/* The owner's turn: n packets of random sources up to `sources` come in. Its thread. */
void migration_world_turn(struct migration_world *world, unsigned n, unsigned sources);

/* Some buckets are wanted elsewhere. */
void migration_world_want(struct migration_world *world, unsigned n);

/* Everything has left, as it came. */
void migration_world_check(const struct migration_world *world);

#endif
