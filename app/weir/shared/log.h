/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Log lines of Weir, and of EAL and its drivers. Never on a worker's packet path.
 *
 * The reader of the log can stop reading: a full pipe, a journal whose disk is full, a terminal
 * that was stopped. No thread that logs waits for it. Lines go into a ring, and a separate thread
 * writes them. Lines without room are counted, and the log reports their number when it is read
 * again.
 */
#ifndef WEIR_APP_LOG_H
#define WEIR_APP_LOG_H

#include <stdint.h>

/* Priorities of syslog(3) and sd-daemon(3), which journald uses. */
#define LOG_PRIORITY_ERROR 3

/* Other writers of the log while it is open. */
enum log_source { LOG_OF_DPDK, LOG_OF_STDERR };

/* Called for lines of other writers, in their threads, and for lost lines, in the log's thread. */
struct log_speakers {
	void (*line)(enum log_source source, int priority, const char *line);
	char *(*lost)(uint64_t lines); /* line about lost ones; the caller frees it */
};

/*
 * Writes one line, without its end. Before log_open() and after log_close() it goes directly to
 * stderr. Any thread except the workers'.
 */
void log_write(int priority, const char *line);

/*
 * From now on a thread writes all lines to this file, also those to DPDK's log and to stderr. The
 * thread has the CPUs of its caller; before EAL starts, those of the process. If journald reads the
 * file, each line has its priority before it. Returns 0 or a negative errno; after a failure each
 * thread writes its own lines. Main thread.
 */
int log_open(int fd, const struct log_speakers *speakers);

/*
 * Waits until all lines are written, and ends the thread. After patience_s seconds it leaves the
 * thread behind, because the reader might never continue; the process must then end. Main thread.
 */
void log_close(unsigned patience_s);

/* Returns the lines that were lost since the start. Any thread. */
uint64_t log_lost(void);

#endif
