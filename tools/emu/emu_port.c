/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "emu_port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

static int set_up_emu_port(uint16_t port, struct rte_mempool *pool)
{
	static const struct rte_eth_conf conf;
	uint16_t rx = PORT_RX_DESCRIPTORS, tx = PORT_RX_DESCRIPTORS;
	int rc = rte_eth_dev_configure(port, 1, 1, &conf);

	if (!rc)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx);
	if (!rc)
		rc = rte_eth_rx_queue_setup(port, 0, rx, SOCKET_ID_ANY, NULL, pool);
	if (!rc)
		rc = rte_eth_tx_queue_setup(port, 0, tx, SOCKET_ID_ANY, NULL);
	if (!rc)
		rc = rte_eth_dev_start(port);
	return rc;
}

/* A link is transparent: its ports accept frames for any address. */
static int accept_all(uint16_t port)
{
	int rc = rte_eth_promiscuous_enable(port);

	return rc == -ENOTSUP ? 0 : rc;
}

int port_open(const char *name, struct rte_mempool *pool, uint16_t *port)
{
	int rc = rte_eth_dev_get_port_by_name(name, port);

	if (rc) {
		fprintf(stderr, "port %s: did not come up\n", name);
		return -ENODEV;
	}
	rc = set_up_emu_port(*port, pool);
	if (!rc)
		rc = accept_all(*port);
	if (rc)
		fprintf(stderr, "port %s: %s\n", name, strerror(-rc));
	return rc;
}

void port_close(uint16_t port)
{
	rte_eth_dev_stop(port);
	rte_eth_dev_close(port);
}
