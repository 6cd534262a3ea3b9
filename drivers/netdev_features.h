/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a kernel interface does to packets by itself: its features, by the names that `ethtool -k`
 * has for them. Every call is one or more ioctls, which wait while another process changes
 * interfaces: never from the control loop once packets flow. Any thread.
 */
#ifndef WEIR_DRIVERS_NETDEV_FEATURES_H
#define WEIR_DRIVERS_NETDEV_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/ethtool.h>

#define FEATURES_MAX    128 /* Linux has 64 */
#define FEATURES_BLOCKS (FEATURES_MAX / 32)

struct features {
	unsigned n;
	char names[FEATURES_MAX][ETH_GSTRING_LEN];
	struct ethtool_get_features_block blocks[FEATURES_BLOCKS];
};

/* Learns all of an interface's. 0 or a negative errno: -ENODEV if it is gone. */
int features_read(const char *interface, struct features *out);

/* Whether one is at work; false of a name that this kernel does not know. */
bool features_on(const struct features *features, const char *name);

/* Whether ethtool could switch it: neither fixed nor unknown. */
bool features_changeable(const struct features *features, const char *name);

/*
 * Switches one. 0: the kernel has taken note, though it may be off all the same for what it depends
 * on; or a negative errno: -EPERM without CAP_NET_ADMIN, -EOPNOTSUPP if it is fixed or unknown.
 */
int features_switch(
	const char *interface, const struct features *features, const char *name, bool on);

#endif
