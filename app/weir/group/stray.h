/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter that was a member and sends gossip: its machine returned with an old file, and enforces
 * the part of each limit that the members have now. It is not in the roster, so gossip accepts
 * nothing from it. A member therefore sends it the set of members, in messages with it alone. There
 * it finds its own removal, and enforces nothing. Nothing that it reports changes our set.
 *
 * Nothing is sent before a datagram of it is authentic. Control thread.
 */
#ifndef WEIR_APP_STRAY_H
#define WEIR_APP_STRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "members/members.h"
#include "policy/config.h"

struct gossip_socket;
struct gossip_stray;
struct keyring;

struct stray;

/*
 * Begins to attend the sender of a datagram. `pair` has the keys of gossip, and a roster of this
 * limiter and that one, in this order; its roster is not needed any more. Takes over the keyring if
 * it returns 0; otherwise returns a negative errno.
 */
int stray_create(const struct gossip_config *pair, struct keyring *keyring, struct members *members,
	const struct gossip_stray *datagram, uint64_t now_ns, struct stray **out);
void stray_destroy(struct stray *stray);

uint32_t stray_id(const struct stray *stray);

/* Opens a datagram of it, in place. */
void stray_receive(struct stray *stray, struct gossip_stray *datagram, uint64_t now_ns);

/* Sends the due messages; and returns the time of the next call. */
void stray_run(struct stray *stray, struct gossip_socket *socket, uint64_t now_ns);
uint64_t stray_next(const struct stray *stray);

/* Returns true if it is authentic and has reported other members, or no members for long. */
bool stray_differs(const struct stray *stray, uint64_t now_ns);

/* Returns true if it has the same members now, or has not answered for long. */
bool stray_is_over(const struct stray *stray, uint64_t now_ns);

#endif
