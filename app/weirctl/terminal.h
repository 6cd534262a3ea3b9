/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The terminal on standard output. What is written to it are sequences of ECMA-48 that every
 * terminal of the last decades knows: a library of terminals' descriptions would add nothing but
 * files that have to be there.
 */
#ifndef WEIR_WEIRCTL_TERMINAL_H
#define WEIR_WEIRCTL_TERMINAL_H

#include <stdbool.h>

/* Whether there is one; then `columns` and `rows` are set. */
bool terminal_size(unsigned *columns, unsigned *rows);

/* Another screen than the one of before, keys without Enter. 0 or a negative errno. */
int terminal_enter(void);

/* As it was before; harmless when it is. */
void terminal_leave(void);

/* Keys beyond those of letters. */
enum {
	KEY_NONE = 0,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
};

/* The key that a terminal's text begins with, in `used` bytes. KEY_NONE: none that is known. */
int terminal_key(const char *text, unsigned n, unsigned *used);

#endif
