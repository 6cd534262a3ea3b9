/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "kernel_missed.h"

#include <errno.h>

#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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
