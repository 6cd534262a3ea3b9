/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "collector.h"

#include <errno.h>
#include <time.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "netflow/netflow.h"

/* Datagrams sent without a pause: less than a fifth of the default receive buffer of a socket. */
#define BURST    16
#define PAUSE_NS 1000000

#define UDP_HEADER  8
#define IPV4_HEADER 20
#define IPV6_HEADER 40

static int find_collector(const char *address, struct addrinfo **found)
{
	if (address[0] == ':')
		return -EINVAL; /* an empty host would be this machine */
	return address_find(address, SOCK_DGRAM, 0, found);
}

static void forget_way(struct collector *collector)
{
	if (collector->fd >= 0)
		close(collector->fd);
	collector->fd = -1;
}

static void find_way(struct collector *collector)
{
	struct addrinfo *found;
	int fd;

	if (find_collector(collector->address, &found))
		return;
	fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen)) {
		close(fd);
		fd = -1;
	}
	collector->ipv6 = found->ai_family == AF_INET6;
	collector->fd = fd;
	freeaddrinfo(found);
}

int collector_open(struct collector *collector, const char *address)
{
	struct addrinfo *found;
	int ret = find_collector(address, &found);

	*collector = (struct collector){.address = address, .fd = -1};
	if (ret == 0)
		freeaddrinfo(found);
	return ret;
}

void collector_close(struct collector *collector)
{
	forget_way(collector);
}

/* Returns the room by the path MTU that the kernel has, which it learns from routers. */
size_t collector_room(struct collector *collector)
{
	int mtu, headers;
	socklen_t length = sizeof(mtu);

	if (collector->fd < 0)
		find_way(collector);
	if (collector->fd < 0 ||
		getsockopt(collector->fd, collector->ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
			collector->ipv6 ? IPV6_MTU : IP_MTU, &mtu, &length))
		return NETFLOW_LEAST;
	headers = UDP_HEADER + (collector->ipv6 ? IPV6_HEADER : IPV4_HEADER);
	if (mtu - headers < NETFLOW_LEAST)
		return NETFLOW_LEAST;
	return mtu - headers < NETFLOW_MOST ? (size_t)(mtu - headers) : NETFLOW_MOST;
}

/*
 * Sends a datagram. The kernel reports at the next send that a previous one was refused; that send
 * fails and is repeated.
 */
bool collector_send(struct collector *collector, const uint8_t *bytes, size_t n)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	bool refused;

	if (collector->fd < 0)
		return false;
	if (++collector->burst >= BURST) {
		collector->burst = 0;
		nanosleep(&pause, NULL);
	}
	if (send(collector->fd, bytes, n, MSG_NOSIGNAL) >= 0)
		return true;
	refused = errno == ECONNREFUSED;
	if (refused && send(collector->fd, bytes, n, MSG_NOSIGNAL) >= 0)
		return false;
	if (!refused)
		forget_way(collector); /* an address or route is gone: the next call looks again */
	return false;
}
