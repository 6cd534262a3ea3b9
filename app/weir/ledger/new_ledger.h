/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weir --new-ledger`: the operator asserts that this limiter has never run. With `--accept-ledger`
 * the operator asserts that no newer store exists and no other machine uses this one.
 */
#ifndef WEIR_NEW_LEDGER_H
#define WEIR_NEW_LEDGER_H

#include "policy/config.h"

/*
 * Makes the empty store of a configuration, and its parent directory if only that is missing. The
 * store gets the identity from the command line (`typed`), or (NULL) a new one. Reports on standard
 * output, errors on standard error. Returns 0, -EEXIST (the limiter has run; its store is
 * unchanged), -EINVAL (no identity), or an error of store_create().
 */
int new_ledger(const struct config *config, const char *typed);

/*
 * Accepts the store of a configuration as the newest one, and binds it to this machine. Returns 0
 * or an error of store_accept(), which it reports.
 */
int accept_ledger(const struct config *config);

#endif
