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
	uint64_t unsent;   /* lost because the other port did not send them */
};

/*
 * Whether there is a place for such programs that this user may write to, if any wire wants one.
 * Refuses programs of other limiters at any port. 0, or a negative errno and a complaint. Any
 * thread.
 */
int bypass_check(const struct config *config, const struct complaint_sink *to);

/*
 * Returns true if a process of this limiter has left its program at a port, and then whether one
 * still serves it. Waits for a turn of the workers.
 */
bool bypass_find_own(const struct config *config, unsigned port, bool *served);

/*
 * Makes the programs for both ports of each wire that has them (wire_has_programs()). AF_XDP
 * sockets need one before they are opened, so they are attached at once, unless a former process's
 * is there; but they leave packets to the host until bypass_take_over(). NULL in *bypass where no
 * wire has any. Before the ports are opened, with root's capabilities or CAP_BPF, CAP_NET_ADMIN and
 * CAP_PERFMON.
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
 * The last step of a start. Pins the programs and the state of the XDP data plane for the next
 * process. Puts the programs in force, in place of those that earlier processes have left: each
 * packet meets one of them. Then removes programs that earlier processes of this limiter have left
 * at other ports. After it bypass_before() is known. 0 or a negative errno. Main thread.
 * bypass_remove_left() does that removal if no wire has a program.
 */
int bypass_take_over(struct bypass *bypass);
void bypass_remove_left(const struct config *config);

/*
 * Pins the programs and maps again if their pins were removed after bypass_take_over(). Without
 * pins the programs end with the process. The number of missing pins, or a negative errno. Main
 * thread.
 */
int bypass_pin_again(struct bypass *bypass);

/* The kernel's data plane, see plane.h; NULL where no port is its. */
struct plane *bypass_plane(const struct bypass *bypass);

/*
 * Lets go of them: they stay, and the packets go to the partner port. Without bypass_take_over()
 * before, the start has failed: all that it has attached and pinned is taken back.
 */
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

/* Sets the bytes of the longest frame that a port's program sends to the other port. Control. */
void bypass_set_frame(struct bypass *bypass, unsigned port, uint32_t bytes);

/* Whether the port has such a program; whether one of an earlier process was there. */
bool bypass_has(const struct bypass *bypass, unsigned port);
bool bypass_is_inherited(const struct bypass *bypass, unsigned port);

#endif
