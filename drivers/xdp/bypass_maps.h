/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a bypass program in the kernel and the process behind it share: the layout of their maps.
 */
#ifndef WEIR_DRIVERS_BYPASS_MAPS_H
#define WEIR_DRIVERS_BYPASS_MAPS_H

#include <linux/types.h>

#define BYPASS_WORKERS 64
#define BYPASS_QUEUES  64

/*
 * A line of each worker, mapped into the process: it says that it has come round. The other
 * direction of a wire reads it for each packet, so that lines are apart.
 */
struct bypass_beat {
	__u32 turn;
	__u32 leaves; /* it serves no more packets from now on, though it may still come round */
	__u8 apart[56];
};

/* The last turn of a worker that a program knows of, and when it saw it. */
struct bypass_seen {
	__u32 turn;
	__u64 at; /* jiffies */
};

/*
 * The values in the map of counts. It outlives its program, and nothing in it is ever set back:
 * a process only writes the counts that it has found and reported.
 */
enum { BYPASS_COUNTED, BYPASS_REPORTED, BYPASS_COUNTS };

/* What a CPU has done with packets of a port. */
struct bypass_count {
	__u64 packets, bytes; /* that went past */
	/* What the kernel has decided: passed, of which no policy's; dropped; */
	__u64 passed, unmatched, dropped;
	__u64 unserved; /* and lost, as it was the workers', who were away */
	__u64 unsent;   /* lost because the partner port did not send them */
};

/* What becomes of packets while workers are away. */
enum { BYPASS_CLOSED, BYPASS_WIRE, BYPASS_LAST_LIMITS };

/* Known when a program is loaded. */
struct bypass_setup {
	__u64 lease; /* jiffies */
	__u32 workers;
	__u32 interface, partner; /* index */
	__u32 sockets;            /* AF_XDP takes the packets; else the stack passes them on */
	__u32 fail;
	__u32 plane;                  /* the kernel decides what it can, see plane.bpf.h: */
	__u32 slots, wire, direction; /* of so many policies, of packets of this wire */
	__u32 enters_tunnels, vxlan_port;
	__u8 worker_of[BYPASS_QUEUES]; /* whose queue it is; BYPASS_WORKERS: nobody's */
};

#endif
