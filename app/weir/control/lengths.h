/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The longest frame that a wire takes. Limits are the "mtu" of both ports, and the MTU that the far
 * port's interface in the kernel has now. Workers and XDP programs drop longer frames before they
 * charge any policy. Control.
 */
#ifndef WEIR_APP_LENGTHS_H
#define WEIR_APP_LENGTHS_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

/* The module, after the workers' memory and the XDP programs. 0 or a negative errno. */
int lengths_start(struct instance *inst);
void lengths_stop(struct instance *inst);

/* The task: the kernel reports each change of an interface, and it looks every few seconds. */
int lengths_fd(const struct instance *inst);
void lengths_read(struct instance *inst);
uint64_t lengths_next(const struct instance *inst);
bool lengths_run(struct instance *inst, uint64_t now_ns);

/*
 * Bytes of the longest frame that a port transmits now, without FCS; 0 of an interface that is
 * down. An af_packet port takes 4 bytes more if the outermost tag is 802.1Q (0x8100).
 */
uint32_t lengths_max(const struct instance *inst, unsigned port);

#endif
