/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds a program for the kernel that accepts only datagrams from the addresses of a roster at a
 * UDP socket. So datagrams of strangers cost no room in the socket's buffer and no turn of control.
 * It checks addresses, not ports.
 */
#ifndef WEIR_APP_SOURCE_FILTER_H
#define WEIR_APP_SOURCE_FILTER_H

#include <linux/filter.h>

#include "policy/config.h"

/* Most instructions that kernels accept with their default net.core.optmem_max of 20 kB. */
#define SOURCE_FILTER_MOST 1000

/*
 * Writes the program, at most SOURCE_FILTER_MOST instructions, to `code`. Returns their number; or
 * -E2BIG (too large a roster: some 300 addresses of IPv4, 100 of IPv6), -EAFNOSUPPORT (IPv4
 * addresses written as IPv6) or -ENOMEM.
 */
int source_filter_build(const struct gossip_config *gossip, struct sock_filter *code);

#endif
