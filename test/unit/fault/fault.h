/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Makes the n-th request of the code under test to the C library, the kernel or DPDK fail: for
 * memory, a file, a socket or a thread. The linker redirects the calls of the tested code to these
 * functions (fault_dep). Calls within libraries are not redirected, except those of JSON. Only
 * requests of the thread that armed the fault are counted and refused. To be called from one
 * thread.
 */
#ifndef WEIR_TEST_FAULT_H
#define WEIR_TEST_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of refused requests, each with its errno. */
enum fault_kind {
	FAULT_MEMORY = 1, /* ENOMEM */
	FAULT_KERNEL = 2, /* EMFILE for files, ENOSPC for writes */
};

/*
 * A function that makes something and destroys it. It returns 0 or a negative errno, and leaves
 * nothing in either case.
 */
struct fault_subject {
	const char *name;
	int (*run)(const void *argument);
	const void *argument;
	unsigned kinds; /* bits of enum fault_kind */
	/*
	 * Returns the number of messages so far, if the subject reports requests that it can do
	 * without.
	 */
	uint64_t (*said)(void);
	unsigned unsaid;   /* maximum of refusals without a message, since it tries again */
	int result;        /* if nothing is refused; an error is also allowed after a refusal */
	int words;         /* an errno that goes with a text instead, or 0 */
	unsigned at_least; /* minimum of requests; with fewer the test fails */
};

/*
 * Runs the subject with the first request refused, then with the second, until a run has none
 * refused. The test fails if that run fails, or if a run with a refusal succeeds. It also fails if
 * a run returns another errno, or leaves memory or a file.
 */
void fault_try(const struct fault_subject *subject);

/* From here on the memory of JSON counts as well. */
void fault_take_json(void);

#endif
