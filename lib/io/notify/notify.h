/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tells the service manager that has started the process how it is, by the datagrams of
 * sd_notify(3) to the socket of $NOTIFY_SOCKET. Nothing here waits: what the manager has no room
 * for is kept and sent again by the next call, and of two states the later one. One thread.
 */
#ifndef WEIR_NOTIFY_NOTIFY_H
#define WEIR_NOTIFY_NOTIFY_H

#include <stdint.h>

struct notify;

/*
 * Reads what the manager has put into the environment, and removes it from there. *notify is NULL
 * where nobody wants to be told, which all functions below accept. Returns 0 or a negative errno:
 * -EAFNOSUPPORT if the socket is neither a path nor abstract, or what socket(2) says.
 */
int notify_open(struct notify **notify);
void notify_close(struct notify *notify);

/* The text, of one line at most, is what the manager shows of the service beside its state. */
void notify_ready(struct notify *notify, const char *text);
void notify_reloading(struct notify *notify, const char *text);
void notify_stopping(struct notify *notify, const char *text);
void notify_status(struct notify *notify, const char *text);

/*
 * All is well at this time, of a clock that only grows: tells the watchdog, if there is one, often
 * enough that it does not bite and not each time. It bites when this has not been called for the
 * time that the manager has set, or up to a quarter of it earlier.
 */
void notify_alive(struct notify *notify, uint64_t now_ns);

#endif
