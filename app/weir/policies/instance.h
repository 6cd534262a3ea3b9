/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The running limiter: the state that start-up builds and that control and telemetry read. All of
 * it belongs to the control thread. Workers use the data in worker_data.h and snapshot.h.
 *
 * A policy has an index, its position in the file, by which struct limiter identifies it. It also
 * has a slot (slot_map.h), by which the workers identify it and by which all of its state here is
 * indexed.
 */
#ifndef WEIR_APP_INSTANCE_H
#define WEIR_APP_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "slot_map.h"
#include "limiter/limiter.h"
#include "engine/counts.h"
#include "engine/engine.h"
#include "policy/config.h"
#include "port.h"
#include "renewal.h"
#include "snapshot.h"
#include "stuck.h"
#include "worker_data.h"

struct limiter_task;
struct delays;
struct tap_session;
struct explainer;
struct lengths;
struct members;
struct gossip_socket;
struct group_task;
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

/* Counts that a policy brought along when it moved from another slot. */
struct carried_over {
	struct policy_totals before;
	uint32_t also; /* previous slot while workers can still use it, or SLOT_NONE */
};

/* State of the checks of ports' queues, see losses.h. */
struct queue_watch {
	uint64_t looked_ns;
	bool logged[CONFIG_PORTS_MAX];
};

struct instance {
	const struct config *config; /* configuration of the start; its policies can be outdated: */
	const struct policy *policies; /* policies in force */
	unsigned n_policies;
	struct gossip_config *live_gossip; /* in `config`; its roster changes; or NULL */
	const char *state_directory;       /* --state; NULL: nothing is kept there */
	struct group_task *group;          /* NULL: the roster does not change */
	struct members *members;           /* the set of `group`, or NULL */
	bool removed, joining;             /* not in the group: all limits are 0 */
	struct policy_names *names;        /* names of `policies` */
	struct config *loaded;             /* owner of `policies` after a reload, or NULL */
	struct slot_map slots;
	const char *file;        /* configuration file for reloads, or NULL */
	struct kept *kept;       /* state directory; NULL: nothing is kept */
	struct notify *notify;   /* service manager; NULL: none */
	unsigned started;        /* start-up modules that are up */
	bool has_started;        /* all start-up modules came up */
	const char *failed_step; /* start-up module that failed, or NULL */
	struct tsc_clock clock;
	struct tsc_reading began;    /* reading at the begin of the start */
	const struct port *borrowed; /* ports that another limiter owns; NULL: own ports */
	uint16_t port_ids[CONFIG_PORTS_MAX];
	struct port ports[CONFIG_PORTS_MAX];
	uint64_t ports_took_ns;                        /* time that the ports took to start */
	struct nic_clock nic_clocks[CONFIG_PORTS_MAX]; /* clocks of ports whose device has one */
	struct links *links;
	struct bypasses *bypasses;         /* NULL: no wire outlives the process */
	struct plane *plane;               /* XDP data plane of these ports; NULL: none */
	struct kernel_lines *kernel_lines; /* lines of `plane`; or NULL */
	struct interfaces *interfaces;     /* NULL: no port has a kernel interface */
	struct lengths *lengths;           /* longest packets that ports accept */
	struct classifier *classifier;
	unsigned *sourced;          /* slots of policies with a meter for each source, */
	unsigned n_sourced, n_hard; /* followed by the slots of policies with hard limits */
	uint32_t *parents;          /* layout of `parents` in struct snapshot */
	struct publisher publisher;
	struct worker *workers;
	bool stop;          /* read by workers: atomics only */
	unsigned landed;    /* workers that have ended: atomics only */
	struct stuck stuck; /* stalled workers */
	struct watch *watch;
	struct busy_threads *busy;
	struct loss_watch *losses;
	struct queue_watch queues;
	struct limiter_task *limiter_task;
	struct keyring *keyring; /* for gossip; the limiter borrows it; NULL: plain gossip */
	struct limiter *limiter;
	struct engine engine; /* drives the workers by the limiter's decisions */
	struct gossip_socket *gossip;
	struct senders *senders;    /* NULL until gossip starts */
	uint64_t receives_since_ns; /* when the limiter was created, by control_now() */
	uint64_t differs_alarm_ns;  /* duration of a config mismatch that raises an alarm */
	struct telemetry_server *telemetry;
	struct tap_session *tap_session;        /* NULL: no capture is under way */
	struct explainer *explainer;            /* NULL: no explanation was requested yet */
	unsigned reload_gate;                   /* see policy_txn_prepare() */
	struct timed *timed;                    /* limits that hold for a while */
	struct reload *reload;                  /* NULL: there is no file to reload */
	bool reloading;                         /* a change of the configuration is under way */
	struct commit *commit;                  /* NULL: no ledger is kept */
	struct etcd_share *etcd_share;          /* NULL: no etcd share */
	struct carried_over *carried_over;      /* by slot */
	const struct policy_part *const *parts; /* rows of the parts of a policy, ends with NULL */
	struct delays *delays;
	struct credits *credits;
	struct placings *placings;
	struct trial_lines *trials; /* by slot */
	struct policy_totals gone;  /* counts of removed policies that had no parent */
	struct dirty dirty;         /* slots whose changes are not published to any worker yet */
	struct dirty *behind;   /* by worker: slots whose changes only it has not received yet */
	struct renewal renewal; /* renewal of the workers' limits */
	unsigned leaked;        /* mbufs that were not returned by the stop */
	bool abandoned;         /* a worker did not end: its data must stay allocated */
	bool restart;           /* the service manager will start it again after this stop */
	bool left_behind;       /* a stuck thread still uses the configuration */
};

/*
 * Number of slots for n_policies policies: twice as many, so that a reload can replace all of them.
 * Small configurations get at least this many. Unused slots take address space but no memory
 * (pages.h).
 */
#define INSTANCE_SLOTS_LEAST 4096

static inline unsigned instance_slots(unsigned n_policies)
{
	return 2 * n_policies > INSTANCE_SLOTS_LEAST ? 2 * n_policies : INSTANCE_SLOTS_LEAST;
}

/* Returns true if nothing is enforced now (shadow mode). Control thread. */
static inline bool instance_in_shadow(const struct instance *inst)
{
	return (inst->loaded ? inst->loaded : inst->config)->shadow;
}

/* Returns true if all changes for a worker are in its ring. */
static inline bool instance_has_published(const struct instance *inst, unsigned worker)
{
	return dirty_is_empty(&inst->dirty) && dirty_is_empty(&inst->behind[worker]);
}

#endif
