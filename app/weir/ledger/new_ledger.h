/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weir --new-ledger`: an operator's word that this limiter has never run.
 */
#ifndef WEIR_NEW_LEDGER_H
#define WEIR_NEW_LEDGER_H

#include "policy/config.h"

/*
 * Makes the empty store of a configuration, and the directory that it is to be in if that alone is
 * missing. Says what it has done on standard output, or why not on standard error: 0, -EEXIST (the
 * limiter has run, and its store is what it was) or what store_create() says.
 */
int new_ledger(const struct config *config);

#endif
