/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Marking a packet in place of dropping it: congestion experienced (RFC 3168), or another DSCP (RFC
 * 2474). Pure; any thread.
 */
#ifndef WEIR_POLICE_MARK_H
#define WEIR_POLICE_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/parse.h"

/*
 * Marks the outermost IP header of a frame: `mark` is a DSCP, 0 to 63, which leaves the ECN bits
 * as they are, or MARK_ECN (policy/config.h), which leaves the DSCP as it is. `packet` is what
 * packet_parse() said of these bytes. IPv4's checksum stays as right, or as wrong, as it was.
 *
 * True when the packet now says what it should, also when it did before. False, with the frame
 * untouched, when it cannot: it is no IP, its fixed header is not all within the first `len` bytes,
 * or its sender does not speak ECN and would take the mark for nothing.
 */
bool mark_frame(uint8_t *data, uint32_t len, const struct packet *packet, int mark);

/* Whether MARK_ECN would be more than nothing to the sender: mark_frame() would then be true. */
bool mark_understood(const uint8_t *data, uint32_t len, const struct packet *packet);

#endif
