/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Corrects the sockets that DPDK's drivers af_packet and af_xdp open.
 */
#include "kernel_sockets.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "policy/config.h"

/* Each queue has one socket. */
#define SOCKETS_MOST (CONFIG_PORTS_MAX * CONFIG_WORKERS_MAX)

static struct bound {
	int fd, family;
	unsigned interface;
	unsigned queue;  /* AF_XDP */
	uint64_t missed; /* af_packet: total until the last read */
} sockets[SOCKETS_MOST];
static unsigned n_sockets;

/* Adds a socket to the table. It takes the place of one with the same descriptor, now closed. */
static void add_socket(const struct bound *socket)
{
	unsigned i = 0;

	while (i < n_sockets && sockets[i].fd != socket->fd)
		i++;
	if (i == SOCKETS_MOST)
		return;
	sockets[i] = *socket;
	n_sockets += i == n_sockets;
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	struct bound socket = {.fd = fd, .family = address ? address->sa_family : AF_UNSPEC};
	long ret = syscall(SYS_bind, fd, address, len);

	if (ret == 0 && socket.family == AF_PACKET) {
		socket.interface = (unsigned)((const struct sockaddr_ll *)address)->sll_ifindex;
		add_socket(&socket);
	} else if (ret == 0 && socket.family == AF_XDP) {
		socket.interface = ((const struct sockaddr_xdp *)address)->sxdp_ifindex;
		socket.queue = ((const struct sockaddr_xdp *)address)->sxdp_queue_id;
		add_socket(&socket);
	}
	return (int)ret;
}

static bool is_of_family(int fd, int family)
{
	int is = AF_UNSPEC;
	socklen_t len = sizeof(is);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &is, &len) == 0 && is == family;
}

/* Returns the packets dropped at a socket. The AF_XDP driver counts rx_dropped itself. */
static uint64_t read_missed(struct bound *socket)
{
	struct xdp_statistics xdp = {0};
	struct tpacket_stats packet = {0};
	socklen_t len = sizeof(xdp);

	if (socket->family == AF_XDP)
		return getsockopt(socket->fd, SOL_XDP, XDP_STATISTICS, &xdp, &len)
			       ? 0
			       : xdp.rx_ring_full;
	len = sizeof(packet);
	if (getsockopt(socket->fd, SOL_PACKET, PACKET_STATISTICS, &packet, &len) == 0)
		socket->missed += packet.tp_drops;
	return socket->missed;
}

/* The kernel unbinds a socket whose interface is deleted or moved to another network namespace. */
static bool is_unbound(const struct bound *socket)
{
	struct sockaddr_ll at = {0};
	socklen_t len = sizeof(at);
	int error = 0;

	if (socket->family == AF_PACKET)
		return getsockname(socket->fd, (struct sockaddr *)&at, &len) == 0 &&
		       (unsigned)at.sll_ifindex != socket->interface;
	len = sizeof(error);
	return getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == ENETDOWN;
}

bool kernel_unbound(unsigned interface)
{
	for (unsigned i = 0; i < n_sockets; i++)
		if (sockets[i].interface == interface &&
			is_of_family(sockets[i].fd, sockets[i].family) && is_unbound(&sockets[i]))
			return true;
	return false;
}

int kernel_xdp_socket(unsigned interface, unsigned queue)
{
	for (unsigned i = 0; i < n_sockets; i++)
		if (sockets[i].family == AF_XDP && sockets[i].interface == interface &&
			sockets[i].queue == queue && is_of_family(sockets[i].fd, AF_XDP))
			return sockets[i].fd;
	return -1;
}

void kernel_forget(unsigned interface)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n_sockets; i++)
		if (sockets[i].interface != interface)
			sockets[kept++] = sockets[i];
	n_sockets = kept;
}

uint64_t kernel_missed(unsigned interface)
{
	uint64_t missed = 0;

	for (unsigned i = 0; i < n_sockets; i++)
		if (sockets[i].interface == interface &&
			is_of_family(sockets[i].fd, sockets[i].family))
			missed += read_missed(&sockets[i]);
	return missed;
}

/* --- fanout groups ---------------------------------------------------------------------------- */

#define GROUP        0xffff /* bits of the option: number of the group */
#define ASKED_FLAGS  16     /* in a request, type and flags are above it */
#define JOINED_FLAGS 24     /* in a reply, the flags without their low byte are above the type */

#define DEFRAG   ((uint32_t)PACKET_FANOUT_FLAG_DEFRAG << ASKED_FLAGS)
#define UNIQUEID ((uint32_t)PACKET_FANOUT_FLAG_UNIQUEID << ASKED_FLAGS)

/* Groups by the number that the driver requested. Sockets of one port request the same number. */
static struct {
	uint16_t asked, given;
} groups[CONFIG_PORTS_MAX];
static unsigned n_groups;

static int set_fanout(int fd, uint32_t value)
{
	return (int)syscall(SYS_setsockopt, fd, SOL_PACKET, PACKET_FANOUT, &value, sizeof(value));
}

/* Creates the group of a port's first socket. The kernel chooses a number that is not in use. */
static int found_group(int fd, uint32_t asked)
{
	uint32_t joined;
	socklen_t len = sizeof(joined);
	int ret = set_fanout(fd, (asked & ~(uint32_t)GROUP) | UNIQUEID);

	if (ret == 0)
		ret = getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &joined, &len);
	if (ret == 0) {
		groups[n_groups].asked = asked & GROUP;
		groups[n_groups].given = joined & GROUP;
		n_groups++;
	}
	return ret;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	uint32_t asked;

	/*
	 * A longer value than in packet(7) is from a caller that uses newer features: not the
	 * driver.
	 */
	if (level != SOL_PACKET || name != PACKET_FANOUT || len != sizeof(asked))
		return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
	memcpy(&asked, value, sizeof(asked));
	asked &= ~DEFRAG;
	for (unsigned i = 0; i < n_groups; i++)
		if (groups[i].asked == (asked & GROUP))
			return set_fanout(fd, (asked & ~(uint32_t)GROUP) | groups[i].given);
	return n_groups < CONFIG_PORTS_MAX ? found_group(fd, asked) : set_fanout(fd, asked);
}

void fanout_forget(void)
{
	n_groups = 0;
}

bool fanout_defragments(void)
{
	DIR *dir = opendir("/proc/self/fd");
	bool found = false;

	for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		uint32_t joined = 0;
		socklen_t len = sizeof(joined);

		/* Fails if it is not a packet socket, or is in no group. */
		found = getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &joined, &len) == 0 &&
			joined >> JOINED_FLAGS & PACKET_FANOUT_FLAG_DEFRAG >> 8;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* --- tags ------------------------------------------------------------------------------------- */

#define LOOKED_MOST 64 /* most frames of a burst */

/* The first fields of the driver's receive queue structure. */
struct driver_queue {
	int socket;
	struct iovec *frames;
	uint8_t *ring;
	unsigned n_frames, next;
};

static uint16_t (*driver_receive)(void *queue, struct rte_mbuf **mbufs, uint16_t n);

/*
 * Receives only frames whose tags have been read before, because the kernel refills a frame as soon
 * as the driver has copied it.
 */
static uint16_t receive_tagged(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
	const struct driver_queue *driver = queue;
	unsigned at = driver->next;
	bool service[LOOKED_MOST];
	uint16_t looked = 0;

	for (; looked < n && looked < LOOKED_MOST; looked++) {
		const struct tpacket2_hdr *frame = driver->frames[at].iov_base;

		/* The kernel passes a frame to the driver by this word, and gets it back by it. */
		if (!(__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			break;
		service[looked] = frame->tp_status & TP_STATUS_VLAN_TPID_VALID &&
				  frame->tp_vlan_tpid == ETH_P_8021AD;
		at = at + 1 < driver->n_frames ? at + 1 : 0;
	}
	looked = driver_receive(queue, mbufs, looked);
	for (uint16_t i = 0; i < looked; i++)
		if (service[i])
			*rte_pktmbuf_mtod_offset(mbufs[i], rte_be16_t *, 2 * ETH_ALEN) = RTE_BE16(
				ETH_P_8021AD);
	return looked;
}

int af_packet_keep_tags(uint16_t port, uint16_t queues)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[port];

	for (uint16_t q = 0; q < queues; q++) {
		const struct driver_queue *queue = ops->rxq.data[q];
		int domain = AF_UNSPEC;
		socklen_t len = sizeof(domain);
		const bool packet_socket = getsockopt(queue->socket, SOL_SOCKET, SO_DOMAIN, &domain,
						   &len) == 0 &&
					   domain == AF_PACKET;

		if (!packet_socket || queue->next >= queue->n_frames || queue->n_frames > INT_MAX ||
			queue->frames->iov_base != queue->ring)
			return -ENOTSUP;
	}
	driver_receive = ops->rx_pkt_burst;
	ops->rx_pkt_burst = receive_tagged;
	return 0;
}
