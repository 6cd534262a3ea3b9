/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Refuses the n-th thing that the code under test asks of the C library, the kernel or DPDK:
 * memory, a file, a socket, a thread. What it asks passes through here, as the linker is told
 * (fault_dep); what libraries ask by themselves does not, but for JSON. Only what the thread that
 * armed it asks is counted and refused. From one thread.
 */
#ifndef WEIR_TEST_FAULT_H
#define WEIR_TEST_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* What is refused: each with the errno that stands there. */
enum fault_kind {
	FAULT_MEMORY = 1, /* ENOMEM */
	FAULT_KERNEL = 2, /* EMFILE for what would be a file, ENOSPC for what would be written */
};

/* One that makes something and unmakes it: 0 or a negative errno, with nothing left in any case. */
struct fault_subject {
	const char *name;
	int (*run)(const void *argument);
	const void *argument;
	unsigned kinds; /* of enum fault_kind */
	/* How much has been said, by one that does without something and says so. */
	uint64_t (*said)(void);
	unsigned unsaid;   /* so many at most it does without in silence, since it tries again */
	int result;        /* where nothing is refused it; else it may be so, if an error */
	int words;         /* an errno of what is said in words instead, or 0 */
	unsigned at_least; /* so many things it must ask for, or nothing was tried */
};

/*
 * Runs the subject with the first thing refused, with the second, and so on until it comes through
 * with none. A test fails if it then fails, if it does not fail by one that it was refused, if it
 * fails with another errno, or if memory or a file is left.
 */
void fault_try(const struct fault_subject *subject);

/* JSON's memory is of it too, from here on. */
void fault_take_json(void);

#endif
