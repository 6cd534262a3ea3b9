/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to drivers/xdp: where a limiter pins its programs in the BPF file system, and how to open
 * pinned links and maps. bypass.c and plane_previous.c use it. Any thread.
 */
#ifndef WEIR_DRIVERS_BYPASS_CHECK_H
#define WEIR_DRIVERS_BYPASS_CHECK_H

#include <stdint.h>

#include "bypass.h"

/* Longer than any limiter's directory with a file in it. */
#define BYPASS_PATH 256

/*
 * Writes a limiter's directory. A dot is reserved in this file system, so it becomes '%', which no
 * limiter's name has.
 */
void bypass_name_directory(const char *limiter, char path[BYPASS_PATH]);

/*
 * Opens a pinned link. Returns a descriptor or -1, the index of its interface (0: none) and the
 * number of its program.
 */
int bypass_open_link(const char *path, int *interface, uint32_t *program);

/* Opens the map of that name of a program. Returns a descriptor or -1. */
int bypass_open_map(uint32_t program, const char *name);

#endif
