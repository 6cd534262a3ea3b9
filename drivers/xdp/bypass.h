/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wires of kernel interfaces that outlive this process ("fail": "open"). On each port, a kernel
 * program (bypass.bpf.c) passes packets to Weir while its workers run their loops, and otherwise to
 * the partner port. It is pinned in /sys/fs/bpf/weir/LIMITER. So it is there before the ports are
 * opened and after the process has ended. The next process takes it over without a gap.
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

/* Packets of a port that workers did not process, and their bytes in XDP's count. */
struct bypass_past {
	uint64_t packets, bytes; /* directly to the partner port, because Weir was away */
	/* Decided by the XDP data plane: passed; of these, without a policy; dropped. */
	uint64_t passed, unmatched, dropped;
	uint64_t unserved; /* lost, because only the workers could decide and were away */
	uint64_t unsent;   /* lost because the other port did not send them */
};

/*
 * Checks, if any wire needs programs, that there is a place for them that this user can write to.
 * Refuses programs of other limiters at any port. Returns 0, or a negative errno and a complaint.
 * Any thread.
 */
int bypass_check(const struct config *config, const struct complaint_sink *to);

/*
 * Returns true if a process of this limiter has left its program at a port. *served: whether a
 * process still serves it. Waits for a turn of the workers.
 */
bool bypass_find_own(const struct config *config, unsigned port, bool *served);

/*
 * Makes the programs for both ports of each wire that has them (wire_has_programs()). They are
 * attached immediately, because AF_XDP sockets need one before they are opened, unless a previous
 * process's is there. They leave packets to the host until bypass_take_over(). *bypass is NULL if
 * no wire has programs. Before the ports are opened, with root's capabilities or CAP_BPF,
 * CAP_NET_ADMIN and CAP_PERFMON. `room` is for the XDP data plane: the slots for policies, and the
 * lines of a classifier. Returns 0, or a negative errno and a complaint. Main thread.
 */
struct bypass_room {
	unsigned slots;
	uint32_t lines;
};
int bypass_open(const struct config *config, const struct bypass_room *room,
	const struct complaint_sink *to, struct bypass **bypass);

/*
 * The last step of a start. Pins the programs and the state of the XDP data plane for the next
 * process. Replaces the programs that earlier processes have left with ours: each packet meets
 * exactly one program. Then removes programs that earlier processes of this limiter have left at
 * other ports. bypass_before() is valid afterwards. Returns 0 or a negative errno. Main thread.
 * bypass_remove_left() does only that removal, if no wire has a program.
 */
int bypass_take_over(struct bypass *bypass);
void bypass_remove_left(const struct config *config);

/*
 * Pins the programs and maps again if their pins were removed after bypass_take_over(). Without
 * pins the programs end with the process. Returns the number of missing pins, or a negative errno.
 * Main thread.
 */
int bypass_pin_again(struct bypass *bypass);

/* Returns the XDP data plane, see plane.h, or NULL if no port uses it. */
struct plane *bypass_plane(const struct bypass *bypass);

/*
 * Closes the programs: they stay, and packets go to the partner port. Without bypass_take_over()
 * before, the start has failed: removes all that it has attached and pinned.
 */
void bypass_close(struct bypass *bypass);

/*
 * Returns a worker's beat. The worker stores a different number in each turn to show that it runs
 * its loop. One store, by its own thread only.
 */
uint32_t *bypass_beat(struct bypass *bypass, unsigned worker);

/*
 * From now on all packets go directly to the partner port. Workers still process those that they
 * have. Any thread.
 */
void bypass_leave(struct bypass *bypass);

/* Return the counts of a port since bypass_open(), and before. bypass_past() makes system calls. */
struct bypass_past bypass_past(const struct bypass *bypass, unsigned port);
struct bypass_past bypass_before(const struct bypass *bypass, unsigned port);

/* Sets the bytes of the longest frame that a port's program sends to the other port. Control. */
void bypass_set_frame(struct bypass *bypass, unsigned port, uint32_t bytes);

/*
 * bypass_has(): whether the port has a program. bypass_is_inherited(): whether a previous process's
 * program was there.
 */
bool bypass_has(const struct bypass *bypass, unsigned port);
bool bypass_is_inherited(const struct bypass *bypass, unsigned port);

#endif
