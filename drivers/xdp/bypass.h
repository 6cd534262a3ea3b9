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

struct plane;

/* Packets of a port, and their bytes as XDP sees them, that have not come by workers. */
struct bypass_past {
	uint64_t packets, bytes; /* straight to the partner port, as Weir was away */
	/* What the kernel has decided: passed, of which no policy's; dropped. */
	uint64_t passed, unmatched, dropped;
	uint64_t unserved; /* and lost, as it was the workers', who were away */
	uint64_t unsent;   /* lost of all these, as the other port's driver took no more */
};

/*
 * Whether there is a place for such programs that this user may write to, if any wire wants one. 0,
 * or a negative errno and a complaint. Any thread.
 */
int bypass_check(const struct config *config, const struct complaint_sink *to);

/*
 * Makes the programs for both ports of each wire that has them (wire_has_programs()), and takes
 * away those that former processes of this limiter have left before others. They are put before the
 * ports at once, or where a former process's program is there, by bypass_take_over(). What has gone
 * past since such a process began is bypass_before(). NULL in *bypass where no wire has any. Before
 * the ports are opened, with root's capabilities or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON.
 * Where the kernel is to decide packets there is room for policies in so many slots, and for
 * classifiers of so many lines. 0 or a negative errno, and a complaint. Main thread.
 */
struct bypass_room {
	unsigned slots;
	uint32_t lines;
};
int bypass_open(const struct config *config, const struct bypass_room *room,
	const struct complaint_sink *to, struct bypass **bypass);

/*
 * Exchanges what former processes have left for the programs of this one, when it is ready: no
 * packet comes by neither. 0 or a negative errno. Main thread.
 */
int bypass_take_over(struct bypass *bypass);

/*
 * At once after that: what the kernel's data plane knows, of the programs that are there now, is
 * the next process's, should this one end here. As above.
 */
int bypass_keep(struct bypass *bypass);

/* The kernel's data plane, see plane.h; NULL where no port is its. */
struct plane *bypass_plane(const struct bypass *bypass);

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
