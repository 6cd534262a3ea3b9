/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The validated configuration of one limiter. The result of config_load() is complete and
 * consistent: every name is resolved to an index, and every rate and size is in base units. Nothing
 * above this library checks it again. Control thread only; no worker touches it.
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
#define CONFIG_POLICIES_MAX 1000000 /* a file of READER_FILE_MAX bytes holds no more */
#define CONFIG_MATCHES_MAX  2000000 /* over all policies: classify/classify.h */
#define CONFIG_EAL_ARGS     32
#define CONFIG_ETCD_MAX     9
#define CONFIG_EDGES_MAX    262144
#define CONFIG_KEY_FILES    2
#define CONFIG_PUBLIC_KEY   32

enum idle { IDLE_POLL, IDLE_SLEEP };

/* Reaction of a start to a rejected file, if a last good configuration is stored. */
enum on_refused { REFUSED_LAST_GOOD, REFUSED_STOP };

/* Treatment of a kernel interface's offloads that alter packets: see wire_offloads.h. */
enum offloads_mode { OFFLOADS_FIX, OFFLOADS_REFUSE, OFFLOADS_IGNORE };

/* LINK_FOLLOW: if the link at one end of a wire is lost, the other end is taken down. */
enum link_mode { LINK_KEEP, LINK_FOLLOW };

/*
 * Estimators: how limiters learn the sums over all of them, as row(NAME, VALUE).
 * test/unit/check_schema.py compares the schemas and the documents with these tables.
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

/* Header of a tunnelled packet that policies match. */
enum tunnels_classify { TUNNELS_OUTER, TUNNELS_INNER };

struct tunnels {
	enum tunnels_classify classify;
	uint16_t vxlan_port; /* UDP destination, host order */
};

struct overlay_pair_config {
	unsigned a, b;
};

/* "ledger": for limiters that have policies with a hard limit. */
struct ledger_config {
	char store[4096];  /* directory of the state that must survive a crash */
	uint64_t lease_ns; /* the fields up to promise: see struct conserve_params */
	uint32_t drift_ppm;
	unsigned promise;                  /* percent; 0: nothing */
	bool ring;                         /* "overlay": "ring" rather than random */
	unsigned degree;                   /* random overlay; 0: by the roster's size */
	struct overlay_pair_config *edges; /* "overlay": given edges; indices of the roster */
	unsigned n_edges;
	unsigned tree_degree;        /* quota tree; 0: the default */
	char *etcd[CONFIG_ETCD_MAX]; /* endpoints, URLs; none: shares come from the roster */
	unsigned n_etcd;
	char etcd_prefix[CONFIG_PATH_MAX];
	char etcd_ca[4096], etcd_cert[4096], etcd_key[4096]; /* files; "" : none */
	char etcd_user[CONFIG_NAME_MAX];                     /* user of the login; "": no login */
	char etcd_password_file[4096];
	bool etcd_insecure; /* accepts http to other machines */
};

struct port_config {
	char name[CONFIG_NAME_MAX];
	char device[CONFIG_DEVICE_MAX]; /* PCI address or vdev string with its arguments */
	uint16_t mtu;                   /* largest L3 packet, bytes */
	uint32_t buffers;               /* see config_buffers(); 0: derived from the policies */
	uint16_t queues;                /* most queues to use; 0: all that the device has */
	uint16_t buffer_size;           /* bytes of a frame in one buffer; 0: the usual size */
	enum offloads_mode offloads;
	bool generic; /* port_is_xdp(): its program runs in the kernel, not in its driver */
};

/* Treatment of a wire's packets while Weir is stalled or does not run. */
enum fail_mode {
	FAIL_UNSAID,     /* not configured: wire_fail() decides */
	FAIL_CLOSED,     /* packets are lost */
	FAIL_OPEN,       /* the kernel sends packets to the partner port: see bypass.h */
	FAIL_LAST_LIMITS /* also enforces the last limits that it received: see plane.h */
};

/* "default": treatment of a wire's packets that match no policy. */
enum otherwise {
	OTHERWISE_PASS,
	OTHERWISE_DROP,   /* except packets between the ends of a link: see packet/parse.h */
	OTHERWISE_POLICY, /* a policy with a match that has `last` set takes them */
};

struct wire {
	char name[CONFIG_NAME_MAX];
	unsigned a, b;   /* indices into config.ports */
	bool distribute; /* spreads packets over all workers if the ports have fewer queues */
	enum link_mode link;
	enum fail_mode fail;
	uint64_t fail_after_ns; /* time without a loop after which a worker counts as stalled */
	enum otherwise otherwise;
	char otherwise_policy[CONFIG_NAME_MAX]; /* OTHERWISE_POLICY: its name */
};

/* Returns the worker that serves a queue of a wire. Wires with few queues get different workers. */
static inline unsigned wire_queue_owner(unsigned wire, unsigned queue, unsigned n_workers)
{
	return (wire + queue) % n_workers;
}

/* IDENTITIES_OPTIONAL: accepts limiters without an identity as peers. */
enum identities { IDENTITIES_REQUIRED, IDENTITIES_OPTIONAL };

/* SOURCES_ROSTER: a datagram must come from its sender's address in the roster. */
enum sources { SOURCES_ROSTER, SOURCES_ANY };

struct peer_config {
	char name[CONFIG_NAME_MAX];
	struct sockaddr_storage address;
	socklen_t address_len;
	uint8_t public_key[CONFIG_PUBLIC_KEY]; /* X25519; zeros: none */
};

struct gossip_config {
	struct sockaddr_storage listen;
	socklen_t listen_len;                   /* 0: no gossip (roster of one) */
	struct peer_config *roster;             /* includes this limiter */
	unsigned n_roster;                      /* N; at least 1 */
	unsigned self;                          /* index into roster */
	char key_files[CONFIG_KEY_FILES][4096]; /* the first seals; all can open */
	unsigned n_key_files;                   /* 0 when insecure */
	char identity_file[4096];               /* "": no limiter has an identity */
	enum identities identities;
	bool insecure;
	bool join; /* the roster has some members only, see app/weir/group/group_task.h */
	enum sources sources;
	uint64_t differs_alarm_ns; /* alarm after a config mismatch of a peer lasts so long */
	unsigned branching;
	uint64_t timeout_ns;   /* a peer counts as lost after so long without a message */
	unsigned datagram_max; /* bytes of UDP payload */
	enum estimator_choice estimator;
	double overshoot_alarm; /* part of a soft limit; 0: no alarm */
	enum loans loans;
};

/* The supported levels of syslog(3). */
enum log_level { LEVEL_ERROR = 3, LEVEL_WARNING = 4, LEVEL_INFO = 6, LEVEL_DEBUG = 7 };

/* Format of a line of the log. */
enum log_format { FORMAT_TEXT, FORMAT_JSON };

struct log_config {
	enum log_level level; /* least severe level that is written */
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
	uint64_t watchdog_ns; /* a worker stalled for longer ends the process; 0: disabled */
	unsigned n_workers;
	enum idle idle;
	enum on_refused on_refused;
	bool shadow;        /* nothing is enforced: policies only count */
	bool shadow_forced; /* set on the command line, which overrides the file */
	double shape_pool;  /* part of packet buffers for queues, above 0 and below 1 */
	unsigned control_cpu;
	char control_socket[CONFIG_PATH_MAX];
	char control_group[CONFIG_NAME_MAX];     /* group with read access; "": our own */
	char control_operators[CONFIG_NAME_MAX]; /* group that can also change things; "": none */
	struct log_config log;
	struct gossip_config gossip;
	struct tunnels tunnels;
	enum unparsed_action unparsed;
	struct ledger_config ledger;
	struct policy *policies;
	unsigned n_policies;
	struct zone **zones; /* zones that schedules of policies name */
	unsigned n_zones;
};

/* Return true for a port whose interface stays with the kernel, by driver. */
static inline bool port_is_af_packet(const struct port_config *port)
{
	return strncmp(port->device, "net_af_packet", strlen("net_af_packet")) == 0;
}

/* Returns true if the kernel decides this port's packets. Workers get packets that it leaves. */
static inline bool port_is_xdp(const struct port_config *port)
{
	return strncmp(port->device, "xdp:", strlen("xdp:")) == 0;
}

static inline bool port_is_af_xdp(const struct port_config *port)
{
	return port_is_xdp(port) || strncmp(port->device, "net_af_xdp", strlen("net_af_xdp")) == 0;
}

/*
 * A frame of AF_XDP is at most a page of 4096 bytes. DPDK spreads packet buffers over the memory
 * channels. A size of 61 cache lines, a prime, stays the same with any number of channels. DPDK
 * takes 320 bytes of that, the kernel 256, and layer 2 with an FCS the rest.
 */
#define PORT_AF_XDP_BUFFER_MAX 3584 /* includes the kernel's 256 bytes before a frame */
#define PORT_AF_XDP_MTU_MAX    (PORT_AF_XDP_BUFFER_MAX - 256 - 4 - LAYER2_MAX)

static inline bool port_is_of_kernel(const struct port_config *port)
{
	return port_is_af_packet(port) || port_is_af_xdp(port);
}

static inline bool wire_has_plane(const struct config *config, const struct wire *wire)
{
	return port_is_xdp(&config->ports[wire->a]) && port_is_xdp(&config->ports[wire->b]);
}

/* Returns the configured treatment of packets, or the default for the wire's ports. */
static inline enum fail_mode wire_fail(const struct config *config, const struct wire *wire)
{
	if (wire->fail != FAIL_UNSAID)
		return wire->fail;
	return wire_has_plane(config, wire) ? FAIL_LAST_LIMITS : FAIL_CLOSED;
}

/* Returns true if XDP programs are attached to the wire's ports: see bypass.h. */
static inline bool wire_has_programs(const struct config *config, const struct wire *wire)
{
	return wire_fail(config, wire) != FAIL_CLOSED || wire_has_plane(config, wire);
}

/* Returns true if the port's wire has XDP programs. They stay attached after a clean stop. */
static inline bool port_has_programs(const struct config *config, unsigned port)
{
	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		if ((wire->a == port || wire->b == port) && wire_has_programs(config, wire))
			return true;
	}
	return false;
}

/* Return true if any wire has XDP programs, and if any has an XDP data plane. */
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
