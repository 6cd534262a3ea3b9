/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_APP_SHOW_EXPLAIN_H
#define WEIR_APP_SHOW_EXPLAIN_H

struct instance;

/* Takes back what is asked, and frees what it took. Control, before the workers go. */
void explain_stop(struct instance *inst);

#endif
