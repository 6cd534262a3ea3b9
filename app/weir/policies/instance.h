/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The running appliance: what start-up puts together and control and telemetry look at. Everything
 * here belongs to the control thread; what workers touch is said in worker.h and snapshot.h.
 *
 * A policy has an index, its place in the file, which the limiter knows it by; and a slot
 * (slots.h), which the workers know it by, and by which all of its state here is found.
 */
#ifndef WEIR_APP_INSTANCE_H
#define WEIR_APP_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "dirty.h"
#include "limiter/limiter.h"
#include "nic_clock.h"
#include "engine/counts.h"
#include "engine/engine.h"
#include "policy/config.h"
#include "port.h"
#include "slot_map.h"
#include "snapshot.h"
#include "meter/shared_bucket.h"
#include "worker.h"

struct brain;
struct delays;
struct gossip_socket;
struct links;
struct placings;
struct policy_part;
struct credits;
struct telemetry_server;

/* What a policy had counted when it came into its slot from another. */
struct carried_over {
	struct policy_totals before;
	uint32_t also; /* that other one, while workers may still be at it; else SLOT_NONE */
};

/* Shared buckets change in rounds, each of them once (publish.c). */
struct shared_bucket_rounds {
	struct shared_bucket_changes changes;
	uint64_t ended; /* the publisher_moment() of the last one that changed any */
	unsigned moved; /* in this round: those that changed in the one before */
};

struct instance {
	const struct config *config; /* as it was at the start, which holds but for its policies: */
	const struct policy *policies; /* those in force */
	unsigned n_policies;
	struct config *loaded; /* whose they are, after a reload; else NULL */
	struct slot_map slots;
	const char *file; /* to read again, or NULL */
	unsigned started; /* modules of start-up that are up */
	struct tsc_clock clock;
	const struct port *borrowed; /* ports of another box that it shares; NULL: its own */
	uint16_t port_ids[CONFIG_PORTS_MAX];
	struct port ports[CONFIG_PORTS_MAX];
	struct nic_clock nic_clocks[CONFIG_PORTS_MAX]; /* of those that tell the time */
	struct links *links;
	struct classifier *classifier;
	unsigned *sourced; /* slots of the policies that have a meter for each source */
	unsigned n_sourced;
	struct publisher publisher;
	struct worker *workers;
	bool stop;       /* read by workers: atomics only */
	unsigned landed; /* workers that have come to their end: atomics only */
	struct brain *brain;
	struct limiter *limiter;
	struct engine engine; /* which drives the workers by what that decides */
	struct gossip_socket *gossip;
	struct telemetry_server *telemetry;
	struct reload *reload;                  /* NULL: there is no file to read again */
	struct commit *commit;                  /* NULL: no ledger is kept */
	struct etcd_share *etcd_share;          /* NULL: no total is kept elsewhere */
	struct carried_over *carried_over;      /* by slot */
	const struct policy_part *const *parts; /* what a policy consists of, up to NULL */
	struct delays *delays;
	struct credits *credits;
	struct placings *placings;
	struct policy_totals gone; /* of the policies that were removed */
	struct dirty dirty;        /* slots that some worker has yet to be told of */
	struct shared_bucket_rounds rounds;
	unsigned leaked; /* mbufs that did not come back at the stop */
};

#endif
