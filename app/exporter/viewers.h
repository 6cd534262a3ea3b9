/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Those who look at the page: each has a stream of server-sent events, of which one is made when
 * the last has been taken, and so one event's memory. Web thread.
 */
#ifndef WEIR_EXPORTER_VIEWERS_H
#define WEIR_EXPORTER_VIEWERS_H

#include <stdint.h>

#include <microhttpd.h>

#include "picture.h"

#define VIEWERS_MOST LOOKED_AT_MOST

struct viewers;

/* NULL without memory. */
struct viewers *viewers_new(void);

/* All streams have ended: their connections are closed. Also of NULL. */
void viewers_free(struct viewers *viewers);

unsigned viewers_count(const struct viewers *viewers);

/* What they look at. */
void viewers_look(const struct viewers *viewers, struct looked_at *looked_at);

/*
 * A connection has asked for events of the policy, or of whichever drops most (NULL): its response,
 * which the caller queues and gives back; NULL: there are as many as may be, or no memory.
 */
struct MHD_Response *viewers_admit(
	struct viewers *viewers, struct MHD_Connection *connection, const char *policy);

/* Tells each who has taken in what was before; the others miss this one. */
void viewers_tell(struct viewers *viewers, struct picture *picture, unsigned interval_ms);

/* Ends the connections of those who have taken nothing in for long, or who sleep for that. */
void viewers_end_slow(struct viewers *viewers, uint64_t now_ms);

/* Wakes all, before the daemon stops. */
void viewers_wake(struct viewers *viewers);

#endif
