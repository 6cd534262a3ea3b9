/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the limiter has decided, on its way to the workers: split over them, and told to each by its
 * ring. Control.
 */
#ifndef WEIR_APP_PUBLISH_H
#define WEIR_APP_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "limit_ring.h"

struct instance;
struct snapshot;
struct trial_change;

/*
 * Slots that a round of telling looks at. 100,000 that change at once are many rounds, so that what
 * control does beside has its turn in between; a ring takes no more than that anyway.
 */
#define PUBLISH_ROUND LIMIT_RING_MAX

/*
 * Before the workers run: gives every policy its line on each worker, with the limit that the
 * limiter starts with, and then publishes the classifier. Returns 0 or a negative errno, logged.
 */
int publish_first(struct instance *inst);

/*
 * A policy that is in a slot prepared for it, and that no worker can come by yet, begins with the
 * limit that the limiter has for it now: with its burst, or as if that had just been spent, which
 * is how every conserved one begins.
 */
void publish_begin(struct instance *inst, unsigned policy, bool spent);

/* The trial of a policy begins that stays in its slot; no worker can come by it yet. */
void publish_begin_trial(struct instance *inst, unsigned policy);

/* What a classifier changes, beside the policies that packets are. */
struct publish_changes {
	/*
	 * Slots that it leads nobody to any more. Of what waits there workers see to that it
	 * leaves: they read this list until they have all come to the snapshot's generation.
	 */
	const uint32_t *leaving;
	unsigned n_leaving;
	/* Trials of policies that stay; likewise. */
	const struct trial_change *trials;
	unsigned n_trials;
	bool retargets; /* other packets are those of placed policies */
};

/*
 * Exchanges the classifier, and what goes with it, for the box's: every line that it leads to is
 * ready. The snapshot is one that was taken for this; the former classifier is still in use.
 */
void publish_classifier(
	struct instance *inst, struct snapshot *snapshot, const struct publish_changes *changes);

/* Something that all limits are made of has changed: marks all policies (dirty.h). */
void publish_all_later(struct instance *inst);

/*
 * The TSC has been set back: workers are told all limits again, and shared buckets begin anew, as
 * if they had just been spent.
 */
void publish_anew(struct instance *inst);

/*
 * Tells the workers what has changed, one round of it at most and each as much as its ring takes;
 * the rest is left for publish_rest(). A limit that no meter can express leaves the old one in
 * force. True when nothing was left.
 */
bool publish(struct instance *inst);

/* Goes on with what was left, and tells it as it is now. True when nothing is left. */
bool publish_rest(struct instance *inst);

/* Whether nothing is left for any worker. */
bool publish_is_done(const struct instance *inst);

/* A slot has lost its policy: nothing is left to be told of it. */
void publish_never(struct instance *inst, uint32_t slot);

#endif
