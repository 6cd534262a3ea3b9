/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Marks a packet instead of dropping it: congestion experienced (RFC 3168), or another DSCP (RFC
 * 2474). Pure; any thread.
 */
#ifndef WEIR_PACKET_MARK_H
#define WEIR_PACKET_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/parse.h"

/*
 * Marks the outermost IP header of a frame. mark: a DSCP, 0 to 63, which keeps the ECN bits; or
 * MARK_ECN (policy/config.h), which keeps the DSCP. packet: from packet_parse(). A correct IPv4
 * checksum stays correct, and a wrong one stays wrong.
 *
 * Returns true if the packet has the mark now, even if it had it before. Returns false, without a
 * change, if it cannot be marked. Then it is not IP, or the first `len` bytes do not have its fixed
 * header, or its sender does not support ECN and would ignore the mark.
 */
bool mark_frame(uint8_t *data, uint32_t len, const struct packet *packet, int mark);

/* Returns whether the sender supports ECN: mark_frame() with MARK_ECN would return true. */
bool mark_understood(const uint8_t *data, uint32_t len, const struct packet *packet);

#endif
