/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weir --new-ledger`: an operator's word that this limiter has never run. With `--accept-ledger`
 * the operator decides that no newer store exists, and no other machine uses it.
 */
#ifndef WEIR_NEW_LEDGER_H
#define WEIR_NEW_LEDGER_H

#include "policy/config.h"

/*
 * Makes the empty store of a configuration, and the directory that it is to be in if that alone is
 * missing. It is of the ledger whose identity was typed, or (NULL) of a new one. Says what it has
 * done on standard output, or why not on standard error: 0, -EEXIST (the limiter has run, and its
 * store is what it was), -EINVAL (no identity), or what store_create() says.
 */
int new_ledger(const struct config *config, const char *typed);

/*
 * Makes the store of a configuration the newest there is, and this machine's. 0 or an
 * error of store_accept(), reported.
 */
int accept_ledger(const struct config *config);

#endif
