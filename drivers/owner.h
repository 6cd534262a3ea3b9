/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter per kernel interface: two would each send every frame. An abstract socket, named for
 * the interface, is the claim. The kernel keeps these names per network namespace and frees them
 * when the process ends, however it ends. Main thread.
 */
#ifndef WEIR_DRIVERS_OWNER_H
#define WEIR_DRIVERS_OWNER_H

#define OWNER_WORDS 256

/*
 * Claims an interface for this process until owner_release(). Returns 0 or a negative errno. After
 * -EBUSY `who` names the process that has it, such as "pid 7 (weir -c /etc/weir/x.json)".
 */
int owner_claim(unsigned interface, char who[OWNER_WORDS]);
void owner_release(unsigned interface);

#endif
