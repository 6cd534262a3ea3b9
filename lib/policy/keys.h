/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to lib/policy: the key table of the whole document.
 */
#ifndef WEIR_POLICY_KEYS_H
#define WEIR_POLICY_KEYS_H

#include "policy/read.h"

/* Of a struct config. */
extern const struct key config_keys[];

#endif
