/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Classification of packets inside a tunnel: GRE (RFC 2784, 2890), VXLAN (RFC 7348), IP in IP.
 * Pure; no DPDK. Any lcore.
 */
#ifndef WEIR_PACKET_TUNNEL_H
#define WEIR_PACKET_TUNNEL_H

#include <stdint.h>

#include "packet/parse.h"
#include "policy/config.h"

/* Returns the tunnels to enter, or NULL if the outermost headers are classified. */
static inline const struct tunnels *tunnels_to_enter(const struct config *config)
{
	return config->tunnels.classify == TUNNELS_INNER ? &config->tunnels : NULL;
}

/*
 * Enters tunnels. To be called after packet_parse() of the same bytes. If the packet inside is IP,
 * the fields of `packet` become those of the packet inside, except l2_len, VLAN, DSCP and ECN. The
 * flow's hash changes with them. It enters at most two nested tunnels. The outermost header is
 * marked, and lengths count from it.
 *
 * Not entered: fragments of tunnel packets (only the first could be); GRE of other versions or with
 * routing; VXLAN-GPE; packets cut off before the end of the inner IP header. The caller sets
 * packet->flow_hash to 0, because a device would compute it from the outer headers.
 */
void packet_enter_tunnels(
	const uint8_t *data, uint32_t len, const struct tunnels *tunnels, struct packet *packet);

/*
 * To be called after packet_enter_tunnels() and fragments_ports(). Marks the addresses as unknown
 * if the packet might be a fragment of a tunnel packet.
 */
void packet_doubt_tunnels(const struct tunnels *tunnels, struct packet *packet);

#endif
