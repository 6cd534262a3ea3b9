/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Protocols between the two ends of a link, which the link needs to work. A wire that drops packets
 * without a policy must pass them. Pure; any lcore.
 */
#ifndef WEIR_PACKET_OF_LINK_H
#define WEIR_PACKET_OF_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/parse.h"

/*
 * Returns whether a packet, parsed from `data`, belongs to the link. Packets other than IP do: ARP,
 * LLDP, LACP, spanning tree. So does IP that no router forwards: to 224.0.0.0/24, 255.255.255.255
 * or ff02::/16, from or to fe80::/10, and neighbour discovery with a hop limit of 255. The
 * outermost addresses count, also for a tunnel. A packet that is not fully parsed, or whose IP
 * header is invalid, does not belong to the link, because it could be anything.
 */
bool packet_is_of_link(const struct packet *packet, const uint8_t *data);

#endif
