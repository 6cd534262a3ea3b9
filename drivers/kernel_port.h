/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel interface of an af_packet or af_xdp device: properties that DPDK does not report, and
 * its claim by one process. Any thread; uses ioctls and netlink in the process's network namespace.
 */
#ifndef WEIR_DRIVERS_KERNEL_PORT_H
#define WEIR_DRIVERS_KERNEL_PORT_H

#include <stdbool.h>

#include <net/if.h>

#include "base/layer2.h"
#include "policy/config.h"

#define AF_PACKET_FRAME 2048 /* the driver's default */

/* An interface's relations to others, and properties. */
struct kernel_kin {
	int index;
	char kind[16];         /* for example "veth" or "vlan"; "": a physical device */
	int link;              /* a veth's other end, or a VLAN's lower device; 0: none */
	bool link_elsewhere;   /* `link` is in another network namespace */
	unsigned mtu_max;      /* 0: not reported */
	char master[IFNAMSIZ]; /* its bridge, bond or VRF; "": none */
	unsigned program;      /* ID of its XDP program; 0: none */
};

/* Bytes of the longest frame that the MTU allows, without its FCS. */
static inline unsigned port_frame_max(const struct port_config *port)
{
	return port->mtu + LAYER2_MAX;
}

/*
 * Returns the bytes of a frame in an af_packet ring: from its arguments, or as the MTU requires. A
 * frame that the kernel truncates to fit is longer than port_frame_max() even so.
 */
unsigned af_packet_frame(const struct port_config *port);

/* Returns whether the ring frames hold a frame of the MTU. */
bool af_packet_fits(const struct port_config *port);

/* Returns the queue of the interface that is queue 0 of an AF_XDP port. */
unsigned af_xdp_first_queue(const struct port_config *port);

/*
 * The receive queues of an interface, and the queues that DPDK's AF_XDP driver can use. At least
 * one of each.
 */
struct kernel_queues {
	unsigned receive, pairs;
};
struct kernel_queues kernel_queues(const char *name);

/* Writes the name of the interface. Returns false for other devices. */
bool kernel_interface(const struct port_config *port, char name[IFNAMSIZ]);

/* Returns an earlier port on the same interface or PCI function, or `port` if there is none. */
unsigned port_twin(const struct config *config, unsigned port);

/*
 * Sets *up to whether the interface is up and has a carrier. A missing one is down. Returns 0 or a
 * negative errno.
 */
int kernel_link(const char *name, bool *up);

/* Reads or sets the MTU. Returns 0 or a negative errno. */
int kernel_mtu(const char *name, unsigned *mtu);

/*
 * The longest frames that the kernel can send now on the interface with this index, in bytes
 * without FCS. `any` is for any frame, `tagged` for one with an 802.1Q tag (0x8100) as the
 * outermost. Both are 0 if the interface is down or missing. The kernel drops longer frames without
 * a count.
 */
struct kernel_frames {
	unsigned any, tagged;
};
struct kernel_frames kernel_frames(const struct port_config *port, unsigned index);

/* Settings of an interface that a start changes, and a failed start restores. */
struct kernel_state {
	bool known;
	int flags;
	unsigned mtu, mtu_set; /* mtu_set: MTU set by the start; 0: unchanged */
};
void kernel_state_read(const char *name, struct kernel_state *state);
void kernel_state_restore(const char *name, const struct kernel_state *state);

/* At a stop: restores the MTU, unless it was changed after the start. */
void kernel_restore_mtu(const char *name, const struct kernel_state *state);

/*
 * Raises the MTU to accept all frames of port_frame_max(), and records that. If that is refused or
 * above the maximum, sets the largest MTU that is accepted. Returns 0, or a negative errno if that
 * is below the port's MTU.
 */
int kernel_raise_mtu(const char *name, const struct port_config *port, struct kernel_state *state);

/*
 * Switches the interface up or down, and its carrier with it. Waits for the kernel. Returns 0 or a
 * negative errno; 0 if the interface is missing.
 */
int kernel_switch_link(const char *name, bool up);

/*
 * Makes it promiscuous while the returned socket is open; that also ends if the process is killed.
 * Returns the socket or a negative errno.
 */
int kernel_promiscuous(const char *name);

/* Returns 0 or a negative errno: -ENODEV if there is no interface of that name. */
int kernel_kin(const char *name, struct kernel_kin *kin);

/*
 * Returns true if tc can alter or redirect its packets: it has an ingress or clsact queue, or a tcx
 * program.
 */
bool kernel_has_filter(unsigned interface);

/*
 * Writes its first address, except IPv6 link-local ones, which every interface has that is up.
 * Returns false if there is none or the kernel reports an error.
 */
bool kernel_address(const char *name, char *text, size_t size);

/*
 * One limiter per kernel interface: two would each send every frame. An abstract socket, named for
 * the interface, is the claim. The kernel keeps these names per network namespace and frees them
 * when the process ends, however it ends. Main thread.
 */
#define OWNER_WORDS 256

/*
 * Claims an interface for this process until owner_release(). Returns 0 or a negative errno. After
 * -EBUSY `who` names the process that has it, such as "pid 7 (weir -c /etc/weir/x.json)".
 */
int owner_claim(unsigned interface, char who[OWNER_WORDS]);
void owner_release(unsigned interface);

#endif
