/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Log lines of the appliance, and of EAL and its drivers. Never on a worker's packet path.
 *
 * Whoever reads the log may stop reading: a full pipe, a journal whose disk is full, a terminal
 * that was stopped. Nobody who logs waits for that. Lines go into a ring, and a thread of their own
 * writes them; those for which there is no room are counted, and the log says how many when it is
 * taken again.
 */
#ifndef WEIR_APP_LOG_H
#define WEIR_APP_LOG_H

#include <stdint.h>

/* Those of syslog(3) and sd-daemon(3), which journald is told. */
#define LOG_PRIORITY_ERROR 3

/* Others that write into the log, while it is open. */
enum log_source { LOG_OF_DPDK, LOG_OF_STDERR };

/* What becomes of others' lines. Whatever thread they are written in; that of the log. */
struct log_speakers {
	void (*line)(enum log_source source, int priority, const char *line);
	char *(*lost)(uint64_t lines); /* says so; free() it, NULL without memory */
};

/*
 * One line, without its end. Any thread but a worker's, between log_open() and log_close() or
 * outside of them, where it goes to stderr at once.
 */
void log_write(int priority, const char *line);

/*
 * From now on all lines go to this file by the thread, which has the CPUs of its caller: before
 * EAL starts, those of the process; also what is written to DPDK's log and to stderr. If the file
 * is journald's, each has its priority before it. Main thread. Returns 0 or a negative errno; then
 * lines are written by whoever has them.
 */
int log_open(int fd, const struct log_speakers *speakers);

/*
 * Waits until all is written, and ends the thread; or leaves it behind after so many seconds, as
 * whoever reads may never go on: the process is to end then. Main thread.
 */
void log_close(unsigned patience_s);

/* Lines that were not written since the start. Any thread. */
uint64_t log_lost(void);

#endif
