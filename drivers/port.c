/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A DPDK port of any kind, set up for a bump in the wire.
 */
#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "eal_args.h"
#include "kernel_port.h"
#include "kernel_sockets.h"
#include "pci_card.h"

#define DESCRIPTORS 1024

/*
 * Mbufs that a queue pair can hold in addition to its descriptors. An af_xdp fill ring has 2048
 * entries, and if the pool cannot fill it, the port receives nothing without an error.
 */
#define QUEUE_EXTRA 4096
#define POOL_CACHE  256

/*
 * Buffers of an af_xdp fill ring in 22.11, and those taken out to refill it. The driver does not
 * return them when the port is closed, though the kernel has released them.
 */
#define AF_XDP_KEEPS (2048 + 64)

/*
 * A device that still returns packets after this many bursts is receiving new ones, not draining.
 */
#define DRAIN_BURSTS 4096

static int complain_port(const struct port *port, const char *what, int err)
{
	fprintf(stderr, "weir: ports.%s (%s): %s: %s\n", port->config->name, port->config->device,
		what, rte_strerror(-err));
	return err;
}

int port_probe(struct port *port, const struct port_config *config, uint16_t id)
{
	struct rte_eth_dev_info info;
	char name[IFNAMSIZ];
	int ret;

	*port = (struct port){.config = config, .id = id};
	if (kernel_interface(config, name)) {
		port->interface = if_nametoindex(name);
		kernel_state_read(name, &port->before);
	}
	ret = rte_eth_dev_info_get(id, &info);
	if (ret)
		return complain_port(port, "cannot read device information", ret);
	port->can = (struct port_abilities){.rx_offloads = info.rx_offload_capa,
		.tx_offloads = info.tx_offload_capa,
		.rss_types = info.flow_type_rss_offloads,
		.frame = info.max_rx_pktlen,
		.mtu = info.max_mtu,
		.rss_key_len = info.hash_key_size};
	if (port_is_af_packet(config) && !af_packet_fits(config))
		return complain_port(port, "its framesz holds no frame of its mtu", -EINVAL);
	port->card = pci_card_identity("", config->device);
	port->queues_max = RTE_MIN(info.max_rx_queues, info.max_tx_queues);
	if (config->queues)
		port->queues_max = RTE_MIN(port->queues_max, config->queues);
	return 0;
}

/*
 * Returns the data room of an mbuf: the default, unless a larger one is configured, or the device
 * cannot scatter a larger frame over several mbufs.
 */
static uint16_t data_room(const struct port *port)
{
	unsigned frame = port_frame_max(port->config) + RTE_ETHER_CRC_LEN;
	unsigned room = RTE_MAX(RTE_MBUF_DEFAULT_DATAROOM, port->config->buffer_size);

	/* The kernel reserves its own headroom before each frame. */
	if (port_is_af_xdp(port->config))
		frame += XDP_PACKET_HEADROOM;

	if (!(port->can.rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER) && frame > room)
		room = RTE_ALIGN_CEIL(frame, 64);
	/* The driver requires that an mbuf holds a whole ring frame. */
	if (port_is_af_packet(port->config))
		room = RTE_MAX(room, af_packet_frame(port->config));
	return (uint16_t)RTE_MIN(room + RTE_PKTMBUF_HEADROOM, (unsigned)UINT16_MAX);
}

static unsigned pool_buffers(uint16_t queues, unsigned held, uint32_t buffers)
{
	return queues * (2 * DESCRIPTORS + QUEUE_EXTRA + held) + buffers;
}

size_t port_pool_bytes(
	const struct port_config *config, uint16_t queues, uint32_t buffers, size_t page)
{
	unsigned room = RTE_MAX(RTE_MBUF_DEFAULT_DATAROOM, config->buffer_size);
	unsigned n = pool_buffers(queues, 0, buffers);
	/* In addition to the buffers: the lcores' caches, and the ring of free buffers. */
	const size_t overhead = sizeof(struct rte_mempool) +
				RTE_MAX_LCORE * sizeof(struct rte_mempool_cache) +
				(size_t)rte_ring_get_memsize(rte_align32pow2(n + 1));
	size_t object, a_page;

	if (port_is_af_packet(config))
		room = RTE_MAX(room, af_packet_frame(config));
	/* Without the spread over memory channels, which EAL determines when it starts. */
	object = rte_mempool_calc_obj_size(sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM + room,
		RTE_MEMPOOL_F_NO_SPREAD, NULL);
	a_page = page / object;
	return overhead + (a_page ? (n + a_page - 1) / a_page * page : (size_t)n * object);
}

static uint64_t rss_types(const struct port *port)
{
	return port->can.rss_types &
	       (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP);
}

/*
 * Returns the MTU to set in the driver: at most its own maximum. Software devices report less than
 * they can do (af_packet: 1518 bytes per frame, for any ring frame size), and refuse more.
 */
static uint32_t driver_mtu(const struct port *port)
{
	const struct port_abilities *can = &port->can;
	uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
	uint32_t mtu = port_frame_max(port->config) - RTE_ETHER_HDR_LEN;

	if (can->mtu != UINT16_MAX && can->frame > can->mtu)
		overhead = can->frame - can->mtu;
	if (can->mtu)
		mtu = RTE_MIN(mtu, can->mtu);
	if (can->frame > overhead)
		mtu = RTE_MIN(mtu, can->frame - overhead);
	return mtu;
}

/*
 * Returns one key for all ports, so a flow has the same hash on each. It differs at every start:
 * with the driver's default key, an attacker could direct all flows to one queue. Devices keep the
 * pointer. NULL if the kernel has no random numbers.
 */
static uint8_t *rss_key(void)
{
	static uint8_t key[UINT8_MAX];
	static bool drawn;

	if (!drawn)
		drawn = getrandom(key, sizeof(key), 0) == sizeof(key);
	return drawn ? key : NULL;
}

static int configure_port(struct port *port)
{
	struct rte_eth_conf conf = {0};
	uint64_t rx = port->can.rx_offloads;

	conf.rxmode.mtu = driver_mtu(port);
	conf.rxmode.offloads = rx & (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP);
	conf.txmode.offloads = port->can.tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port->rss = rss_types(port) != 0 && port->queues > 1;
	if (port->rss) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = rss_types(port);
		conf.rx_adv_conf.rss_conf.rss_key_len = port->can.rss_key_len;
		if (port->can.rss_key_len)
			conf.rx_adv_conf.rss_conf.rss_key = rss_key();
		if (port->can.rss_key_len && !conf.rx_adv_conf.rss_conf.rss_key)
			return -errno;
		conf.rxmode.offloads |= rx & RTE_ETH_RX_OFFLOAD_RSS_HASH;
	}
	return rte_eth_dev_configure(port->id, port->queues, port->queues, &conf);
}

/* Some devices have `wanted` queues, but accept powers of two only (vmxnet3). */
uint16_t port_queues(struct port *port, uint16_t wanted)
{
	uint16_t fewer = rte_align32prevpow2(wanted);

	port->queues = wanted;
	if (fewer == wanted || configure_port(port) != -EINVAL)
		return wanted;
	port->queues = fewer;
	if (configure_port(port))
		return wanted; /* not the reason; port_start() reports it */
	fprintf(stderr, "weir: ports.%s (%s): it does not take %u queues, and has %u\n",
		port->config->name, port->config->device, wanted, fewer);
	port->queues_max = fewer;
	return fewer;
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

/* A virtual device without such a call has no such limit either. Other devices report their own. */
static bool is_virtual(const struct port *port)
{
	return strncmp(port->config->device, "net_", strlen("net_")) == 0;
}

/* Raises the MTU to the configured one. A larger MTU is kept. */
static int raise_mtu(struct port *port)
{
	uint16_t known = 0;
	unsigned most = port->can.mtu == UINT16_MAX ? 0 : port->can.mtu;
	char what[128], name[IFNAMSIZ];
	bool of_kernel = port_interface(port, name);
	unsigned mtu;
	int ret = of_kernel ? 0 : rte_eth_dev_get_mtu(port->id, &known);

	mtu = of_kernel ? port->before.mtu : known;
	if (of_kernel)
		ret = kernel_raise_mtu(name, port->config, &port->before);
	else if (ret || mtu < port->config->mtu)
		ret = rte_eth_dev_set_mtu(port->id, port->config->mtu);
	if (ret == 0 || (ret == -ENOTSUP && is_virtual(port)))
		return 0;
	snprintf(what, sizeof(what), "cannot set the MTU to %u, it is %u%s%.0u", port->config->mtu,
		mtu, most ? ", and at most " : "", most);
	complain_port(port, what, ret);
	if (of_kernel)
		fprintf(stderr, "weir: ports.%s: ip link set dev %s mtu %u\n", port->config->name,
			name, port->config->mtu);
	return ret;
}

/* Drops packets that are received but not processed. */
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

int port_clock(const struct port *port, uint64_t *clock)
{
	return rte_eth_read_clock(port->id, clock);
}

/*
 * Makes the port promiscuous. A kernel interface stays so after the process only if a kernel
 * program needs it.
 */
static int make_promiscuous(struct port *port, bool outlived)
{
	char name[IFNAMSIZ];
	int ret;

	if (!outlived && port_interface(port, name)) {
		port->promiscuous = kernel_promiscuous(name);
		return port->promiscuous < 0 ? port->promiscuous : 0;
	}
	ret = rte_eth_promiscuous_enable(port->id);
	rte_eth_allmulticast_enable(port->id); /* promiscuous mode implies it where it is missing */
	return ret;
}

static int open_port(struct port *port, bool outlived)
{
	int ret = configure_port(port);
	uint64_t clock;

	if (ret)
		return complain_port(port, "cannot configure", ret);
	ret = setup_queues(port);
	if (ret)
		return complain_port(port, "cannot set up queues", ret);
	ret = raise_mtu(port);
	if (ret)
		return ret;
	ret = rte_eth_dev_start(port->id);
	if (ret)
		return complain_port(port, "cannot start", ret);
	port->started = true;
	/* Without a clock that can be read, stamps are useless. */
	port->timestamps = port->can.rx_offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP &&
			   port_clock(port, &clock) == 0;
	ret = make_promiscuous(port, outlived);
	if (ret && !(ret == -ENOTSUP && is_virtual(port)))
		return complain_port(port, "cannot become promiscuous", ret);
	if (port_is_af_packet(port->config) && af_packet_keep_tags(port->id, port->queues))
		complain_port(port, "its outer 802.1ad tags become 802.1Q", -ENOTSUP);
	/*
	 * Between its creation and its binding, an af_packet socket receives from every interface
	 * of the machine. These packets belong to other networks and must not be forwarded.
	 */
	if (port_is_af_packet(port->config))
		drain_port(port);
	return 0;
}

int port_start(struct port *port, uint16_t queues, unsigned held, uint32_t buffers, bool outlived)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	port->queues = queues;
	snprintf(name, sizeof(name), "weir-port-%u", port->id);
	port->pool = rte_pktmbuf_pool_create(name, pool_buffers(queues, held, buffers), POOL_CACHE,
		0, data_room(port), rte_eth_dev_socket_id(port->id));
	if (!port->pool)
		return complain_port(
			port, "cannot allocate packet buffers", rte_errno ? -rte_errno : -ENOMEM);
	return open_port(port, outlived);
}

int port_socket(const struct port *port, uint16_t queue)
{
	if (!port_is_af_xdp(port->config) || port->interface == 0)
		return -1;
	return kernel_xdp_socket(port->interface, af_xdp_first_queue(port->config) + queue);
}

bool port_interface(const struct port *port, char name[IFNAMSIZ])
{
	return port->interface && if_indextoname(port->interface, name);
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
	return port_interface(port, name) ? kernel_link(name, up) : 0;
}

bool port_gone(const struct port *port)
{
	if (port->interface)
		return kernel_unbound(port->interface);
	if (port->card && pci_card_identity("", port->config->device) != port->card)
		return true;
	return rte_eth_dev_is_removed(port->id) == 1;
}

int port_switch_link(const struct port *port, bool up)
{
	char name[IFNAMSIZ];

	/* DPDK's drivers of kernel interfaces have no such call. */
	if (port_interface(port, name))
		return kernel_switch_link(name, up);
	return up ? rte_eth_dev_set_link_up(port->id) : rte_eth_dev_set_link_down(port->id);
}

static void close_port(struct port *port)
{
	int ret;

	if (port->started) {
		drain_port(port); /* ring-like devices keep packets, whose mbufs belong to a pool */
		ret = rte_eth_dev_stop(port->id);
		if (ret)
			complain_port(port, "cannot stop", ret);
	}
	port->started = false;
	if (port->promiscuous > 0)
		close(port->promiscuous);
	port->promiscuous = 0;
	ret = rte_eth_dev_is_valid_port(port->id) ? rte_eth_dev_close(port->id) : 0;
	if (ret)
		complain_port(port, "cannot close", ret);
}

void port_stop(struct port *port)
{
	if (port->config)
		close_port(port);
}

/* Leaves the mbufs in their pool. DPDK's own functions for a closed port write to the log. */
static uint16_t receive_nothing(void *queue, struct rte_mbuf **mbufs, uint16_t n)
{
	(void)queue;
	(void)mbufs;
	(void)n;
	return 0;
}

int port_parked(void)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[RTE_MAX_ETHPORTS - 1];

	if (rte_eth_dev_is_valid_port(RTE_MAX_ETHPORTS - 1))
		return -ENOSPC;
	ops->rx_pkt_burst = receive_nothing;
	ops->tx_pkt_burst = receive_nothing;
	return RTE_MAX_ETHPORTS - 1;
}

bool port_can_reopen(const struct port *port)
{
	return port_is_af_packet(port->config) && port_parked() >= 0;
}

const char *port_when_gone(const struct port *port)
{
	if (!port->interface)
		return "the port stays unused until a restart of weir, even with a new device";
	return port_can_reopen(port) ? "weir opens the port again when the interface is back"
				     : "weir exits for a restart when the interface is back";
}

/* Removes a virtual device, whose port is closed, and adds it again. 0 or a negative errno. */
static int replace_device(const struct port_config *port, uint16_t *id)
{
	struct eal_args args = {0};
	char name[CONFIG_DEVICE_MAX];
	const char *device;
	int ret = -ENOMEM;

	eal_device_name(port, name);
	eal_args_add_port(&args, port);
	rte_eal_hotplug_remove("vdev", name); /* fails if a previous attempt has removed it */
	if (!args.failed) {
		device = args.arg[0] + strlen("--vdev=") + strlen(name);
		fanout_forget();
		ret = rte_eal_hotplug_add("vdev", name, device + (*device == ','));
	}
	eal_args_free(&args);
	return ret ? ret : rte_eth_dev_get_port_by_name(name, id);
}

int port_reopen(struct port *port)
{
	char name[IFNAMSIZ], who[OWNER_WORDS];
	int ret;

	kernel_interface(port->config, name);
	kernel_forget(port->interface);
	owner_release(port->interface);
	close_port(port);
	port->id = RTE_MAX_ETHPORTS; /* no port, in case it cannot be opened */
	port->interface = if_nametoindex(name);
	if (port->interface == 0)
		return -ENODEV;
	kernel_state_read(name, &port->before);
	ret = owner_claim(port->interface, who);
	if (ret == -EBUSY)
		fprintf(stderr, "weir: ports.%s: %s has %s\n", port->config->name, who, name);
	if (ret == 0)
		ret = replace_device(port->config, &port->id);
	return ret ? ret : open_port(port, false);
}

void port_put_back(const struct port *port, bool failed)
{
	char name[IFNAMSIZ];

	if (!port->config || !port_interface(port, name))
		return;
	if (failed)
		kernel_state_restore(name, &port->before);
	else
		kernel_restore_mtu(name, &port->before);
}

unsigned port_free(struct port *port)
{
	unsigned missing, kept = 0;

	if (!port->pool)
		return 0;
	missing = rte_mempool_in_use_count(port->pool);
	if (port_is_af_xdp(port->config))
		kept = RTE_MIN(missing, port->queues * (unsigned)AF_XDP_KEEPS);
	/* Missing buffers are still in use, so the memory stays until the process ends. */
	if (missing == 0)
		rte_mempool_free(port->pool);
	port->pool = NULL;
	return missing - kept;
}
