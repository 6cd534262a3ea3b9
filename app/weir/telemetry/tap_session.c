/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Taps of all workers, for a client that watches packets: one session at a time, of either kind.
 */
#include "tap_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/time.h"
#include "classify/classify.h"
#include "instance.h"
#include "show.h"
#include "tap.h"
#include "tick.h"

#define LEASE_S   3
#define NO_POLICY "-"

json_t *tap_session_refuse(const char *why)
{
	return json_pack("{s:s}", "refused", why);
}

const char *tap_session_number(
	const char *key, const char *text, uint64_t most, uint64_t *out, char why[UNKNOWN_NAME_MAX])
{
	char *end;

	*out = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *out > 0 && *out <= most)
		return NULL;
	snprintf(why, UNKNOWN_NAME_MAX, "%s: \"%.64s\": expected 1 to %llu", key, text,
		(unsigned long long)most);
	return why;
}

const char *tap_session_slot(
	struct instance *inst, const char *name, uint32_t *slot, char why[UNKNOWN_NAME_MAX])
{
	unsigned i = show_find(inst, name);

	if (strcmp(name, NO_POLICY) == 0)
		*slot = TAP_NO_POLICY;
	else if (i < inst->n_policies)
		*slot = inst->slots.of[i];
	else
		return unknown_policy(inst->policies, inst->n_policies, name, why);
	return NULL;
}

const char *tap_session_policy(const struct instance *inst, uint32_t slot)
{
	uint32_t policy = slot == CLASSIFY_NONE ? SLOT_FREE : inst->slots.policy[slot];

	return policy < inst->n_policies ? inst->policies[policy].name : NULL;
}

void tap_session_leave(struct instance *inst, struct tap_session *session)
{
	for (unsigned i = 0; i < session->n; i++)
		__atomic_store_n(&inst->workers[i].tap, NULL, __ATOMIC_RELEASE);
	if (!session->ending)
		session->moment = publisher_moment(&inst->publisher);
	session->ending = true;
}

static void free_session(struct instance *inst, struct tap_session *session)
{
	for (unsigned i = 0; i < session->n; i++)
		tap_destroy(session->taps[i]);
	free(session->record);
	free(session);
	inst->tap_session = NULL;
}

void tap_session_stop(struct instance *inst)
{
	struct tap_session *session = inst->tap_session;

	if (!session)
		return;
	tap_session_leave(inst, session);
	if (publisher_is_past(&inst->publisher, session->moment))
		free_session(inst, session);
}

/* Extends the lease, and returns the tick at which workers stop. */
static uint64_t renew_lease(const struct instance *inst, struct tap_session *session)
{
	session->lease_tick = tick_now() + LEASE_S * inst->clock.hz;
	if (session->end_ns == UINT64_MAX ||
		(int64_t)(session->end_tick - session->lease_tick) >= 0)
		return session->lease_tick;
	return session->end_tick;
}

struct tap_session *tap_session_new(
	struct instance *inst, bool by_lot, uint64_t seconds, bool *busy)
{
	static uint64_t number; /* names in EAL are not used again */
	struct tap_session *session = inst->tap_session;

	*busy = true;
	/* A session is over if its client has gone away. */
	if (session && !session->ending && (int64_t)(tick_now() - session->lease_tick) < 0)
		return NULL;
	tap_session_stop(inst);
	if (inst->tap_session) /* workers can still use the previous one */
		return NULL;
	*busy = false;
	session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;
	session->number = ++number;
	session->by_lot = by_lot;
	session->left = UINT64_MAX;
	session->began_ns = control_now();
	session->end_tick = tick_now() + seconds * inst->clock.hz;
	session->end_ns = seconds ? session->began_ns + seconds * SECOND_NS : UINT64_MAX;
	inst->tap_session = session;
	return session;
}

bool tap_session_start(struct instance *inst, struct tap_session *session)
{
	uint64_t until = renew_lease(inst, session);

	if (session->n < inst->config->n_workers || (!session->by_lot && !session->record)) {
		free_session(inst, session);
		return false;
	}
	for (unsigned i = 0; i < session->n; i++) {
		session->taps[i]->until = until;
		__atomic_store_n(&inst->workers[i].tap, session->taps[i], __ATOMIC_RELEASE);
	}
	return true;
}

struct tap_session *tap_session_find(struct instance *inst, const char *params, bool by_lot)
{
	struct tap_session *session = inst->tap_session;
	unsigned number;

	if (!session || session->ending || session->by_lot != by_lot ||
		!show_index(params, &number) || number != session->number)
		return NULL;
	return session;
}

bool tap_session_renew(struct instance *inst, struct tap_session *session)
{
	uint64_t until = renew_lease(inst, session);

	for (unsigned i = 0; i < session->n; i++)
		__atomic_store_n(&session->taps[i]->until, until, __ATOMIC_RELAXED);
	return control_now() >= session->end_ns;
}
