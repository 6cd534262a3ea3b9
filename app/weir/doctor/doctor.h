/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Runs `weir --doctor`: lists, before the first start, the problems that this machine has with a
 * configuration, each with a command that fixes it. The checks call the functions of the start, and
 * change nothing. Main thread; EAL is not up.
 */
#ifndef WEIR_APP_DOCTOR_H
#define WEIR_APP_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"

/*
 * Writes a line to out for each check and each finding, as text or JSON. Text leaves checks
 * out that do not apply. Returns the number of failures.
 */
unsigned doctor_run(const struct config *config, const char *file, bool json, FILE *out);

/*
 * Explains a start that failed for lack of memory, after EAL has ended: writes the memory that is
 * there, the memory that is needed, and a remedy. `huge_free` is doctor_free_huge() from before the
 * start, because the process can still hold pages. `ran_out`: EAL was up and an allocation failed,
 * so there is too little even if the computed minimum is free. `root`: directory with proc and sys.
 */
void doctor_explain_memory(
	const struct config *config, uint64_t huge_free, bool ran_out, const char *root, FILE *out);

/* Returns the bytes of hugepages that are free, or that a killed process has left. */
uint64_t doctor_free_huge(const char *root);

#endif
