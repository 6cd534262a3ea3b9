/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The validated configuration of one limiter. What config_load() returns is complete and
 * consistent: every name is resolved to an index, every rate and size is in base units, and nothing
 * above this library checks it again. Control thread only; never touched by a worker.
 */
#ifndef WEIR_POLICY_CONFIG_H
#define WEIR_POLICY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>

#include <netinet/in.h>

#include "base/layer2.h"
#include "policy/policy.h"

#define CONFIG_DEVICE_MAX   256 /* a device string, with the terminator */
#define CONFIG_PATH_MAX     108 /* sun_path of a Unix socket */
#define CONFIG_PORTS_MAX    32  /* RTE_MAX_ETHPORTS of Debian's DPDK */
#define CONFIG_WIRES_MAX    16
#define CONFIG_WORKERS_MAX  64
#define CONFIG_ROSTER_MAX   16384
#define CONFIG_POLICIES_MAX 1000000 /* what is read of a file, READER_FILE_MAX, holds no more */
#define CONFIG_MATCHES_MAX  2000000 /* of all policies: classify/classify.h */
#define CONFIG_EAL_ARGS     32
#define CONFIG_ETCD_MAX     9
#define CONFIG_EDGES_MAX    262144
#define CONFIG_KEY_FILES    2
#define CONFIG_PUBLIC_KEY   32

enum idle { IDLE_POLL, IDLE_SLEEP };

/* What a start does whose file is refused, where a last good configuration is kept. */
enum on_refused { REFUSED_LAST_GOOD, REFUSED_STOP };

/* What becomes of a kernel interface's offloads that alter packets: see wire_offloads.h. */
enum offloads_mode { OFFLOADS_FIX, OFFLOADS_REFUSE, OFFLOADS_IGNORE };

/* Whether a link that is lost at one end of a wire is taken down at the other. */
enum link_mode { LINK_KEEP, LINK_FOLLOW };

/*
 * How limiters learn the sums over all of them: row(NAME, VALUE). test/unit/check_schema.py holds
 * the schemas and the documents to these tables.
 */
#define ESTIMATORS_OF_LIMITERS(row)                                                             \
	row("state", ESTIMATOR_STATE)       /* newest records of all: groups up to about 100 */ \
		row("tree", ESTIMATOR_TREE) /* sums along a tree over the roster: large groups */

/* Estimators of papers (sums/sums.h). Only weirsim offers them, for comparison. */
#define ESTIMATORS_OF_PAPERS(row)                                                              \
	row("push-sum", ESTIMATOR_PUSH_SUM) row("compensated-push-sum", ESTIMATOR_COMPENSATED) \
		row("flow-updating", ESTIMATOR_FLOW_UPDATING)

#define ESTIMATOR_VALUE(name, value) value,
enum estimator_choice {
	ESTIMATORS_OF_LIMITERS(ESTIMATOR_VALUE) ESTIMATORS_OF_PAPERS(ESTIMATOR_VALUE)
};
#undef ESTIMATOR_VALUE

/* Which of a tunnelled packet's headers say whose it is. */
enum tunnels_classify { TUNNELS_OUTER, TUNNELS_INNER };

struct tunnels {
	enum tunnels_classify classify;
	uint16_t vxlan_port; /* UDP destination, host order */
};

struct overlay_pair_config {
	unsigned a, b;
};

/* "ledger": of limiters with policies that are never exceeded. */
struct ledger_config {
	char store[4096];  /* directory of what must survive a crash */
	uint64_t lease_ns; /* see struct conserve_params, as the next three */
	uint32_t drift_ppm;
	unsigned promise;                  /* percent; 0: none */
	bool ring;                         /* "overlay": "ring" rather than random */
	unsigned degree;                   /* of the random one; 0: by the roster's size */
	struct overlay_pair_config *edges; /* "overlay": given edges; indices of the roster */
	unsigned n_edges;
	unsigned tree_degree;        /* of the quota tree; 0: the default */
	char *etcd[CONFIG_ETCD_MAX]; /* endpoints, URLs; none: shares come from the roster */
	unsigned n_etcd;
	char etcd_prefix[CONFIG_PATH_MAX];
	char etcd_ca[4096], etcd_cert[4096], etcd_key[4096]; /* files; "" : none */
	char etcd_user[CONFIG_NAME_MAX];                     /* whom it logs in as; "": nobody */
	char etcd_password_file[4096];
	bool etcd_insecure; /* http to other machines is meant */
};

struct port_config {
	char name[CONFIG_NAME_MAX];
	char device[CONFIG_DEVICE_MAX]; /* PCI address or vdev string with its arguments */
	uint16_t mtu;                   /* largest L3 packet, bytes */
	uint32_t buffers;               /* see config_buffers(); 0: as policies need */
	uint16_t queues;                /* at most; 0: as the device has */
	uint16_t buffer_size;           /* bytes of a frame that a buffer holds; 0: as is usual */
	enum offloads_mode offloads;
	bool generic; /* of port_is_xdp(): its program stands in the kernel, not in its driver */
};

/* What becomes of a wire's packets while Weir does not come round, or is gone. */
enum fail_mode {
	FAIL_UNSAID,     /* as wire_fail() has it */
	FAIL_CLOSED,     /* they are lost */
	FAIL_WIRE,       /* the kernel sends them to the partner port: see bypass.h */
	FAIL_LAST_LIMITS /* and goes on with the limits that it was told last: see plane.h */
};

/* "default": what becomes of packets of a wire that no policy takes. */
enum otherwise {
	OTHERWISE_PASS,
	OTHERWISE_DROP,   /* but for what the ends of a link say: see packet/of_link.h */
	OTHERWISE_POLICY, /* a policy takes them by a match of its own, with `last` set */
};

struct wire {
	char name[CONFIG_NAME_MAX];
	unsigned a, b;   /* indices into config.ports */
	bool distribute; /* to all workers, where the ports have fewer queues */
	enum link_mode link;
	enum fail_mode fail;
	uint64_t fail_after_ns; /* so long does a worker not come round before it is away */
	enum otherwise otherwise;
	char otherwise_policy[CONFIG_NAME_MAX]; /* OTHERWISE_POLICY: its name */
};

/* Which worker serves a queue of a wire: of several with few queues, others. */
static inline unsigned wire_queue_owner(unsigned wire, unsigned queue, unsigned n_workers)
{
	return (wire + queue) % n_workers;
}

/* Whether limiters without an identity are spoken to. */
enum identities { IDENTITIES_REQUIRED, IDENTITIES_OPTIONAL };

/* Whether a datagram has to come from the address that its sender has in the roster. */
enum sources { SOURCES_ROSTER, SOURCES_ANY };

struct peer_config {
	char name[CONFIG_NAME_MAX];
	struct sockaddr_storage address;
	socklen_t address_len;
	uint8_t public_key[CONFIG_PUBLIC_KEY]; /* X25519; zeros: it has none */
};

struct gossip_config {
	struct sockaddr_storage listen;
	socklen_t listen_len;                   /* 0: no gossip (roster of one) */
	struct peer_config *roster;             /* includes this limiter */
	unsigned n_roster;                      /* N; at least 1 */
	unsigned self;                          /* index into roster */
	char key_files[CONFIG_KEY_FILES][4096]; /* the first seals, each opens */
	unsigned n_key_files;                   /* 0 when insecure */
	char identity_file[4096];               /* "": no limiter has an identity */
	enum identities identities;
	bool insecure;
	enum sources sources;
	uint64_t differs_alarm_ns; /* a peer that differs for so long is an alarm */
	unsigned branching;
	uint64_t timeout_ns;   /* a peer not heard this long counts as lost */
	unsigned datagram_max; /* bytes of UDP payload */
	enum estimator_choice estimator;
	double overshoot_alarm; /* part of a soft limit; 0: no alarm */
	enum loans loans;
};

/* Those of syslog(3) that there are. */
enum log_level { LEVEL_ERROR = 3, LEVEL_WARNING = 4, LEVEL_INFO = 6, LEVEL_DEBUG = 7 };

/* What a line is. */
enum log_format { FORMAT_TEXT, FORMAT_JSON };

struct log_config {
	enum log_level level; /* what is less is not written */
	enum log_format format;
};

struct config {
	char limiter[CONFIG_NAME_MAX];
	char *eal[CONFIG_EAL_ARGS]; /* extra EAL arguments, as written */
	unsigned n_eal;
	struct port_config *ports;
	unsigned n_ports;
	struct wire *wires;
	unsigned n_wires;
	unsigned workers[CONFIG_WORKERS_MAX]; /* CPU of each worker lcore */
	uint64_t watchdog_ns; /* a worker stuck for longer ends the process; 0: none does */
	unsigned n_workers;
	enum idle idle;
	enum on_refused on_refused;
	bool shadow;        /* nothing is enforced: policies count what they would do */
	bool shadow_forced; /* the command line says so, whatever the file says */
	double shape_pool;  /* share of the packet buffers that may wait, above 0 and below 1 */
	unsigned control_cpu;
	char control_socket[CONFIG_PATH_MAX];
	char control_group[CONFIG_NAME_MAX];     /* of the socket's file: who may read; "": ours */
	char control_operators[CONFIG_NAME_MAX]; /* a group that may change things; "": none */
	struct log_config log;
	struct gossip_config gossip;
	struct tunnels tunnels;
	enum unparsed_action unparsed;
	struct ledger_config ledger;
	struct policy *policies;
	unsigned n_policies;
	struct zone **zones; /* that schedules of policies name */
	unsigned n_zones;
};

/* Whether it stands on an interface that stays the kernel's, and by which driver. */
static inline bool port_is_af_packet(const struct port_config *port)
{
	return strncmp(port->device, "net_af_packet", strlen("net_af_packet")) == 0;
}

/* Whether the kernel decides packets of it, and workers have those that it does not. */
static inline bool port_is_xdp(const struct port_config *port)
{
	return strncmp(port->device, "xdp:", strlen("xdp:")) == 0;
}

static inline bool port_is_af_xdp(const struct port_config *port)
{
	return port_is_xdp(port) || strncmp(port->device, "net_af_xdp", strlen("net_af_xdp")) == 0;
}

/*
 * A frame of AF_XDP is at most a page of 4096 bytes. DPDK spreads packet buffers over the channels
 * of memory: 61 cache lines, a prime, stay so with any number of them. DPDK takes 320 bytes for its
 * own, the kernel 256, and layer 2 with an FCS the rest.
 */
#define PORT_AF_XDP_BUFFER_MAX 3584 /* with the kernel's 256 bytes before a frame */
#define PORT_AF_XDP_MTU_MAX    (PORT_AF_XDP_BUFFER_MAX - 256 - 4 - LAYER2_MAX)

static inline bool port_is_of_kernel(const struct port_config *port)
{
	return port_is_af_packet(port) || port_is_af_xdp(port);
}

static inline bool wire_has_plane(const struct config *config, const struct wire *wire)
{
	return port_is_xdp(&config->ports[wire->a]) && port_is_xdp(&config->ports[wire->b]);
}

/* What becomes of its packets: as it says, or as its ports are. */
static inline enum fail_mode wire_fail(const struct config *config, const struct wire *wire)
{
	if (wire->fail != FAIL_UNSAID)
		return wire->fail;
	return wire_has_plane(config, wire) ? FAIL_LAST_LIMITS : FAIL_CLOSED;
}

/* Whether programs of the kernel's are before its ports: see bypass.h. */
static inline bool wire_has_programs(const struct config *config, const struct wire *wire)
{
	return wire_fail(config, wire) != FAIL_CLOSED || wire_has_plane(config, wire);
}

/* True if the wire of a port has such programs. They go on after a clean stop. */
static inline bool port_has_programs(const struct config *config, unsigned port)
{
	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		if ((wire->a == port || wire->b == port) && wire_has_programs(config, wire))
			return true;
	}
	return false;
}

/* Whether any wire has such programs, and whether they decide packets. */
static inline bool config_has_programs(const struct config *config)
{
	for (unsigned i = 0; i < config->n_wires; i++)
		if (wire_has_programs(config, &config->wires[i]))
			return true;
	return false;
}

static inline bool config_has_plane(const struct config *config)
{
	for (unsigned i = 0; i < config->n_wires; i++)
		if (wire_has_plane(config, &config->wires[i]))
			return true;
	return false;
}

#endif
