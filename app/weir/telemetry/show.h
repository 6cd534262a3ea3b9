/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The appliance's state as JSON: the commands, and the functions that their files share. Control
 * thread; the context of every command is the struct instance.
 */
#ifndef WEIR_APP_SHOW_H
#define WEIR_APP_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <jansson.h>

#include "base/time.h"
#include "book/book.h"
#include "policy/policy.h"
#include "policy/zone.h"
#include "telemetry/server.h"
#include "timed.h"

struct config;
struct instance;
struct limiter_view;
struct policy_totals;

/*
 * All commands, for start-up to pass to the server. A new one needs a file, and a row in
 * commands.c.
 */
extern const struct telemetry_command show_commands[];

/* The handlers, each in a file of its subject. */
/*
 * json_lines() returns as many lines of a text as a reply has room for. json_utc() returns a time
 * of day in UTC.
 */
json_t *json_lines(const char *text);
json_t *json_utc(time_t when);

json_t *show_members(const char *params, void *context);
json_t *do_group(const char *params, void *context);
json_t *show_change(const char *params, void *context);
json_t *show_running(const char *params, void *context);
json_t *show_history(const char *params, void *context);
json_t *do_apply(const char *params, void *context);
json_t *do_policy(const char *params, void *context);
json_t *do_rollback(const char *params, void *context);
json_t *do_confirm(const char *params, void *context);

json_t *show_capture(const char *params, void *context);
json_t *show_capture_end(const char *params, void *context);
json_t *show_capture_read(const char *params, void *context);
json_t *show_talkers(const char *params, void *context);
json_t *show_talkers_end(const char *params, void *context);
json_t *show_talkers_read(const char *params, void *context);
json_t *show_config(const char *params, void *context);
json_t *show_delays(const char *params, void *context);
json_t *show_balance(const char *params, void *context);
json_t *show_drops(const char *params, void *context);
json_t *show_explain(const char *params, void *context);
json_t *show_etcd(const char *params, void *context);
json_t *show_events(const char *params, void *context);
json_t *show_gossip(const char *params, void *context);
json_t *show_health(const char *params, void *context);
json_t *show_ledger(const char *params, void *context);
json_t *show_ledger_forget(const char *params, void *context);

json_t *show_log(const char *params, void *context);
json_t *show_log_level(const char *params, void *context);
json_t *show_match(const char *params, void *context);
json_t *show_peers(const char *params, void *context);
json_t *show_placement(const char *params, void *context);
json_t *show_limits(const char *params, void *context);
json_t *show_override(const char *params, void *context);
json_t *show_lcore(const char *params, void *context);
json_t *show_lcores(const char *params, void *context);
json_t *show_memzone(const char *params, void *context);
json_t *show_memzones(const char *params, void *context);
json_t *show_policies(const char *params, void *context);
json_t *show_policy_stats(const char *params, void *context);
json_t *show_process(const char *params, void *context);
json_t *show_policy(const char *params, void *context);
json_t *show_ports(const char *params, void *context);
json_t *show_quota(const char *params, void *context);
json_t *show_reload(const char *params, void *context);
json_t *show_shares(const char *params, void *context);
json_t *show_tree(const char *params, void *context);
json_t *show_unparsed(const char *params, void *context);
json_t *show_workers(const char *params, void *context);

/* Adds marks and the limit as text to the "colours" of a policy. */
void show_colours(json_t *json, const struct policy *policy);

/* Name of an action; its mark, or null. */
const char *show_action(enum action action);

/*
 * Rates up to which packets of a policy with colours pass, in units a second. They are the peak, or
 * the limit plus the excess; or the limit, if yellow packets are dropped. NAN without colours.
 */
struct show_peak {
	double group, here;
};

/* Returns the action for packets beyond that rate, or beyond the limit. */
enum action show_exceeding(const struct policy *policy);
json_t *show_mark(enum action action, int mark);

/* A match as it was configured. */
json_t *show_match_of(const struct config *config, const struct match *match);

/* Returns the differences of a peer, a text each. */
struct differs;

/* Names of peers with other settings now, by their latest reports; null if there are none. */
json_t *show_differing_peers(const struct instance *inst);

/* A policy's quota, in its units. */
struct show_total {
	uint64_t total, left;       /* in force; of the group, by the latest reports */
	uint64_t spent, prefetched; /* by traffic here; prefetched for it and not used */
	bool known; /* `left` is valid: there is a period, and all limiters or etcd have reported */
	bool held;  /* `left` is an estimate while the tree changes: see struct quota_group */
};

/* Returns false for a policy without a quota. */
bool show_total_of(const struct instance *inst, unsigned policy, struct show_total *of);

/* A share from 0 to 1; NAN is null. */
json_t *show_share(double share);

/* The policy with the limit that holds now (show_timed.c); as text, or null. */
struct policy show_policy_now(const struct instance *inst, unsigned policy);
json_t *show_limit(const struct policy *policy);

/* Name of the origin of a limit; its end as text, or NULL. */
const char *timed_name(enum timed_by by);
const char *timed_until(const struct timed_view *view, char text[ZONE_TEXT_MAX]);

/* Adds the reason and the end of the limit in force, and the configured limit. */
void show_timed(json_t *json, const struct instance *inst, unsigned policy);

/* Adds the texts of an alarm that is active; each is a row in show_health.c. */
typedef void alarm_fn(const struct instance *inst, json_t *alarms);

/* show_group.c */
alarm_fn alarm_peers_that_differ, alarm_peers_lost, alarm_silent_peers;
alarm_fn alarm_wall_clock, alarm_spent_totals; /* show_quota.c */
alarm_fn alarm_group;                          /* show_group.c */
alarm_fn alarm_refused_reload;                 /* show_change.c */
alarm_fn alarm_overshoots, alarm_full_sources; /* show_policy.c */
/* show_ledger.c */
alarm_fn alarm_ledger_failing, alarm_ledger_exchanged, alarm_ledger_recovering;
alarm_fn alarm_ledger_sentinel, alarm_ledger_other, alarm_ledger_invalid;
alarm_fn alarm_ledger_older, alarm_name_twice;
alarm_fn alarm_datagrams_refused, alarm_etcd_away, alarm_etcd_fenced, alarm_etcd_refused;

/*
 * Returns the number of quotas with at most a thousandth left. Sets *first to the name of the first
 * one, if there is one.
 */
unsigned show_spent_totals(const struct instance *inst, const char **first);

/* Returns the number of peers that were alive since the start, and are lost. */
unsigned show_count_lost(const struct instance *inst);

/* Returns "waiting" of a worker. */
json_t *show_waiting(struct instance *inst, unsigned worker);

static inline json_t *json_uint(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* Returns null for an unknown one. */
static inline json_t *identity_json(struct book_identity identity)
{
	char text[BOOK_IDENTITY_TEXT];

	book_identity_write(identity, text);
	return book_identity_known(identity) ? json_string(text) : json_null();
}

/* Milliseconds since then, or null. */
static inline json_t *age_ms(bool known, uint64_t then, uint64_t now)
{
	return known ? json_uint((now - then) / MS_NS) : json_null();
}

/* The kind of a member of a struct, which decides how it is shown. */
enum show_kind {
	SHOW_NUMBER,  /* uint64_t */
	SHOW_COUNTER, /* uint64_t that a worker counts in */
	SHOW_FLAG,    /* bool */
	SHOW_TEXT,    /* const char * */
	SHOW_MS,      /* uint64_t, nanoseconds: shown in milliseconds */
	/* The policy's unit decides the key and the unit of these. */
	SHOW_UNITS,     /* uint64_t: see show_units() */
	SHOW_RATE,      /* double, units a second: see show_rate() */
	SHOW_THOUSANDS, /* uint64_t, thousandths of a unit a second: also a rate */
	SHOW_PART,      /* uint64_t or int64_t, units in the limit's time: also a rate */
};

struct show_field {
	const char *key;
	uint16_t offset;
	uint8_t kind;
};

/* A row of a table, which {0} ends: the key is the member's name, or another one. */
#define SHOW_FIELD(type, kind, member) SHOW_FIELD_AS(#member, type, kind, member)
#define SHOW_FIELD_AS(key, type, kind, member)                  \
	{                                                       \
		key, offsetof(struct type, member), SHOW_##kind \
	}

/* Adds the members of the struct `from`, in the table's order. policy: NULL if no row needs it. */
void show_fields(json_t *json, const struct show_field *table, const void *from,
	const struct policy *policy);

/*
 * Returns a page: at most `most` of the `total` items, from the index in params on (0 if absent).
 * `what` is the key of the items, and "next" the parameter of the next page, or null. If params is
 * not an index, returns NULL, to which jansson adds nothing.
 */
typedef json_t *(*show_item)(const void *context, unsigned index);
json_t *show_page(const char *what, const char *params, unsigned total, unsigned most,
	show_item item, const void *context);

/* Reads the first index of a page: 0 if params are absent. Returns false for all but digits. */
bool show_start(const char *params, unsigned *start);

/* Reads an index that must be present. Returns false for anything but digits. */
bool show_index(const char *params, unsigned *index);

/*
 * Returns a page of the names of the limiter's policies that are listed; a NULL function lists all.
 */
json_t *show_names(const char *what, const char *params, const struct instance *inst,
	bool (*is_listed)(const struct instance *inst, unsigned policy));

/* Returns the index of the policy in force, or n_policies, also for a NULL name. */
unsigned show_find(const struct instance *inst, const char *name);

/* "bytes", "packets" or "flows". */
const char *show_counting(enum counting count);

/*
 * Adds a policy's rate as NAME_bps, or as NAME_per_s for packets or flows. It is in units a second;
 * NAN is null.
 */
void show_rate(json_t *json, const struct policy *policy, const char *name, double rate);

/* Adds a number of the policy's units as NAME_bytes or NAME. */
void show_units(json_t *json, const struct policy *policy, const char *name, uint64_t units);

struct instance;

/* Withdraws the pending request and frees its memory. Control, before the workers end. */
void explain_stop(struct instance *inst);

/* Reports when a quota nears its end, when it is spent, and when it has units again. Control. */

struct instance;

uint64_t watch_totals_next(const struct instance *inst);
bool watch_totals(struct instance *inst, uint64_t now_ns);

#endif
