/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A program for the kernel that lets datagrams from the addresses of a roster into a UDP socket and
 * no others: what strangers send costs neither room in the socket's buffer nor a turn of control.
 * It looks at addresses, not at ports.
 */
#ifndef WEIR_APP_SOURCE_FILTER_H
#define WEIR_APP_SOURCE_FILTER_H

#include <linux/filter.h>

#include "policy/config.h"

/* What kernels take with their default net.core.optmem_max of 20 kB. */
#define SOURCE_FILTER_MOST 1000

/*
 * The program, of at most SOURCE_FILTER_MOST instructions, into `code`. Returns their number; or
 * -E2BIG (too large a roster: some 300 addresses of IPv4, 100 of IPv6), -EAFNOSUPPORT (IPv4
 * addresses written as IPv6) or -ENOMEM.
 */
int source_filter_build(const struct gossip_config *gossip, struct sock_filter *code);

#endif
