/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_APP_SHOW_EXPLAIN_H
#define WEIR_APP_SHOW_EXPLAIN_H

struct instance;

/* Withdraws the pending request and frees its memory. Control, before the workers end. */
void explain_stop(struct instance *inst);

#endif
