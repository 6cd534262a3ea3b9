/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a policy consists of beside its limit: each feature that keeps something for a policy is a
 * part, and says in one row what it does at each step of the policy's life in a slot. Who walks
 * through that life (attach, publish, reload) knows no part by name: the rows are handed down by
 * start-up (struct instance, `parts`).
 *
 *     plan ─▶ prepare ─▶ before_update ─▶ move ─▶ begin ─▶ change … leave ─▶ moved ─▶ remove
 *
 * A step that a part has no use for is NULL. Control, but for what says "any thread": that may be a
 * thread which prepares a reload, while control and workers are at other slots than these.
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
	 * Any thread: policies are about to be prepared. Of the n that there will be, those for
	 * which stays[] is true stay in their slots[].
	 */
	void (*plan)(struct instance *inst, const uint32_t *slots, const bool *stays, unsigned n);

	/*
	 * Any thread: room for the policy in a free slot, on a counter of hz ticks a second; and
	 * for what it brings along, if it moves there. Return 0 or a negative errno; remove() is
	 * due in either case.
	 */
	int (*prepare)(
		struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);
	int (*prepare_move)(struct instance *inst, uint32_t from, uint32_t to);

	/*
	 * Any thread: what a policy that stays in its slot needs now and did not before, on such a
	 * counter, whose rate control may just find to be another (inst->clock is its own). 0 or
	 * -errno. give_up() is due in either case if it does not come to change().
	 */
	int (*prepare_change)(
		struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);
	void (*give_up)(struct instance *inst, uint32_t slot);

	/*
	 * The brain is about to be told of n policies (limiter_update()), of each by which index it
	 * knows it so far, or LIMITER_ADDED. It may refuse, and then nothing has changed.
	 */
	void (*before_update)(struct instance *inst, const unsigned *known, unsigned n);

	/* A policy is in slot `to` now, and was in `from`, where workers may still be. */
	void (*move)(struct instance *inst, uint32_t from, uint32_t to);

	/* The policy of an index is in its slot; no worker can come by it yet. */
	void (*begin)(struct instance *inst, unsigned policy);

	/* Adds the part's own to what one worker is told of the policy in a slot. */
	void (*join)(const struct instance *inst, uint32_t slot, struct limit_profile *profile);

	/* The policy of an index stays in its slot, and is another. */
	void (*change)(struct instance *inst, unsigned policy);

	/* All workers have heard of that: what it was before is nobody's. */
	void (*changed)(struct instance *inst, uint32_t slot);

	/* A slot is left: nothing new begins in it. Workers may still be at what is there. */
	void (*leave)(struct instance *inst, uint32_t slot);

	/* Once all workers have been quiescent after that: whether they have come to its end. */
	bool (*is_done)(const struct instance *inst, uint32_t slot);

	/* Nobody counts in the former slot of a policy that has moved any more. */
	void (*moved)(struct instance *inst, uint32_t from, uint32_t to);

	/* Nobody looks at the slot any more, or ever did: frees all that is in it. */
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
