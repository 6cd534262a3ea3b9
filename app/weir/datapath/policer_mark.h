/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Marks a packet in its buffer. Private to this room.
 */
#ifndef WEIR_APP_POLICER_MARK_H
#define WEIR_APP_POLICER_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "packet/mark.h"

/*
 * Marks a packet if its buffer is not shared and its IP header is in its first segment. A copy of a
 * shared buffer would need another buffer, and there might be none. Returns true if it was marked.
 */
static inline bool policer_mark(struct rte_mbuf *m, const struct packet *packet, int how)
{
	return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 &&
	       mark_frame(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, packet, how);
}

#endif
