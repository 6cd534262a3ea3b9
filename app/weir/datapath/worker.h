/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker lcore: receive a burst, decide, send. What it shares with control is its own counters
 * and flow samples (one writer: the worker; relaxed loads by control), the snapshot that it reads,
 * and the ring by which it is told of limits.
 */
#ifndef WEIR_APP_WORKER_H
#define WEIR_APP_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "base/counter.h"
#include "base/expiry.h"
#include "drop/drop_reason.h"
#include "flow/flow_sample.h"
#include "police/policy_state.h"
#include "policy/config.h"
#include "limit_ring.h"
#include "snapshot.h"

#define BURST 32

struct in_flight;
struct rx_rings;
struct rx_wait;
struct nic_clock;
struct shared_bucket;
struct shaper;
struct stuck;
struct sample_chunk;
struct specimen;
struct tap;
union free_sample;

struct worker_counters {
	uint64_t rx_packets, tx_packets;
	uint64_t unmatched_packets; /* passed without a policy */
	uint64_t rerouted_packets;  /* given to others than the worker of their flow: it is stuck */
	uint64_t dropped[DROP_REASONS];
	uint64_t unparsed[UNPARSED_REASONS]; /* whatever became of them */
	uint64_t bursts, empty_polls, sleeps;
	uint64_t expired; /* times that limits ended which control had not renewed */
	/*
	 * From a non-empty receive to the end of its transmission: one burst in 16, chosen as
	 * samples are, stands for all, so that most need one look at the clock and not two.
	 */
	uint64_t busy_cycles;
	/*
	 * Beside these, of who owns a queue that several share: what it takes to hand out what
	 * comes, and to send what came back, timed likewise; of how many turns that had any of it.
	 */
	uint64_t handing_cycles, handings;
};

/* Packets of one path on one worker. */
struct path_counters {
	uint64_t rx_packets, tx_packets;
	uint64_t dropped[DROP_REASONS];
	uint64_t waiting; /* now, in queues of shaped policies */
};

/* One direction of one queue of a wire. */
struct path {
	uint16_t rx_port, tx_port; /* control, at any time: atomics only */
	uint16_t queue;
	uint16_t wire;
	enum direction direction;
	bool rx_hash;                  /* the device tells the flow's hash */
	struct rx_rings *rings;        /* of a queue that several workers share; else NULL */
	const struct nic_clock *clock; /* the device tells when packets came in; else NULL */
	bool cuts;                     /* the device may leave the end of a longer one away */
	/*
	 * Bytes of the longest frame that both ports take as they are now: of any, and of one with
	 * an 802.1Q tag (0x8100) as the outermost. Control sets them (lengths.h): atomics only.
	 */
	uint32_t frame_max, tagged_max;
	uint64_t flows; /* a bit for each hash of flows seen: see path_see(); atomics only */
	struct path_counters counters; /* written by the worker, read by any thread */
};

/*
 * That there was a packet of such a flow: of one in each of some bursts, which tells a queue that
 * gets many flows from one that gets a few, or none. The worker; anybody may read.
 */
static inline void path_see(struct path *path, uint32_t hash)
{
	__atomic_store_n(&path->flows, path->flows | UINT64_C(1) << (hash >> 26), __ATOMIC_RELAXED);
}

static inline uint16_t path_rx(const struct path *path)
{
	return __atomic_load_n(&path->rx_port, __ATOMIC_RELAXED);
}

#define WORKER_OWN_BYTES 184
#define WORKER_OWN_ALIGN 8

/*
 * What control may see of a worker, and what it hands over to it: that is the contract of the two.
 * An array of these is control's, in zeroed memory.
 */
struct worker {
	/* set up by control before the launch */
	unsigned index, lcore, cpu;
	enum idle idle;
	const struct publisher *publisher;
	const bool *stop;          /* written by control: atomics only */
	uint32_t *beat;            /* where it tells the kernel its turns: see bypass.h; or NULL */
	unsigned *landed;          /* workers that have come to their end: atomics only */
	const struct stuck *stuck; /* those that do not come round: see stuck.h */
	struct tap *tap; /* control's, which the worker fills: see tap.h; atomics only; or NULL */
	struct specimen *asked; /* control asks, the worker takes: see specimen.h; atomics only */
	unsigned n_workers;
	uint64_t ticks_per_us;
	const struct tunnels *tunnels; /* as frames has it */
	struct path *paths;
	unsigned n_paths;
	struct shared_bucket
		*shared_buckets; /* by policy, shared by all workers; NULL if there is only one */
	struct flow_sample **samples; /* of the policies that are sampled, else NULL */
	struct sample_chunk *chunks;  /* control: where samples lie, and those that nobody has */
	union free_sample *free_samples;
	unsigned n_policies; /* that there is room for; behind them all, trials: see police/try.h */
	struct expiry
		expiry;  /* of its limits; control renews it, the worker says that it is over */
	uint8_t *ending; /* the worker: of each line, what ends of its limit then */
	/*
	 * Where CPUs of the kernel draw from the shared buckets, too: the lease of limits that may
	 * be exceeded, and what ends with it by slot, for all alike. Control's: atomics only; or
	 * NULL, and nothing of these ends.
	 */
	const struct expiry *membership;
	const uint8_t *soft_ending;
	struct limit_ring limit_ring;
	struct rx_wait *wait;        /* where it sleeps, see rx_wait.h; NULL: it pauses */
	struct in_flight *in_flight; /* the worker's: a burst that waits, see in_flight.h */
	struct shaper *shaper;       /* the worker's, but for shaper_counts() */
	unsigned delay_unit;         /* see delay_unit() */

	/* written by the worker, read by control; each line first by control, before the worker
	 * sees its policy */
	struct worker_counters counters __rte_cache_aligned;
	struct policy_state *policies;
	struct fragments *fragments; /* NULL where no policy asks for them; atomics only */
	uint64_t generation;         /* of the snapshot that it goes by; atomics only */
	uint32_t turn; /* turns that have ended; owners of queues read it: atomics only */

	/* the worker's own, and no business of control's: see worker_own.h */
	uint8_t own[WORKER_OWN_BYTES] __attribute__((aligned(WORKER_OWN_ALIGN)));
} __rte_cache_aligned;

/* Count n packets of one of the worker's paths. The worker's own thread. */
static inline void worker_receives(struct worker *worker, struct path *path, uint64_t n)
{
	counter_add(&worker->counters.rx_packets, n);
	counter_add(&path->counters.rx_packets, n);
}

static inline void worker_drops(
	struct worker *worker, struct path *path, enum drop_reason why, uint64_t n)
{
	counter_add(&worker->counters.dropped[why], n);
	counter_add(&path->counters.dropped[why], n);
}

/*
 * What a policy on this worker that police_is_shaped() has: what it has beside its line. Any
 * thread.
 */
static inline struct policy_shape *worker_shape(const struct worker *worker, uint32_t slot)
{
	return police_shape(worker->policies[slot].other);
}

/*
 * Control: room for so many policies, on the worker's NUMA node, and memory for the first `used` of
 * them (worker_memory.c); and so many packets may wait. Returns 0 or -ENOMEM; worker_free() is due
 * in either case.
 */
int worker_init(struct worker *worker, unsigned n_policies, unsigned used, uint32_t waiting);

/* Bytes of DPDK's memory that a worker takes at least for so many policies. Any thread. */
size_t worker_bytes(const struct policy *policies, unsigned n, uint32_t waiting);
void worker_free(struct worker *worker);

/*
 * Control, or who prepares a reload for it: a policy's line, with a limit, and whatever else it
 * needs on this worker, before a classifier is published that leads the worker there. Returns 0 or
 * -ENOMEM, logged; worker_remove_policy() is due in either case.
 */
int worker_add_policy(
	struct worker *worker, const struct policy *policy, const struct limit_profile *profile);

/* Makes what a worker needs beside its line of a policy that it has already, and that changed. */
int worker_change_policy(struct worker *worker, const struct policy *policy);

/* Frees the line of a policy that the worker cannot come by any more, or never could. */
void worker_remove_policy(struct worker *worker, uint32_t slot);

/*
 * Wakes the worker if it waits and there is something to take without a packet: limits, a snapshot,
 * a specimen, or the stop. Does nothing for a worker that only pauses. Control.
 */
void worker_wake(const struct worker *worker);

/* Body of the lcore, for rte_eal_remote_launch(); arg is a struct worker. Runs until *stop. */
int worker_run(void *arg);

/*
 * What that body consists of, for whoever brings a loop of his own (benchmarks): before the first
 * turn; one burst of each path, of which the last received may wait for the next turn; that one,
 * before anybody counts packets; after the last turn. One thread, the worker's.
 */
void worker_begin(struct worker *worker);
void worker_turn(struct worker *worker);
void worker_finish(struct worker *worker);
void worker_end(struct worker *worker);

#endif
