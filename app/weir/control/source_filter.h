/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds a program for the kernel that accepts, at a UDP socket, only datagrams from the addresses
 * of a roster and of the last members that have left. So datagrams of strangers cost no room in the
 * socket's buffer and no turn of control. It checks addresses, not ports.
 */
#ifndef WEIR_APP_SOURCE_FILTER_H
#define WEIR_APP_SOURCE_FILTER_H

#include <linux/filter.h>

#include "members/members.h"
#include "policy/config.h"

/* Most instructions that kernels accept with their default net.core.optmem_max of 20 kB. */
#define SOURCE_FILTER_MOST 1000

/* Previous members whose datagrams are accepted: the last ones. */
#define SOURCE_FILTER_ENDED 16

/*
 * Writes the program, at most SOURCE_FILTER_MOST instructions, to `code`. Returns their number; or
 * -E2BIG (too large a roster: some 300 addresses of IPv4, 100 of IPv6), -EAFNOSUPPORT (IPv4
 * addresses written as IPv6) or -ENOMEM. `members` can be NULL.
 */
int source_filter_build(const struct gossip_config *gossip, const struct members *members,
	struct sock_filter *code);

#endif
