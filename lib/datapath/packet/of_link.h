/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the ends of a link say to each other, without which it carries nothing: a cable that drops
 * what nobody has named must not drop this. Pure; any lcore.
 */
#ifndef WEIR_PACKET_OF_LINK_H
#define WEIR_PACKET_OF_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/parse.h"

/*
 * Whether a packet, parsed from `data`, is no IP (ARP, LLDP, LACP, spanning tree), or IP that no
 * router forwards: to 224.0.0.0/24, 255.255.255.255 or ff02::/16, from or to fe80::/10, and
 * neighbour discovery by its hop limit of 255. The outermost addresses count, whatever is inside a
 * tunnel. What is not understood, or says that it is IP and is not, is no such packet: it may be
 * anything.
 */
bool packet_is_of_link(const struct packet *packet, const uint8_t *data);

#endif
