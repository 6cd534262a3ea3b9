/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wires of the kernel's interfaces that outlive this process ("fail": "wire"): on each port a
 * program of the kernel's (bypass.bpf.c) gives packets to Weir while its workers come round, and
 * else to the partner port. It is pinned, in /sys/fs/bpf/weir/LIMITER, and so there before the
 * ports are opened and when the process is gone; the next one takes it over without a gap.
 */
#ifndef WEIR_DRIVERS_BYPASS_H
#define WEIR_DRIVERS_BYPASS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/complaint.h"
#include "policy/config.h"

#define BYPASS_DIRECTORY "/sys/fs/bpf/weir"

struct bypass;

/* Packets, and their bytes as XDP sees them, that have not come by Weir. */
struct bypass_past {
	uint64_t packets, bytes;
};

/*
 * Whether there is a place for such programs that this user may write to, if any wire wants one. 0,
 * or a negative errno and a complaint. Any thread.
 */
int bypass_check(const struct config *config, const struct complaint_sink *to);

/*
 * Puts the programs before both ports of each wire that fails to a wire, and takes away those that
 * former processes of this limiter have left before others. What has gone past since such a process
 * began is bypass_before(). NULL in *bypass where no wire does. Before the ports are opened, with
 * root's capabilities or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON. 0 or a negative errno, and a
 * complaint: -ENOTSUP of a build without libbpf. Main thread.
 */
int bypass_open(
	const struct config *config, const struct complaint_sink *to, struct bypass **bypass);

/* Lets go of them: they stay, and the packets go to the partner port. */
void bypass_close(struct bypass *bypass);

/*
 * Where a worker says at each of its turns that it has come round, by a number that differs from
 * the one before: one store, of its own thread alone.
 */
uint32_t *bypass_beat(struct bypass *bypass, unsigned worker);

/* From now on all packets go past, and those that workers have already are theirs. Any thread. */
void bypass_leave(struct bypass *bypass);

/* What has gone past of a port's packets since bypass_open(), and before. Asks the kernel. */
struct bypass_past bypass_past(const struct bypass *bypass, unsigned port);
struct bypass_past bypass_before(const struct bypass *bypass, unsigned port);

/* Whether the port has such a program. */
bool bypass_has(const struct bypass *bypass, unsigned port);

#endif
