/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Viewers of the page. Each has a stream of server-sent events. An event is made when the previous
 * one has been taken, so a viewer uses the memory of one event. Web thread.
 */
#ifndef WEIR_EXPORTER_VIEWERS_H
#define WEIR_EXPORTER_VIEWERS_H

#include <stdint.h>

#include <microhttpd.h>

#include "picture.h"

#define VIEWERS_MOST LOOKED_AT_MOST

struct viewers;

/* Returns NULL without memory. */
struct viewers *viewers_new(void);

/* To be called when all streams have ended: their connections are closed. NULL does nothing. */
void viewers_free(struct viewers *viewers);

unsigned viewers_count(const struct viewers *viewers);

/* Lists the policies of all viewers. */
void viewers_look(const struct viewers *viewers, struct looked_at *looked_at);

/*
 * Admits a connection that requests events of a policy, or of the one that drops most (NULL).
 * Returns its response, which the caller queues and destroys. NULL: too many viewers, or no memory.
 */
struct MHD_Response *viewers_admit(
	struct viewers *viewers, struct MHD_Connection *connection, const char *policy);

/* Sends an event to each viewer that has taken the previous one. Others miss this one. */
void viewers_send(struct viewers *viewers, struct picture *picture, unsigned interval_ms);

/* Ends the connections of viewers that have taken nothing for too long. */
void viewers_end_slow(struct viewers *viewers, uint64_t now_ms);

/* Wakes all viewers, before the daemon stops. */
void viewers_wake(struct viewers *viewers);

#endif
