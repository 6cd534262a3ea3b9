/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The running appliance: what start-up puts together and control and telemetry look at. Everything
 * here belongs to the control thread; what workers touch is said in worker.h and snapshot.h.
 */
#ifndef WEIR_APP_BOX_H
#define WEIR_APP_BOX_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "gossip_socket.h"
#include "limiter/limiter.h"
#include "police/profile.h"
#include "policy/config.h"
#include "port.h"
#include "snapshot.h"
#include "split/reserve.h"
#include "split/shares.h"
#include "source/source_table.h"
#include "telemetry/server.h"
#include "worker.h"

/* How control splits one policy over the workers, and how often they sample it. */
struct split {
	struct share *shares; /* n_workers, where they do not draw from a reserve; else NULL */
	uint64_t measured_ns;
	struct sampling sampling;
};

/* A worker's packets of one policy, of which it counts the lower 32 bits only. */
struct packet_totals {
	uint64_t passed, dropped;
};

struct link_state {
	bool known, up;
	uint32_t speed_mbps;
	uint64_t changes;
};

struct box {
	const struct config *config;
	unsigned started; /* modules of start-up that are up */
	struct tsc_clock clock;
	const struct port *lent; /* ports of another box that it shares; NULL: its own */
	uint16_t port_ids[CONFIG_PORTS_MAX];
	struct port ports[CONFIG_PORTS_MAX];
	struct link_state links[CONFIG_PORTS_MAX];
	struct classifier *classifier;
	struct publisher publisher;
	struct worker *workers;
	bool stop; /* read by workers: atomics only */
	uint8_t key[DATAGRAM_KEY];
	struct roster *roster; /* of the limiters of the group, which the limiter borrows */
	struct limiter *limiter;
	struct gossip_socket gossip;
	struct telemetry_server *telemetry;
	struct split *splits;         /* n_policies */
	struct packet_totals *totals; /* n_policies × n_workers */
	struct sampling_budget budget;
	uint64_t budget_ns;       /* when its round began */
	uint64_t *untold;         /* policies that some worker has yet to be told of, a bit each */
	bool all_told;            /* there are none */
	unsigned told_to;         /* where the next round begins */
	struct reserve *reserves; /* n_policies, if there are several workers; else NULL */
	struct reserve_changes changes;
	uint64_t reserves_token; /* of the last round that changed any, for rte_rcu_qsbr_check() */
	unsigned reserves_moved; /* in this round: those that changed in the one before */
	uint64_t *slots;         /* n_workers × FLOW_SLOTS: one policy's samples, being measured */
	bool *alive;             /* n_roster: as last logged */
	unsigned leaked;         /* mbufs that did not come back at the stop */
};

/*
 * Brings everything up, in order, and on failure takes down what was up. EAL is running; signals
 * are blocked. Returns 0 or a negative errno, logged.
 */
int box_start(struct box *box, const struct config *config);

/*
 * The same, but that no worker runs yet and no control socket is open: for benchmarks, which turn
 * the workers themselves. box_stop() ends it. Boxes that take turns may stand on the same ports:
 * on those of a box that was prepared before and is stopped after (`ports`, in the configured
 * order; NULL: bring up its own).
 */
int box_prepare(struct box *box, const struct config *config, const struct port *ports);

/* Stops the workers, closes the ports, removes the sockets. */
void box_stop(struct box *box);

/* Sums over the workers; "bytes" are what the policy counts. */
struct policy_totals {
	uint64_t passed_packets, passed_bytes, dropped_packets, dropped_bytes;
	uint64_t over_packets, over_bytes; /* of those passed, what did not conform */
};

/* A policy's tables of sources, all zero if it has none. */
struct source_table_stats box_source_totals(const struct box *box, unsigned policy);

/* A worker's packets of a policy, as last folded. */
static inline struct packet_totals *box_totals(
	const struct box *box, unsigned policy, unsigned worker)
{
	return &box->totals[(size_t)policy * box->config->n_workers + worker];
}

/* The same, folded: every measurement and every look does it. */
struct packet_totals *box_fold(const struct box *box, unsigned policy, unsigned worker);

struct policy_totals box_policy_totals(const struct box *box, unsigned policy);
struct worker_counters box_worker_totals(const struct box *box);

#endif
