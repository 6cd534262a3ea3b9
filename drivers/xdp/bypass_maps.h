/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The layout of maps that a bypass program in the kernel and its process share.
 */
#ifndef WEIR_DRIVERS_BYPASS_MAPS_H
#define WEIR_DRIVERS_BYPASS_MAPS_H

#include <linux/types.h>

#define BYPASS_WORKERS 64
#define BYPASS_QUEUES  64

/*
 * A line per worker, mapped into the process, to show that its loop runs. The other direction of a
 * wire reads it for each packet, so each has a cache line of its own.
 */
struct bypass_beat {
	__u32 turn;
	__u32 leaves; /* 1: it accepts no more packets, though its loop can still run */
	__u8 apart[56];
};

/* A worker's last turn that a program has seen, and the time. */
struct bypass_seen {
	__u32 turn;
	__u64 at; /* jiffies */
};

/*
 * The values in the map of counts. It outlives its program, and no value is ever reset: a process
 * only records the counts that it has found and reported.
 */
enum { BYPASS_COUNTED, BYPASS_REPORTED, BYPASS_COUNTS };

/* A CPU's counts of a port's packets. */
struct bypass_count {
	__u64 packets, bytes; /* directly to the partner port */
	/* Decided by the XDP data plane: passed; of these, without a policy; dropped. */
	__u64 passed, unmatched, dropped;
	__u64 unserved; /* lost, because only the workers could decide and were away */
	__u64 unsent;   /* lost because the partner port did not send them */
};

/* Handling of packets while workers are away. */
enum { BYPASS_CLOSED, BYPASS_OPEN, BYPASS_LAST_LIMITS };

/* Constants of a loaded program. */
struct bypass_setup {
	__u64 lease; /* jiffies */
	__u32 workers;
	__u32 interface, partner; /* interface indices */
	__u32 sockets;            /* 1: AF_XDP receives packets; 0: the stack passes them */
	__u32 fail;
	__u32 plane;                  /* 1: the kernel decides, see plane.bpf.h */
	__u32 slots, wire, direction; /* number of policy slots; the packets' wire and direction */
	__u32 enters_tunnels, vxlan_port;
	__u8 worker_of[BYPASS_QUEUES]; /* worker of each queue; BYPASS_WORKERS: none */
};

#endif
