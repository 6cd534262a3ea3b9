/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Classifying what is inside a tunnel: GRE (RFC 2784, 2890), VXLAN (RFC 7348), IP in IP. Pure; no
 * DPDK. Any lcore.
 */
#ifndef WEIR_CLASSIFY_TUNNEL_H
#define WEIR_CLASSIFY_TUNNEL_H

#include <stdint.h>

#include "packet/parse.h"
#include "policy/config.h"

/* What a parser needs of the setting: NULL when the outermost headers classify. */
static inline const struct tunnels *tunnels_to_enter(const struct config *config)
{
	return config->tunnels.classify == TUNNELS_INNER ? &config->tunnels : NULL;
}

/*
 * After packet_parse() of the same bytes: if the packet is a tunnel's, and the packet inside is IP,
 * then addresses, protocol, fragment, l4_off, id_off, ports and TCP flags become those of inside,
 * and so does the flow's hash. Two tunnels deep. l2_len, VLAN, DSCP and ECN stay the outermost
 * header's: that is what is marked, and what lengths count from.
 *
 * Not entered: fragments of the tunnel's packets (only the first could be), GRE of other versions
 * or with routing, VXLAN-GPE, and what is cut before the inner IP header ends. packet->flow_hash
 * must be 0, as a device's hash is of the outside.
 */
void packet_enter_tunnels(
	const uint8_t *data, uint32_t len, const struct tunnels *tunnels, struct packet *packet);

/*
 * After that, and after fragments_ports(): says of what may be a piece of a tunnel's packet that
 * the addresses inside are not known.
 */
void packet_doubt_tunnels(const struct tunnels *tunnels, struct packet *packet);

#endif
