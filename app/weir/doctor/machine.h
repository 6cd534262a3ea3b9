/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the kernel says of the machine in /proc and /sys, which may be those of a test. Any thread.
 */
#ifndef WEIR_APP_MACHINE_H
#define WEIR_APP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_PATH 512

/* The first line of a file below root, without its end; false if it cannot be read. */
bool machine_line(const char *root, char *line, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The number in it, or `otherwise`. */
long machine_number(const char *root, long otherwise, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool machine_has(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last name of what a link leads to; false if there is none. */
bool machine_link(const char *root, char *name, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* What stands behind the row's name and colon in a file like /proc/meminfo. */
bool machine_row(const char *root, const char *file, const char *row, char *value, size_t size);

/* Bytes that a row of a file like /proc/meminfo has in kB; 0 if there is none. */
uint64_t machine_kilobytes(const char *root, const char *file, const char *row);

/* Whether a list such as "0-3,8" has that CPU. */
bool cpu_list_has(const char *list, unsigned cpu);

#endif
