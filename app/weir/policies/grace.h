/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether every worker acts on all that control has told it by some time, and on nothing older. It
 * has taken all limits that lay in its ring then, and has been quiescent since: so these limits are
 * in their lines, and it no longer holds a classifier, a line, a sample, a shared bucket or a table
 * that was replaced before. A worker that sleeps is quiescent, but takes what is in its ring when
 * it wakes, which is waited for.
 *
 * That is what control waits for wherever more than one thing is replaced. Where it is one pointer
 * the publisher's moment is enough (snapshot.h), which this stands on. Control; nothing blocks.
 */
#ifndef WEIR_APP_GRACE_H
#define WEIR_APP_GRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"

struct instance;

struct grace {
	uint32_t marks[CONFIG_WORKERS_MAX]; /* of each worker's ring */
	uint64_t generation;                /* of the snapshot that all are to go by, or 0 */
	uint64_t moment;                    /* from which quiescence counts, once all is taken */
	bool taken;
};

/* Begins to wait for all that has been told so far. */
void grace_begin(struct grace *grace, const struct instance *inst);

/*
 * Waits for that, and until every worker goes by the current snapshot, so that nothing waits any
 * more in what that leaves. To be quiescent is not enough: a worker that sleeps goes on, for as
 * long as it still empties queues, by the one before.
 */
void grace_begin_snapshot(struct grace *grace, const struct instance *inst);

/* To be asked now and then; once true, always. */
bool grace_done(struct grace *grace, const struct instance *inst);

#endif
