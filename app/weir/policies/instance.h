/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The running appliance: what start-up puts together and control and telemetry look at. Everything
 * here belongs to the control thread. Workers use the data in worker_data.h and snapshot.h.
 *
 * A policy has an index, its place in the file, which the limiter knows it by; and a slot
 * (slot_map.h), which the workers know it by, and by which all of its state here is found.
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
#include "renewal.h"
#include "slot_map.h"
#include "snapshot.h"
#include "stuck.h"
#include "worker_data.h"

struct brain;
struct delays;
struct tap_session;
struct explainer;
struct lengths;
struct gossip_socket;
struct senders;
struct bypasses;
struct interfaces;
struct kernel_lines;
struct kept;
struct keyring;
struct links;
struct loss_watch;
struct busy_threads;
struct notify;
struct placings;
struct plane;
struct policy_names;
struct policy_part;
struct credits;
struct telemetry_server;
struct trial_lines;
struct watch;

/* What a policy had counted when it came into its slot from another. */
struct carried_over {
	struct policy_totals before;
	uint32_t also; /* that other one, while workers may still be at it; else SLOT_NONE */
};

/* What was said of ports' queues: see queues.h. */
struct queue_watch {
	uint64_t looked_ns;
	bool said[CONFIG_PORTS_MAX];
};

struct instance {
	const struct config *config; /* as it was at the start, which holds but for its policies: */
	const struct policy *policies; /* those in force */
	unsigned n_policies;
	struct policy_names *names; /* of these */
	struct config *loaded;      /* whose they are, after a reload; else NULL */
	struct slot_map slots;
	const char *file;        /* to read again, or NULL */
	struct kept *kept;       /* the state directory; NULL: nothing is kept */
	struct notify *notify;   /* the service manager; NULL: there is none */
	unsigned started;        /* modules of start-up that are up */
	bool has_started;        /* all of them were */
	const char *failed_step; /* the one that was not; NULL */
	struct tsc_clock clock;
	struct tsc_reading began;    /* when its start did */
	const struct port *borrowed; /* ports of another box that it shares; NULL: its own */
	uint16_t port_ids[CONFIG_PORTS_MAX];
	struct port ports[CONFIG_PORTS_MAX];
	uint64_t ports_took_ns;                        /* to start */
	struct nic_clock nic_clocks[CONFIG_PORTS_MAX]; /* of those that tell the time */
	struct links *links;
	struct bypasses *bypasses; /* NULL: no wire outlives the process */
	struct plane *plane;       /* of these: the kernel's data plane; NULL: there is none */
	struct kernel_lines *kernel_lines; /* of that; or NULL */
	struct interfaces *interfaces;     /* NULL: no port has one of the kernel's */
	struct lengths *lengths;           /* the longest that ports take */
	struct classifier *classifier;
	unsigned *sourced; /* slots of the policies that have a meter for each source */
	unsigned n_sourced, n_conserved; /* and behind those the conserved ones */
	uint32_t *parents;               /* as struct snapshot has them */
	struct publisher publisher;
	struct worker *workers;
	bool stop;          /* read by workers: atomics only */
	unsigned landed;    /* workers that have come to their end: atomics only */
	struct stuck stuck; /* those that do not come round */
	struct watch *watch;
	struct busy_threads *busy;
	struct loss_watch *losses;
	struct queue_watch queues;
	struct brain *brain;
	struct keyring *keyring; /* gossip's, which the limiter borrows; NULL: it is plain */
	struct limiter *limiter;
	struct engine engine; /* which drives the workers by what that decides */
	struct gossip_socket *gossip;
	struct senders *senders;   /* NULL until gossip starts */
	uint64_t hears_since_ns;   /* when the limiter was made, by control_now() */
	uint64_t differs_alarm_ns; /* for so long a peer may differ before that is an alarm */
	struct telemetry_server *telemetry;
	struct tap_session *tap_session;        /* NULL: none is under way */
	struct explainer *explainer;            /* NULL: nobody has asked it anything */
	unsigned reload_gate;                   /* see policy_txn_prepare() */
	struct timed *timed;                    /* limits that hold for a while */
	struct reload *reload;                  /* NULL: there is no file to read again */
	struct commit *commit;                  /* NULL: no ledger is kept */
	struct etcd_share *etcd_share;          /* NULL: no total is kept elsewhere */
	struct carried_over *carried_over;      /* by slot */
	const struct policy_part *const *parts; /* what a policy consists of, up to NULL */
	struct delays *delays;
	struct credits *credits;
	struct placings *placings;
	struct trial_lines *trials; /* by slot */
	struct policy_totals gone;  /* of the policies that were removed, and below none */
	struct dirty dirty;         /* slots that workers have yet to be told of */
	struct dirty *behind;       /* by worker: slots that only it has yet to be told of */
	struct renewal renewal;     /* of the workers' limits that may end */
	unsigned leaked;            /* mbufs that did not come back at the stop */
	bool abandoned;             /* a worker did not end: what it may be at is left as it is */
	bool restart;               /* the stop is for a start by the service manager */
	bool left_behind;           /* a thread hangs that still knows of the configuration */
};

/*
 * Slots that a box of so many policies has: twice as many, so that a reload may replace them all,
 * and a few thousand for whoever begins small. Those that nobody uses are address space and no
 * memory (pages.h).
 */
#define INSTANCE_SLOTS_LEAST 4096

static inline unsigned instance_slots(unsigned n_policies)
{
	return 2 * n_policies > INSTANCE_SLOTS_LEAST ? 2 * n_policies : INSTANCE_SLOTS_LEAST;
}

/* Whether nothing is enforced now. Control thread. */
static inline bool instance_in_shadow(const struct instance *inst)
{
	return (inst->loaded ? inst->loaded : inst->config)->shadow;
}

/* Whether all that a worker is to be told has found room in its ring. */
static inline bool instance_has_told(const struct instance *inst, unsigned worker)
{
	return dirty_is_empty(&inst->dirty) && dirty_is_empty(&inst->behind[worker]);
}

#endif
