/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The values that a mark changes in an IP header: its byte of DSCP and ECN, and IPv4's checksum.
 * packet/mark.h writes them. Workers and the kernel program compile this file. Pure; any thread.
 */
#ifndef WEIR_PACKET_MARK_CORE_H
#define WEIR_PACKET_MARK_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bpf.h"

#define ECN_BITS 0x3
#define ECN_CE   0x3
#define NOT_ECT  0x0

/*
 * Sets *after to the byte of DSCP and ECN with the mark: CE if `congestion`, otherwise `dscp` (0 to
 * 63). Returns false if the sender does not support ECN.
 */
INLINE_ON_BPF bool mark_class(uint8_t before, bool congestion, uint8_t dscp, uint8_t *after)
{
	if (congestion) {
		*after = before | ECN_CE;
		return (before & ECN_BITS) != NOT_ECT;
	}
	*after = (uint8_t)(dscp << 2) | (before & ECN_BITS);
	return true;
}

/*
 * The checksum after a change of one word (RFC 1624, equation 3). The word is never 0, because it
 * begins with version 4. So the result is 0 only if a sum over the header is. A wrong checksum
 * stays wrong.
 */
INLINE_ON_BPF uint16_t checksum_update(uint16_t checksum, uint16_t before, uint16_t after)
{
	uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~before + after;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

#endif
