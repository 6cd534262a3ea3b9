/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The data of a worker lcore, its paths and its counters. A worker and control share the counters
 * and flow samples (one writer: the worker; relaxed loads by control), the snapshot and the ring of
 * changed limits. Each file of this room can use this one; it uses none of them.
 */
#ifndef WEIR_APP_WORKER_DATA_H
#define WEIR_APP_WORKER_DATA_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "base/counter.h"
#include "base/expiry.h"
#include "drop/drop_reason.h"
#include "flow/flow_sample.h"
#include "flow/sample_bound.h"
#include "police/policy_state.h"
#include "policy/config.h"
#include "limit_ring.h"
#include "slot_map.h"
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
	uint64_t rerouted_packets;  /* given to another worker because their own is stalled */
	uint64_t dropped[DROP_REASONS];
	uint64_t unparsed[UNPARSED_REASONS]; /* passed or dropped */
	uint64_t bursts, empty_polls, sleeps;
	uint64_t expired; /* times that the lease of the limits ended */
	/*
	 * Cycles from a non-empty receive to the end of its transmission. One burst in 16, chosen
	 * like samples, stands for all, so most bursts read the clock once.
	 */
	uint64_t busy_cycles;
	/*
	 * Further cycles of a worker that owns a shared queue: to distribute its packets and to
	 * send the returned ones. They are measured in the same way. And the turns with such work.
	 */
	uint64_t handing_cycles, handings;
};

/* Packets of one path on one worker. */
struct path_counters {
	uint64_t rx_packets, tx_packets;
	uint64_t dropped[DROP_REASONS];
	uint64_t waiting; /* packets now in queues of shaped policies */
};

/* One direction of one queue of a wire. */
struct path {
	uint16_t rx_port, tx_port; /* control can change them at any time: atomics only */
	uint16_t queue;
	uint16_t wire;
	enum direction direction;
	bool rx_hash;                  /* the device supplies the flow's hash */
	struct rx_rings *rings;        /* rings of a queue that workers share, or NULL */
	const struct nic_clock *clock; /* clock of a device that stamps packets, or NULL */
	bool cuts;                     /* the device can cut the end of a long frame */
	/*
	 * Bytes of the longest frame that both ports accept now: in general, and with an 802.1Q
	 * tag (0x8100) as the outermost. Control sets them (interfaces.h): atomics only.
	 */
	uint32_t frame_max, tagged_max;
	uint64_t flows; /* a bit for each hash of flows seen: see path_see(); atomics only */
	struct path_counters counters; /* written by the worker, read by any thread */
};

/*
 * Notes the flow of one packet. Called for some bursts only: this distinguishes a queue of many
 * flows from one of few or none. The worker; any thread can read the result.
 */
static inline void path_see(struct path *path, uint32_t hash)
{
	__atomic_store_n(&path->flows, path->flows | UINT64_C(1) << (hash >> 26), __ATOMIC_RELAXED);
}

static inline uint16_t path_rx(const struct path *path)
{
	return __atomic_load_n(&path->rx_port, __ATOMIC_RELAXED);
}

/*
 * State that only the worker's own thread reads and writes, after worker_init(). A specimen gets a
 * copy, which the worker makes.
 */
struct worker_own {
	struct snapshot view; /* a copy of the snapshot in use */
	unsigned left;        /* queues of the next snapshot's `leaving` that are empty */
	unsigned tried;       /* trials of the next snapshot's `trials` that are made */
	bool empties;         /* has sent the due packets, now empties those queues */
	bool eights;          /* the CPU charges eight packets at a time, see police/eights.h */
	bool wide;            /* the CPU classify_has_wide() */
	bool patient;         /* early packets wait for room in the ring */
	struct sample_bound bound;
	uint64_t idle_since; /* tick of the last packet */
	uint64_t ended;      /* tick at which limits ended, see leases_end.h; 0: they go on */
	uint64_t silent;     /* the same for soft limits in XDP, by the membership */
	uint32_t turns;      /* turns of the loop, counted if there are tables of sources */
	uint32_t aged;       /* turns in which one of these was swept */
};

/*
 * A worker: the contract between it and control. Control owns the array of these, in zeroed memory.
 * The lines of the first part are read by the worker and rarely written. The second part begins a
 * line of its own and is written by the worker.
 */
struct worker {
	/* set up by control before the launch */
	unsigned index, lcore, cpu;
	enum idle idle;
	const struct publisher *publisher;
	const bool *stop;          /* written by control: atomics only */
	uint32_t *beat;            /* copy of `turn` for the kernel, see bypass.h; or NULL */
	unsigned *landed;          /* workers that have ended: atomics only */
	const struct stuck *stuck; /* the stalled workers: see stuck.h */
	struct tap *tap; /* control's; the worker fills it, see tap.h; atomics only; or NULL */
	struct specimen *asked; /* a request of control: see specimen.h; atomics only */
	unsigned n_workers;
	uint64_t ticks_per_us;
	const struct tunnels *tunnels; /* for frames */
	struct path *paths;
	unsigned n_paths;
	struct shared_bucket
		*shared_buckets; /* by policy, shared by all workers; NULL if there is only one */
	struct flow_sample **samples; /* by policy; NULL for one without samples */
	struct sample_chunk *chunks;  /* control: memory of samples, and the unused ones */
	union free_sample *free_samples;
	unsigned n_policies;  /* capacity; the lines of trials are after these: see police/try.h */
	struct expiry expiry; /* lease of its limits; control renews it, the worker ends it */
	uint8_t *ending;      /* by line: parts of the limit that end then; the worker's */
	/*
	 * Set if CPUs of the kernel use the shared buckets, too: the lease of soft limits, and the
	 * parts that end with it, by slot, for workers and CPUs. Written by control: atomics only.
	 * NULL: soft limits do not end.
	 */
	const struct expiry *membership;
	const uint8_t *soft_ending;
	struct limit_ring limit_ring;
	struct rx_wait *wait;        /* its sockets, see rx_wait.h; NULL: it pauses */
	struct in_flight *in_flight; /* the worker's: the burst that waits, see in_flight.h */
	struct shaper *shaper;       /* the worker's, except shaper_counts() */
	unsigned delay_unit;         /* see delay_unit() */

	/* written by the worker, read by control; each line first by control, before the worker
	 * sees its policy */
	struct worker_counters counters __rte_cache_aligned;
	struct policy_state *policies;
	struct fragments *fragments; /* NULL if no policy needs them; atomics only */
	uint64_t generation;         /* the generation of the snapshot in use; atomics only */
	uint32_t turn; /* turns that have ended; owners of queues read it: atomics only */

	struct worker_own own __rte_cache_aligned; /* apart from `turn`, which others read */
} __rte_cache_aligned;

static_assert(sizeof(struct worker_own) <= 3 * RTE_CACHE_LINE_SIZE, "three lines of a worker");

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

/* Returns the queue of a policy that police_is_shaped(). Any thread. */
static inline struct policy_shape *worker_shape(const struct worker *worker, uint32_t slot)
{
	return police_shape(worker->policies[slot].other);
}

/*
 * Writes the slots of a policy's lineage, from its own upwards, at most POLICY_LEVELS_MOST. Returns
 * their number, at least 1. The worker.
 */
static inline unsigned lineage_of(const struct worker *worker, uint32_t slot, uint32_t slots[])
{
	const uint32_t *parents = worker->own.view.parents;
	unsigned n = 0;

	do {
		slots[n++] = slot;
		slot = parents ? parents[slot] : SLOT_NONE;
	} while (slot != SLOT_NONE && n < POLICY_LEVELS_MOST);
	return n;
}

/* --- memory ----------------------------------------------------------------------------------- */

/*
 * Memory of a worker and of its policies, on the worker's NUMA node (worker_memory.c). Control
 * allocates and frees all of it, except where a comment names another thread.
 */
struct limit_profile;
struct policy;

/*
 * Reserves room for n_policies policies, allocates memory for the first `used` of them, and room
 * for `waiting` packets in queues. Returns 0 or -ENOMEM; call worker_free() in either case.
 */
int worker_init(struct worker *worker, unsigned n_policies, unsigned used, uint32_t waiting);

/* Returns the least number of bytes of DPDK's memory for n policies on a worker. Any thread. */
size_t worker_bytes(const struct policy *policies, unsigned n, uint32_t waiting);
void worker_free(struct worker *worker);

/*
 * Makes the line of a policy, with its limit, and its other memory on this worker. Call it before
 * a published classifier leads the worker to the policy. Returns 0 or -ENOMEM, logged; call
 * worker_remove_policy() in either case. Control, or the thread that prepares a reload.
 */
int worker_add_policy(
	struct worker *worker, const struct policy *policy, const struct limit_profile *profile);

/* Makes the memory that a changed policy needs in addition. Returns 0 or -ENOMEM, logged. */
int worker_change_policy(struct worker *worker, const struct policy *policy);

/* Frees the memory of a policy that the worker cannot reach any more, or has never reached. */
void worker_remove_policy(struct worker *worker, uint32_t slot);

#endif
