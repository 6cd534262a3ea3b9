/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads facts about the machine from /proc and /sys, or from a copy of a test. Any thread.
 */
#ifndef WEIR_APP_MACHINE_H
#define WEIR_APP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_PATH 512

/* Reads the first line of a file below root, without its newline. False if it cannot be read. */
bool machine_line(const char *root, char *line, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns the number in such a line, or `otherwise`. */
long machine_number(const char *root, long otherwise, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool machine_has(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the last component of the target of a link. False if there is none. */
bool machine_link(const char *root, char *name, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads the value of a row ("NAME: VALUE") in a file like /proc/meminfo. */
bool machine_row(const char *root, const char *file, const char *row, char *value, size_t size);

/* Returns a value in bytes that a file like /proc/meminfo has in kB; 0 if it has none. */
uint64_t machine_kilobytes(const char *root, const char *file, const char *row);

/* Returns true if a list such as "0-3,8" has this CPU. */
bool cpu_list_has(const char *list, unsigned cpu);

#endif
