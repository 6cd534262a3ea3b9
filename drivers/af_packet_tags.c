/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "af_packet_tags.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

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
 * Returns whether the kernel has passed a frame to the driver, which returns it by the same word.
 */
static bool is_ready(const struct tpacket2_hdr *frame)
{
	return __atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

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

		if (!is_ready(frame))
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

static bool is_as_expected(const struct driver_queue *queue)
{
	int domain = AF_UNSPEC;
	socklen_t len = sizeof(domain);

	return getsockopt(queue->socket, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       domain == AF_PACKET && queue->next < queue->n_frames && queue->n_frames <= INT_MAX &&
	       queue->frames->iov_base == queue->ring;
}

int af_packet_keep_tags(uint16_t port, uint16_t queues)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[port];

	for (uint16_t q = 0; q < queues; q++)
		if (!is_as_expected(ops->rxq.data[q]))
			return -ENOTSUP;
	driver_receive = ops->rx_pkt_burst;
	ops->rx_pkt_burst = receive_tagged;
	return 0;
}
