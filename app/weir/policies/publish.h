/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Publishes the limiter's decisions to the workers: splits each limit over them, and sends each its
 * part by its ring. Control.
 */
#ifndef WEIR_APP_PUBLISH_H
#define WEIR_APP_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "limit_ring.h"
#include "policy/config.h"

struct instance;
struct snapshot;
struct trial_change;

/*
 * Slots that a round of publishing processes. 100,000 simultaneous changes take many rounds, so
 * that control's other tasks run in between; a ring takes no more anyway.
 */
#define PUBLISH_ROUND LIMIT_RING_MAX

/*
 * Called before the workers run: gives every policy its line on each worker, with the limiter's
 * initial limit, and then publishes the classifier. Returns 0 or a negative errno, logged.
 */
int publish_first(struct instance *inst);

/*
 * Sets the present limit of a policy in a slot that is prepared for it, and that no worker can
 * reach yet. The policy begins with its burst. If `spent`, it begins without, and so does every
 * policy with a hard limit.
 */
void publish_begin(struct instance *inst, unsigned policy, bool spent);

/* Begins the trial of a policy that stays in its slot; no worker can reach the trial yet. */
void publish_begin_trial(struct instance *inst, unsigned policy);

/* Changes that a new classifier makes, in addition to the policies of packets. */
struct publish_changes {
	/*
	 * Slots that no packets reach any more. Workers release the packets that wait there: they
	 * read this list until all of them use the snapshot's generation.
	 */
	const uint32_t *leaving;
	unsigned n_leaving;
	/* Trials of policies that stay; read for as long. */
	const struct trial_change *trials;
	unsigned n_trials;
	bool retargets; /* placed policies get other packets */
};

/*
 * Replaces the classifier of the limiter, and the data that belongs to it. Every line that it leads
 * to is ready. The caller took the snapshot for this; the previous classifier is still in use.
 */
void publish_classifier(
	struct instance *inst, struct snapshot *snapshot, const struct publish_changes *changes);

/* Marks all policies (slot_map.h), after a change that affects all limits. */
void publish_all_later(struct instance *inst);

/*
 * Sends all limits to the workers again and restarts shared buckets empty. Called after the TSC was
 * set back.
 */
void publish_restart(struct instance *inst);

/*
 * Publishes changed limits: at most one round, and to each worker as many as its ring takes. The
 * rest is left for publish_rest(). If no meter can express a limit, the old one stays in force.
 * Returns true if nothing is left.
 */
bool publish(struct instance *inst);

/* Publishes the rest, with the values of now. Returns true if nothing is left. */
bool publish_rest(struct instance *inst);

/* Returns true if nothing is left for any worker. */
bool publish_is_done(const struct instance *inst);

/* Drops the unpublished changes of a slot that has lost its policy. */
void publish_never(struct instance *inst, uint32_t slot);

/* --- grace periods ---------------------------------------------------------------------------- */

/*
 * Waits until every worker uses all that control sent it before some time, and nothing older. By
 * then a worker has taken all limits that were in its ring, and has been quiescent since. So these
 * limits are in its lines. It no longer uses a classifier, line, sample, shared bucket or table
 * that was replaced before. A sleeping worker is quiescent, but takes the limits in its ring when
 * it wakes. The wait includes that.
 *
 * Control waits this way whenever it replaces more than one object. If it is one pointer, the
 * publisher's moment is enough (snapshot.h), on which this is based. Nothing blocks.
 */
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
