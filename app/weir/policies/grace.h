/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Waits until every worker uses all that control sent it before some time, and nothing older. By
 * then a worker has taken all limits that were in its ring, and has been quiescent since. So these
 * limits are in its lines. It no longer uses a classifier, line, sample, shared bucket or table
 * that was replaced before. A sleeping worker is quiescent, but takes the limits in its ring when
 * it wakes. The wait includes that.
 *
 * Control waits this way whenever it replaces more than one object. If it is one pointer, the
 * publisher's moment is enough (snapshot.h), on which this is based. Control; nothing blocks.
 */
#ifndef WEIR_APP_GRACE_H
#define WEIR_APP_GRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"

struct instance;

struct grace {
	uint32_t marks[CONFIG_WORKERS_MAX]; /* marks of the workers' rings */
	uint64_t generation;                /* snapshot that all workers must use, or 0 */
	uint64_t moment;                    /* from which quiescence counts, once all is taken */
	bool taken;
};

/* Begins to wait for all that was sent so far. */
void grace_begin(struct grace *grace, const struct instance *inst);

/*
 * Waits for the same, and until every worker uses the current snapshot, so that no packets wait in
 * the slots that it leaves. Quiescence is not enough: a sleeping worker uses the previous snapshot
 * as long as it still empties queues.
 */
void grace_begin_snapshot(struct grace *grace, const struct instance *inst);

/* Polled. Returns true once every worker has passed; stays true. */
bool grace_done(struct grace *grace, const struct instance *inst);

#endif
