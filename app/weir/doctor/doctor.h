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
#include <stdio.h>

#include "policy/config.h"

/*
 * Writes a line to out for each check and for each finding, of text or as an object of JSON.
 * Returns how many things would fail.
 */
unsigned doctor_run(const struct config *config, const char *file, bool json, FILE *out);

#endif
