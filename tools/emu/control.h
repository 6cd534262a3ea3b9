/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A Unix SOCK_SEQPACKET socket that takes one command a message and answers each with one message:
 * "ok", "error: ..." or JSON. Single thread; nothing here blocks.
 */
#ifndef WEIR_EMU_CONTROL_H
#define WEIR_EMU_CONTROL_H

#include <poll.h>

#define CONTROL_CLIENTS 16
#define CONTROL_FDS     (CONTROL_CLIENTS + 1)

/* Answers one command: a string for free(), or NULL when out of memory. */
typedef char *(*control_handler)(void *context, char *command);

struct control {
	struct pollfd *fds; /* CONTROL_FDS of the owner's: [0] listens, free ones are -1 */
	const char *path;
};

/*
 * fds: CONTROL_FDS places in the array that the owner polls. path NULL: a control that is never
 * ready. 0 or a negative errno; the file of a dead socket is replaced.
 */
int control_open(struct control *control, struct pollfd *fds, const char *path);

/* Call after poll() has filled control->fds. */
void control_serve(struct control *control, control_handler handler, void *context);

void control_close(struct control *control);

#endif
