/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mbuf.h>

#define DESCRIPTORS 1024

/*
 * Mbufs that a queue pair may hold beside its descriptors: an af_xdp fill ring is 2048, and a pool
 * that cannot fill it receives nothing and says nothing.
 */
#define QUEUE_EXTRA 4096
#define POOL_CACHE  256

/* Ethernet header, two VLAN tags. */
#define L2_OVERHEAD 22

/*
 * An af_xdp fill ring of 22.11, and what its driver has taken out to refill it: neither comes back
 * when the port is closed. The kernel has let go of them; the driver forgets them.
 */
#define AF_XDP_KEEPS (2048 + 64)

/* A device that still hands out packets after so many bursts is fed from outside, not draining. */
#define DRAIN_BURSTS 4096

static int complain_port(const struct port *port, const char *what, int err)
{
	fprintf(stderr, "weir: ports.%s (%s): %s: %s\n", port->config->name, port->config->device,
		what, rte_strerror(-err));
	return err;
}

int port_probe(struct port *port, const struct port_config *config, uint16_t id)
{
	int ret;

	*port = (struct port){.config = config, .id = id};
	ret = rte_eth_dev_info_get(id, &port->info);
	if (ret)
		return complain_port(port, "cannot read device information", ret);
	port->queues_max = RTE_MIN(port->info.max_rx_queues, port->info.max_tx_queues);
	return 0;
}

static bool is_af_packet(const struct port *port)
{
	return strncmp(port->config->device, "net_af_packet", 13) == 0;
}

/* "framesz=" of an af_packet device: its driver insists that an mbuf holds a whole ring frame. */
static unsigned ring_frame(const struct port *port)
{
	const char *frame = strstr(port->config->device, "framesz=");

	return frame ? (unsigned)strtoul(frame + strlen("framesz="), NULL, 10) : 0;
}

/* Data room of an mbuf: the usual, unless the device cannot scatter a larger frame over several. */
static uint16_t data_room(const struct port *port)
{
	unsigned frame = port->config->mtu + L2_OVERHEAD + RTE_ETHER_CRC_LEN;
	unsigned room = RTE_MBUF_DEFAULT_DATAROOM;

	if (!(port->info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) && frame > room)
		room = is_af_packet(port) ? rte_align32pow2(frame + 64) : RTE_ALIGN_CEIL(frame, 64);
	room = RTE_MAX(room, ring_frame(port));
	return (uint16_t)RTE_MIN(room + RTE_PKTMBUF_HEADROOM, (unsigned)UINT16_MAX);
}

static int create_port_pool(struct port *port, unsigned held, uint32_t buffers)
{
	unsigned n = port->queues * (2 * DESCRIPTORS + QUEUE_EXTRA + held) + buffers;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "weir-port-%u", port->id);
	port->pool = rte_pktmbuf_pool_create(
		name, n, POOL_CACHE, 0, data_room(port), rte_eth_dev_socket_id(port->id));
	if (port->pool)
		return 0;
	return complain_port(
		port, "cannot allocate packet buffers", rte_errno ? -rte_errno : -ENOMEM);
}

static uint64_t rss_types(const struct port *port)
{
	return port->info.flow_type_rss_offloads &
	       (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP);
}

/*
 * The MTU to ask the driver for: no more than it says it can. Software devices say less than they
 * do (af_packet: 1518 bytes a frame, whatever its ring holds), and refuse to be asked for more.
 */
static uint32_t driver_mtu(const struct port *port)
{
	const struct rte_eth_dev_info *info = &port->info;
	uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN, mtu = port->config->mtu;

	if (info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu)
		overhead = info->max_rx_pktlen - info->max_mtu;
	if (info->max_mtu)
		mtu = RTE_MIN(mtu, info->max_mtu);
	if (info->max_rx_pktlen > overhead)
		mtu = RTE_MIN(mtu, info->max_rx_pktlen - overhead);
	return mtu;
}

static int configure_port(struct port *port)
{
	struct rte_eth_conf conf = {0};
	uint64_t rx = port->info.rx_offload_capa;

	conf.rxmode.mtu = driver_mtu(port);
	conf.rxmode.offloads = rx & (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP);
	conf.txmode.offloads = port->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port->rss = rss_types(port) != 0 && port->queues > 1;
	if (port->rss) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = rss_types(port);
		conf.rxmode.offloads |= rx & RTE_ETH_RX_OFFLOAD_RSS_HASH;
	}
	return rte_eth_dev_configure(port->id, port->queues, port->queues, &conf);
}

static int setup_queues(struct port *port)
{
	int socket = rte_eth_dev_socket_id(port->id), ret;
	uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;

	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx, &tx);
	for (uint16_t q = 0; ret == 0 && q < port->queues; q++) {
		ret = rte_eth_rx_queue_setup(port->id, q, rx, socket, NULL, port->pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(port->id, q, tx, socket, NULL);
	}
	return ret;
}

/* Raises the MTU to what is configured; a larger one that somebody has set stays. */
static void raise_mtu(const struct port *port)
{
	uint16_t mtu = 0;
	int ret = rte_eth_dev_get_mtu(port->id, &mtu);

	if (ret == 0 && mtu >= port->config->mtu)
		return;
	ret = rte_eth_dev_set_mtu(port->id, port->config->mtu);
	if (ret && ret != -ENOTSUP)
		complain_port(port, "warning: cannot set the MTU", ret);
}

/* Throws away what has been received and not looked at. */
static void drain_port(const struct port *port)
{
	struct rte_mbuf *mbufs[32];

	for (uint16_t q = 0; q < port->queues; q++)
		for (unsigned i = 0; i < DRAIN_BURSTS; i++) {
			uint16_t n = rte_eth_rx_burst(port->id, q, mbufs, RTE_DIM(mbufs));

			if (n == 0)
				break;
			rte_pktmbuf_free_bulk(mbufs, n);
		}
}

/*
 * Between its making and its binding an af_packet socket hears every interface of the machine. What
 * it has of them is of other networks, and must not go down this wire.
 */
static void forget_strangers(const struct port *port)
{
	if (is_af_packet(port))
		drain_port(port);
}

int port_clock(const struct port *port, uint64_t *clock)
{
	return rte_eth_read_clock(port->id, clock);
}

/* Stamps are of use where the clock that they are of can be read. */
static bool tells_time(const struct port *port)
{
	uint64_t clock;

	return port->info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP &&
	       port_clock(port, &clock) == 0;
}

int port_start(struct port *port, uint16_t queues, unsigned held, uint32_t buffers)
{
	int ret;

	port->queues = queues;
	ret = create_port_pool(port, held, buffers);
	if (ret)
		return ret;
	ret = configure_port(port);
	if (ret)
		return complain_port(port, "cannot configure", ret);
	ret = setup_queues(port);
	if (ret)
		return complain_port(port, "cannot set up queues", ret);
	raise_mtu(port);
	ret = rte_eth_dev_start(port->id);
	if (ret)
		return complain_port(port, "cannot start", ret);
	port->started = true;
	port->timestamps = tells_time(port);
	ret = rte_eth_promiscuous_enable(port->id);
	if (ret && ret != -ENOTSUP)
		return complain_port(port, "cannot receive what is not addressed to it", ret);
	rte_eth_allmulticast_enable(port->id); /* implied by promiscuous where it is missing */
	forget_strangers(port);
	return 0;
}

/* Name of the kernel interface that an af_packet or af_xdp device stands on; false for others. */
static bool kernel_interface(const struct port *port, char name[IFNAMSIZ])
{
	const char *iface = strstr(port->config->device, "iface=");

	if (strncmp(port->config->device, "net_af_", 7) != 0 || !iface)
		return false;
	iface += strlen("iface=");
	snprintf(name, IFNAMSIZ, "%.*s", (int)strcspn(iface, ","), iface);
	return true;
}

/* Their drivers say "up" for ever; the kernel knows. */
static int kernel_link(const char *name, bool *up)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;
	struct ifreq request = {0};

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		ret = errno == ENODEV ? 0 : -errno; /* gone is as good as unplugged */
	*up = request.ifr_flags & IFF_UP && request.ifr_flags & IFF_RUNNING;
	close(fd);
	return ret;
}

int port_link(const struct port *port, bool *up, uint32_t *mbps)
{
	struct rte_eth_link link = {0};
	char name[IFNAMSIZ];
	int ret = rte_eth_link_get_nowait(port->id, &link);

	if (ret)
		return ret;
	*mbps = link.link_speed;
	*up = link.link_status == RTE_ETH_LINK_UP;
	return kernel_interface(port, name) ? kernel_link(name, up) : 0;
}

void port_stop(struct port *port)
{
	int ret;

	if (!port->config)
		return;
	if (port->started) {
		drain_port(port); /* ring-like devices keep it, and its mbufs belong to some pool */
		ret = rte_eth_dev_stop(port->id);
		if (ret)
			complain_port(port, "cannot stop", ret);
	}
	port->started = false;
	ret = rte_eth_dev_close(port->id);
	if (ret)
		complain_port(port, "cannot close", ret);
}

unsigned port_free(struct port *port)
{
	unsigned missing, kept = 0;

	if (!port->pool)
		return 0;
	missing = rte_mempool_in_use_count(port->pool);
	if (strncmp(port->config->device, "net_af_xdp", 10) == 0)
		kept = RTE_MIN(missing, port->queues * (unsigned)AF_XDP_KEEPS);
	/* Somebody still points into a pool that is not whole: the memory goes with the process. */
	if (missing == 0)
		rte_mempool_free(port->pool);
	port->pool = NULL;
	return missing - kept;
}
