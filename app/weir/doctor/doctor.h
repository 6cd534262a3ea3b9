/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What `weir --doctor` does: it says, before the first start and for this machine, each thing that
 * will fail or hurt, and what to type. It asks by the functions that the start itself asks by, and
 * changes nothing. Main thread; EAL is not up.
 */
#ifndef WEIR_APP_DOCTOR_H
#define WEIR_APP_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"

/*
 * Writes a line to out for each check and for each finding, of text or as an object of JSON.
 * Returns how many things would fail.
 */
unsigned doctor_run(const struct config *config, const char *file, bool json, FILE *out);

/*
 * After a start that got no memory, when EAL has ended: writes what there is, what is needed and
 * what to type. `huge_free`: what doctor_free_huge() said before, as the process may still hold
 * some. `ran_out`: EAL was up, and memory was asked of it in vain; then it was too little even
 * where more than the least is there. `root` is that of /proc and /sys: "".
 */
void doctor_explain_memory(
	const struct config *config, uint64_t huge_free, bool ran_out, const char *root, FILE *out);

/* Bytes of hugepages that are free, or left behind by a process that was killed. */
uint64_t doctor_free_huge(const char *root);

#endif
