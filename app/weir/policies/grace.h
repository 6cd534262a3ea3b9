/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether every worker acts on all that control has told it by some time, and on nothing older. It
 * has taken all limits that lay in its ring then, and has been quiescent since: so these limits are
 * in their lines, and it no longer holds a classifier, a line, a sample, a reserve or a table that
 * was replaced before. A worker that sleeps is quiescent, but takes what is in its ring when it
 * wakes, which is waited for. Control; nothing blocks.
 */
#ifndef WEIR_APP_GRACE_H
#define WEIR_APP_GRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"

struct box;

struct grace {
	uint32_t marks[CONFIG_WORKERS_MAX]; /* of each worker's ring */
	uint64_t token;                     /* of the wait for quiescence, once all is taken */
	bool taken;
};

/* Of all that has been told so far. */
void grace_begin(struct grace *grace, const struct box *box);

/* To be asked now and then; once true, always. */
bool grace_done(struct grace *grace, const struct box *box);

#endif
