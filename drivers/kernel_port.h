/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel's interface that an af_packet or af_xdp device stands on: what DPDK does not tell of
 * it. Any thread; ioctls and netlink, in the process's network namespace.
 */
#ifndef WEIR_DRIVERS_KERNEL_PORT_H
#define WEIR_DRIVERS_KERNEL_PORT_H

#include <stdbool.h>

#include <net/if.h>

#include "base/layer2.h"
#include "policy/config.h"

#define AF_PACKET_FRAME 2048 /* its default */

/* Relations of an interface to others. */
struct kernel_kin {
	int index;
	char kind[16];         /* such as "veth" or "vlan"; "": a device of its own */
	int link;              /* a veth's other end, or what a VLAN stands on; 0: nothing */
	bool link_elsewhere;   /* and that is in another network namespace */
	unsigned mtu_max;      /* 0: it does not say */
	char master[IFNAMSIZ]; /* the bridge, bond or VRF that has it; "": none */
	unsigned program;      /* ID of its XDP program; 0: none */
};

/* Bytes of the longest frame that the MTU allows, without its FCS. */
static inline unsigned port_frame_max(const struct port_config *port)
{
	return port->mtu + LAYER2_MAX;
}

/*
 * Bytes of a frame in an af_packet ring, as its arguments name it or as the MTU needs: one that the
 * kernel cuts, as it does not fit, is longer than port_frame_max() all the same.
 */
unsigned af_packet_frame(const struct port_config *port);

/* Whether what its arguments name holds a frame of the MTU. */
bool af_packet_fits(const struct port_config *port);

/* Returns the queue of the interface that is queue 0 of an AF_XDP port. */
unsigned af_xdp_first_queue(const struct port_config *port);

/* Its receive queues, and those that DPDK's driver of AF_XDP knows of; at least one of each. */
struct kernel_queues {
	unsigned receive, pairs;
};
struct kernel_queues kernel_queues(const char *name);

/* The name of the interface; false of other devices. */
bool kernel_interface(const struct port_config *port, char name[IFNAMSIZ]);

/*
 * A port before this one that stands on the same interface or PCI function, or the port itself if
 * there is none.
 */
unsigned port_twin(const struct config *config, unsigned port);

/* Whether it is up and has a carrier; one that is gone is down. 0 or a negative errno. */
int kernel_link(const char *name, bool *up);

/* Its MTU in *mtu; and sets it. 0 or a negative errno. */
int kernel_mtu(const char *name, unsigned *mtu);
int kernel_set_mtu(const char *name, unsigned mtu);

/*
 * Bytes of the longest frames that the kernel sends now on the interface with this index, without
 * FCS: any, and one with an 802.1Q tag (0x8100) as the outermost. 0 of an interface that is down
 * or gone. A longer one it drops without a count.
 */
struct kernel_frames {
	unsigned any, tagged;
};
struct kernel_frames kernel_frames(const struct port_config *port, unsigned index);

/* Settings of an interface that a start changes, and a failed start restores. */
struct kernel_state {
	bool known;
	int flags;
	unsigned mtu, mtu_set; /* mtu_set: by the start; 0: it changed nothing */
};
void kernel_state_read(const char *name, struct kernel_state *state);
void kernel_state_restore(const char *name, const struct kernel_state *state);

/* At a stop: restores the MTU, unless it has been changed after the start. */
void kernel_restore_mtu(const char *name, const struct kernel_state *state);

/*
 * Raises its MTU, so that it takes all frames of port_frame_max(), and records that. Where this is
 * refused or above its maximum, it gets as much as it takes. 0 or a negative errno, if that is not
 * even the port's MTU.
 */
int kernel_raise_mtu(const char *name, const struct port_config *port, struct kernel_state *state);

/*
 * Takes it down, and its carrier with it, or brings it up. Waits for the kernel. 0 or a negative
 * errno; 0 of one that is gone.
 */
int kernel_switch_link(const char *name, bool up);

/*
 * Makes it promiscuous for as long as the returned socket is open, also if the process is killed.
 * Returns the socket or a negative errno.
 */
int kernel_promiscuous(const char *name);

/* 0 or a negative errno: -ENODEV if there is none of that name. */
int kernel_kin(const char *name, struct kernel_kin *kin);

/*
 * Returns true if tc can alter or redirect its packets: an ingress or clsact queue, or a program of
 * tcx.
 */
bool kernel_has_filter(unsigned interface);

/*
 * Writes the first of its addresses, but for link-local ones of IPv6, which every interface has
 * that is up. False if there is none, or the kernel does not say.
 */
bool kernel_address(const char *name, char *text, size_t size);

#endif
