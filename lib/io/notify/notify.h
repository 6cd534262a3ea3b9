/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports the state of the process to the service manager: datagrams of sd_notify(3) to the socket
 * of $NOTIFY_SOCKET. Nothing waits. If the manager's queue is full, the next call sends the text
 * again; only the latest state is kept. One thread.
 */
#ifndef WEIR_NOTIFY_NOTIFY_H
#define WEIR_NOTIFY_NOTIFY_H

#include <stdint.h>

struct notify;

/*
 * Reads the manager's environment variables and removes them. *notify is NULL without a manager,
 * and all functions below accept NULL. Returns 0 or a negative errno: -EAFNOSUPPORT if the socket
 * is not a path or abstract name, or an error of socket(2).
 */
int notify_open(struct notify **notify);
void notify_close(struct notify *notify);

/* Send a state. The manager shows the text, at most one line, next to the service's state. */
void notify_ready(struct notify *notify, const char *text);
void notify_reloading(struct notify *notify, const char *text);
void notify_stopping(struct notify *notify, const char *text);
void notify_status(struct notify *notify, const char *text);

/*
 * Called while the process is healthy, with a time that never decreases. Sends keep-alives to the
 * watchdog, if there is one, as often as needed. The watchdog acts if this was not called for the
 * configured timeout, or up to a quarter of it earlier.
 */
void notify_alive(struct notify *notify, uint64_t now_ns);

#endif
