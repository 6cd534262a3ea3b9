/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The terminal on standard output. The program writes sequences of ECMA-48 that all terminals of
 * the last decades support. A library of terminal descriptions would only add files that must be
 * installed.
 */
#ifndef WEIR_WEIRCTL_TERMINAL_H
#define WEIR_WEIRCTL_TERMINAL_H

#include <stdbool.h>

/* Returns true if it is a terminal; then `columns` and `rows` are set. */
bool terminal_size(unsigned *columns, unsigned *rows);

/* Switches to the alternate screen and to keys without Enter. Returns 0 or a negative errno. */
int terminal_enter(void);

/* Restores the previous state; harmless without terminal_enter(). */
void terminal_leave(void);

/* Keys other than characters. */
enum {
	KEY_NONE = 0,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
};

/*
 * Returns the first key of a terminal's text, which takes `used` bytes. KEY_NONE: no supported key.
 */
int terminal_key(const char *text, unsigned n, unsigned *used);

#endif
