/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An owner of a receive queue with the migration under test, and workers that decide like its own.
 * A packet passes or waits in a queue, and passed packets return over a ring. The test triggers
 * each phase of a worker's turn; the world checks the packets that leave.
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

/* Packets in hand, and the phase of the turn. */
enum fake_phase { FAKE_RELEASE, FAKE_RETURN, FAKE_TAKE, FAKE_DECIDE, FAKE_PASS, FAKE_END };

struct fake_worker {
	struct rte_ring *out, *back;
	struct fake_packet *head, **tail;
	struct fake_packet *hand[MIGRATION_BURST];
	unsigned n_hand;
	enum fake_phase phase;
	struct prng prng;
	uint32_t turn;         /* atomics */
	uint64_t waited, left; /* packets; atomics */
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
	unsigned n_packets; /* packets received */
	unsigned n_out, n_lost;
	uint32_t sent[MIGRATION_SOURCES], seen[MIGRATION_SOURCES];
	unsigned ahead; /* packets that can be on their way */
	bool wants;     /* a move has been requested since the last check */
};

void migration_world_open(struct migration_world *world, uint64_t seed);
void migration_world_close(struct migration_world *world);

/* Runs the next phase of a worker's turn. Called by its thread. */
void fake_worker_step(struct fake_worker *worker);

/*
 * Runs the owner's turn: n packets of random sources up to `sources` arrive. Called by its thread.
 */
void migration_world_turn(struct migration_world *world, unsigned n, unsigned sources);

/* Requests moves of some buckets. */
void migration_world_want(struct migration_world *world, unsigned n);

/* Checks that all packets have left, in order. */
void migration_world_check(const struct migration_world *world);

#endif
