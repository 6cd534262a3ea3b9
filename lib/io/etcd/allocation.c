/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The algorithm for drawing units (etcd.h lists the keys).
 */
#include "etcd/allocation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "etcd/kv.h"

#define RACES     64 /* lost in a row before giving up */
#define WAIT_MS   64 /* longest wait */
#define WAIT_STEP 5  /* races until the wait doubles */
#define DIGITS    21 /* digits of 64 bits, with a terminator */

enum { FENCE, TOTAL, DRAWN, OURS, KEYS };

/* A draw in progress. */
struct attempt {
	struct allocation_session *allocation_session;
	const struct etcd_draw *what;
	struct etcd_answer *answer;
	char keys[KEYS][DRAW_KEY_MAX];
	struct kv seen[KEYS];
	uint64_t total, drawn, ours;
};

int allocation_session_init(struct allocation_session *allocation_session, struct http *http,
	const struct etcd_params *params, uint64_t lot)
{
	size_t prefix = strlen(params->prefix), limiter = strlen(params->limiter);

	*allocation_session = (struct allocation_session){.http = http, .epoch = params->epoch};
	if (prefix >= sizeof(allocation_session->prefix) ||
		limiter >= sizeof(allocation_session->limiter) || limiter == 0 ||
		strchr(params->limiter, '/'))
		return -EINVAL;
	memcpy(allocation_session->prefix, params->prefix, prefix + 1);
	memcpy(allocation_session->limiter, params->limiter, limiter + 1);
	snprintf(allocation_session->token, sizeof(allocation_session->token),
		"%016" PRIx64 "-%016" PRIx64, params->epoch, lot);
	prng_seed(&allocation_session->prng, lot);
	return 0;
}

/* The longest key has a prefix, two names, a number and all of the words. */
static void name_keys(struct attempt *at)
{
	const struct allocation_session *allocation_session = at->allocation_session;
	const struct etcd_draw *what = at->what;

	snprintf(at->keys[FENCE], DRAW_KEY_MAX, "%s/limiters/%s", allocation_session->prefix,
		allocation_session->limiter);
	snprintf(at->keys[TOTAL], DRAW_KEY_MAX, "%s/quotas/%s/total", allocation_session->prefix,
		what->budget);
	snprintf(at->keys[DRAWN], DRAW_KEY_MAX, "%s/quotas/%s/%" PRIu64 "/drawn",
		allocation_session->prefix, what->budget, what->period);
	snprintf(at->keys[OURS], DRAW_KEY_MAX, "%s/quotas/%s/%" PRIu64 "/drawn/%s",
		allocation_session->prefix, what->budget, what->period,
		allocation_session->limiter);
}

static json_t *get_all(const struct attempt *at)
{
	return json_pack("[o,o,o,o]", kv_get(at->keys[FENCE]), kv_get(at->keys[TOTAL]),
		kv_get(at->keys[DRAWN]), kv_get(at->keys[OURS]));
}

/* Parses only digits, 64 bits. A missing key has the value `otherwise`. */
static bool parse_kv_number(const struct kv *kv, uint64_t otherwise, uint64_t *value)
{
	*value = otherwise;
	if (strcmp(kv->revision, "0") == 0)
		return true;
	*value = 0;
	for (const char *c = kv->value; *c; c++)
		if (*c < '0' || *c > '9' || __builtin_mul_overflow(*value, 10, value) ||
			__builtin_add_overflow(*value, *c - '0', value))
			return false;
	return kv->value[0] != '\0';
}

static int not_a_number(struct attempt *at, unsigned key)
{
	snprintf(at->answer->why, ETCD_WHY_MAX, "%.100s: \"%s\" is not a number of units",
		at->keys[key], at->seen[key].value);
	return -EPROTO;
}

/* Converts the values read from etcd to numbers. */
static int parse_budget_keys(struct attempt *at)
{
	if (!parse_kv_number(&at->seen[TOTAL], at->what->total, &at->total))
		return not_a_number(at, TOTAL);
	if (!parse_kv_number(&at->seen[DRAWN], 0, &at->drawn))
		return not_a_number(at, DRAWN);
	if (!parse_kv_number(&at->seen[OURS], 0, &at->ours) || at->ours > at->drawn)
		return not_a_number(at, OURS);
	return 0;
}

static int refuse_fenced(struct attempt *at)
{
	at->allocation_session->fenced = true;
	snprintf(at->answer->why, ETCD_WHY_MAX, "%.100s is \"%s\", and not less than \"%s\"",
		at->keys[FENCE], at->seen[FENCE].value, at->allocation_session->token);
	return -ESTALE;
}

/*
 * Replaces the fence of an earlier epoch, or a missing one, by ours; `ifs` selects which of the
 * two. If neither is found, it is either ours already, because an answer was lost, or that of
 * another start.
 */
static int claim_if(struct attempt *at, json_t *ifs, bool *held)
{
	const char *key = at->keys[FENCE];

	return kv_transact(at->allocation_session->http, ifs,
		json_pack("[o]", kv_put(key, at->allocation_session->token)),
		json_pack("[o]", kv_get(key)), held, &at->seen[FENCE], 1, at->answer->why);
}

static int claim_fence(struct attempt *at)
{
	static const struct kv absent = {.revision = "0"};
	const char *key = at->keys[FENCE];
	char epoch[DIGITS];
	bool held = false;
	int err;

	snprintf(epoch, sizeof(epoch), "%016" PRIx64, at->allocation_session->epoch);
	err = claim_if(at, json_pack("[o]", kv_if_less(key, epoch)), &held);
	if (err == 0 && !held && strcmp(at->seen[FENCE].revision, "0") == 0)
		err = claim_if(at, json_pack("[o]", kv_if_unchanged(key, &absent)), &held);
	if (err)
		return err;
	if (!held && strcmp(at->seen[FENCE].value, at->allocation_session->token) != 0)
		return refuse_fenced(at);
	at->allocation_session->claimed = true;
	return 0;
}

static uint64_t units_left(const struct attempt *at)
{
	return at->total > at->drawn ? at->total - at->drawn : 0;
}

/* Returns the units that are missing until this limiter's total equals `aim`. */
static uint64_t units_missing(const struct attempt *at, uint64_t aim)
{
	uint64_t more = aim > at->ours ? aim - at->ours : 0;

	return more < units_left(at) ? more : units_left(at);
}

static json_t *kv_put_number(const char *key, uint64_t value)
{
	char digits[DIGITS];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	return kv_put(key, digits);
}

/* If another limiter drew first, at->seen then has the present values. */
static int draw_units_now(struct attempt *at, uint64_t units, bool *held)
{
	/* The total is included because it might have been lowered. */
	json_t *unchanged = json_pack("[o,o,o,o]",
		kv_if_equal(at->keys[FENCE], at->allocation_session->token),
		kv_if_unchanged(at->keys[TOTAL], &at->seen[TOTAL]),
		kv_if_unchanged(at->keys[DRAWN], &at->seen[DRAWN]),
		kv_if_unchanged(at->keys[OURS], &at->seen[OURS]));
	json_t *puts = json_pack("[o,o]", kv_put_number(at->keys[DRAWN], at->drawn + units),
		kv_put_number(at->keys[OURS], at->ours + units));
	int err = kv_transact(at->allocation_session->http, unchanged, puts, get_all(at), held,
		at->seen, KEYS, at->answer->why);

	if (err == 0 && *held) {
		at->drawn += units;
		at->ours += units;
	}
	return err;
}

/* Waits a random time, longer after more races, so that the same limiters do not collide again. */
static void step_aside(struct allocation_session *allocation_session, unsigned races)
{
	unsigned shift = races / WAIT_STEP;
	uint32_t most = (uint32_t)(1U << (shift < 6 ? shift : 6)) * MS_NS;
	struct timespec nap;

	most = most < WAIT_MS * MS_NS ? most : WAIT_MS * MS_NS;
	nap = (struct timespec){.tv_nsec = prng_below(&allocation_session->prng, most)};
	nanosleep(&nap, NULL);
}

/* Draws until this limiter's total equals `aim`, starting from the values just read. */
static int draw_towards(struct attempt *at, uint64_t aim)
{
	bool held = false;
	int err = 0;

	for (unsigned races = 0; races < RACES && !http_given_up(at->allocation_session->http);
		races++) {
		if (strcmp(at->seen[FENCE].value, at->allocation_session->token) != 0)
			return refuse_fenced(at);
		err = parse_budget_keys(at);
		if (err || units_missing(at, aim) == 0)
			return err;
		err = draw_units_now(at, units_missing(at, aim), &held);
		if (err || held)
			return err;
		step_aside(at->allocation_session, races);
	}
	snprintf(at->answer->why, ETCD_WHY_MAX, "%.100s: others drew first, %d times",
		at->keys[DRAWN], RACES);
	return -EAGAIN;
}

/* The units are added to the caller's last total; the first time, to the total in etcd. */
static int draw_units(struct attempt *at, struct drawn *drawn)
{
	uint64_t aim;
	bool held;
	int err = kv_transact(at->allocation_session->http, json_array(), get_all(at), json_array(),
		&held, at->seen, KEYS, at->answer->why);

	if (err == 0)
		err = parse_budget_keys(at);
	if (err)
		return err;
	if (!drawn->known || drawn->period != at->what->period)
		*drawn = (struct drawn){true, at->what->period, at->ours};
	if (__builtin_add_overflow(drawn->units, at->what->units, &aim))
		aim = UINT64_MAX;
	err = draw_towards(at, at->what->units ? aim : 0);
	if (err == 0)
		drawn->units = at->ours;
	return err;
}

/* Replaces control characters in a received text, for one line of a log. */
static void clean_message(char *why)
{
	for (; *why; why++)
		if ((unsigned char)*why < ' ' || *why == 0x7f)
			*why = '?';
}

void draw(struct allocation_session *allocation_session, const struct etcd_draw *what,
	struct drawn *drawn, struct etcd_answer *answer)
{
	struct attempt at = {
		.allocation_session = allocation_session, .what = what, .answer = answer};

	*answer = (struct etcd_answer){.period = what->period, .result = -ESTALE};
	memcpy(answer->budget, what->budget, sizeof(answer->budget));
	name_keys(&at);
	if (allocation_session->fenced) {
		snprintf(answer->why, ETCD_WHY_MAX, "a newer start has drawn as %s",
			allocation_session->limiter);
		return;
	}
	answer->result = allocation_session->claimed ? 0 : claim_fence(&at);
	if (answer->result == 0)
		answer->result = draw_units(&at, drawn);
	answer->logged_in = http_logged_in(allocation_session->http);
	if (answer->result == -EPERM) /* etcd does not return the key that it refers to */
		snprintf(answer->why, ETCD_WHY_MAX,
			"permission denied: the user has to read and write %.50s, %.50s and below, "
			"and to read %.50s",
			at.keys[FENCE], at.keys[DRAWN], at.keys[TOTAL]);
	if (answer->result) {
		clean_message(answer->why);
		return;
	}
	answer->why[0] = '\0'; /* from an endpoint before the one that answered */
	answer->total = at.total;
	answer->drawn = at.ours;
	answer->left = units_left(&at);
}
