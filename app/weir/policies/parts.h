/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * State that a policy consists of, in addition to its limit. Each feature that keeps state for a
 * policy is a part. Its row has a function for each step of the policy's life in a slot. The
 * callers (attach, publish, reload) use only these rows, which start-up passes (struct instance,
 * `parts`).
 *
 *     plan ─▶ prepare ─▶ before_update ─▶ move ─▶ begin ─▶ change … leave ─▶ moved ─▶ remove
 *
 * Steps that a part does not need are NULL. They run on the control thread, except those marked
 * "any thread". Such a thread can prepare a reload while control and workers use other slots than
 * these.
 */
#ifndef WEIR_APP_PARTS_H
#define WEIR_APP_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct instance;
struct limit_profile;
struct policy;

struct policy_part {
	/*
	 * Any thread: policies are about to be prepared. There will be n policies, and those with
	 * stays[] set stay in their slots[].
	 */
	void (*plan)(struct instance *inst, const uint32_t *slots, const bool *stays, unsigned n);

	/*
	 * Any thread: allocate state of the policy in a free slot, on a counter of hz ticks a
	 * second. prepare_move() adds state that it brings along, if it moves there. Return 0 or a
	 * negative errno; remove() is due in either case.
	 */
	int (*prepare)(
		struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);
	int (*prepare_move)(struct instance *inst, uint32_t from, uint32_t to);

	/*
	 * Any thread: allocates state that a policy that stays in its slot needs from now on. hz is
	 * passed because control can just be correcting inst->clock. Returns 0 or a negative errno.
	 * give_up() is due in either case if change() is not called.
	 */
	int (*prepare_change)(
		struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);
	void (*give_up)(struct instance *inst, uint32_t slot);

	/*
	 * Called before limiter_update() with n policies. `known` has each policy's index in the
	 * limiter so far, or LIMITER_ADDED. The limiter can refuse, and then nothing has changed.
	 */
	void (*before_update)(struct instance *inst, const unsigned *known, unsigned n);

	/* The policy moved from slot `from` to `to`; workers might still use `from`. */
	void (*move)(struct instance *inst, uint32_t from, uint32_t to);

	/* The policy with an index is in its slot; no worker can reach it yet. */
	void (*begin)(struct instance *inst, unsigned policy);

	/* Adds the part's fields to the profile for one worker of the policy in a slot. */
	void (*join)(const struct instance *inst, uint32_t slot, struct limit_profile *profile);

	/* The policy with an index stays in its slot with another configuration. */
	void (*change)(struct instance *inst, unsigned policy);

	/* All workers use the changed policy: the old state is unused. */
	void (*changed)(struct instance *inst, uint32_t slot);

	/* A slot is left: nothing new begins in it. Workers might still use its state. */
	void (*leave)(struct instance *inst, uint32_t slot);

	/*
	 * Returns true if all workers have finished with the slot. Called once all were quiescent
	 * after leave().
	 */
	bool (*is_done)(const struct instance *inst, uint32_t slot);

	/* No worker counts in the previous slot of a moved policy any more. */
	void (*moved)(struct instance *inst, uint32_t from, uint32_t to);

	/* Frees all of the part's state in the slot, which no thread uses any more, or ever did. */
	void (*remove)(struct instance *inst, uint32_t slot);
};

/* Each takes the step for all parts, in the order of their rows. */
void parts_plan(struct instance *inst, const uint32_t *slots, const bool *stays, unsigned n);
int parts_prepare(struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);
int parts_prepare_move(struct instance *inst, uint32_t from, uint32_t to);
int parts_prepare_change(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);
void parts_give_up(struct instance *inst, uint32_t slot);
void parts_before_update(struct instance *inst, const unsigned *known, unsigned n);
void parts_move(struct instance *inst, uint32_t from, uint32_t to);
void parts_begin(struct instance *inst, unsigned policy);
void parts_join(const struct instance *inst, uint32_t slot, struct limit_profile *profile);
void parts_change(struct instance *inst, unsigned policy);
void parts_changed(struct instance *inst, uint32_t slot);
void parts_leave(struct instance *inst, uint32_t slot);
bool parts_are_done(const struct instance *inst, uint32_t slot);
void parts_moved(struct instance *inst, uint32_t from, uint32_t to);
void parts_remove(struct instance *inst, uint32_t slot);

#endif
