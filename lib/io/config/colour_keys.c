/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Meters of colours: reads, completes and checks "colours" and the second bucket, "peak" or
 * "excess".
 */
#include <string.h>

#include "base/math.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "json/vocabulary.h"
#include "policy/kind.h"
#include "policy/schedule.h"
#include "policy/units.h"

static const struct choice colours[] = {
	{"green", COLOUR_GREEN},
	{"yellow", COLOUR_YELLOW},
	{"red", COLOUR_RED},
	{0},
};

static const struct choice colour_actions[] = {
	{"pass", ACTION_PASS},
	{"drop", ACTION_DROP},
	{"count", ACTION_COUNT},
	{0},
};

static const struct key colour_of_dscp = {.read = read_choice, .detail = colours, .size = 1};

/* Reads the colours of the DSCPs named; the others keep theirs. */
static void read_dscp_colours(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	uint8_t *of_dscp = key_field(key, base);
	bool named[COLOUR_DSCPS] = {false};
	const char *name;
	json_t *member;

	if (!json_is_object(value)) {
		reader_report(reader, path, MESSAGE(COLOURS_TYPE));
		return;
	}
	json_object_foreach (value, name, member) {
		struct json_path at = {.parent = path, .key = name};
		int dscp = dscp_of_key(name);

		if (key_is_remark(name)) {
			read_remark(reader, &at, member);
		} else if (dscp < 0) {
			reader_report(reader, &at, MESSAGE(NOT_DSCP_KEY));
		} else if (named[dscp]) {
			reader_report(reader, &at, MESSAGE(COLOUR_TWICE));
		} else {
			named[dscp] = true;
			read_choice(reader, &at, member, &colour_of_dscp, &of_dscp[dscp]);
		}
	}
}

static const struct vocabulary_entry colour_action_values[] = {
	{"pass", "accept allow permit transmit"},
	{"drop", "deny discard"},
	{"count", "monitor"},
	{0},
};

static const struct key mark_keys[] = {
	KEY("mark", read_mark, KEY_PART, KEY_FIELD(struct colour_action, mark), REQUIRED,
		"mark of a packet that passes with this colour", "dscp setdscp remark tos",
		.form = "mark"),
	{0},
};

static void read_colour_action(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct colour_action *action = key_field(key, base);
	const struct key word = {.detail = colour_actions, KEY_FIELD(struct colour_action, action)};

	if (json_is_object(value)) {
		action->action = ACTION_MARK;
		read_keys(reader, path, value, mark_keys, action);
	} else if (json_is_string(value)) {
		read_choice(reader, path, value, &word, action);
	} else {
		reader_report(reader, path, MESSAGE(COLOUR_ACTION));
	}
}

/* Meters without colours ignore these values, and shadow mode changes the defaults. */
static bool same_colours(const struct key *key, const void *a, const void *b)
{
	return !policy_is_coloured(a) || !policy_is_coloured(b) ||
	       memcmp(key_field(key, a), key_field(key, b), key->size) == 0;
}

const struct key colour_keys[] = {
	KEY("aware", read_bool, POLICY_TERMS, KEY_FIELD(struct policy, colours.aware),
		DEFAULT("false"),
		"true: no packet gets a better colour than it arrived with. False: all packets "
		"arrive as green (*colour-blind*)",
		"coloraware colouraware colormode mode", .same = same_colours),
	KEY("dscp", read_dscp_colours, POLICY_TERMS, KEY_FIELD(struct policy, colours.of_dscp),
		UNSET("AFx1 green, AFx2 yellow, AFx3 red, all others green"),
		"the colours that packets arrive with; unlisted DSCPs keep the default",
		"map dscpmap classes codepoints", .same = same_colours, .form = "dscp-colours",
		RELATIONS({NEEDS_VALUE("aware", "true")})),
	KEY("green", read_colour_action, POLICY_TERMS,
		KEY_FIELD(struct policy, colours.actions[COLOUR_GREEN]), DEFAULT("\"pass\""),
		"action for green packets", "conform conforming conformaction ok committed",
		.same = same_colours, .form = "colour-action", .keys = mark_keys,
		.value_words = colour_action_values),
	KEY("yellow", read_colour_action, POLICY_TERMS,
		KEY_FIELD(struct policy, colours.actions[COLOUR_YELLOW]), DEFAULT("\"pass\""),
		"action for yellow packets", "exceed exceeding exceedaction amber",
		.same = same_colours, .form = "colour-action", .keys = mark_keys,
		.value_words = colour_action_values),
	KEY("red", read_colour_action, POLICY_TERMS,
		KEY_FIELD(struct policy, colours.actions[COLOUR_RED]), DEFAULT("\"drop\""),
		"action for red packets", "violate violating violateaction nonconforming",
		.same = same_colours, .form = "colour-action", .keys = mark_keys,
		.value_words = colour_action_values),
	{0},
};

static void refuse_rate(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	(void)value;
	(void)key;
	(void)base;
	reader_report(reader, path, MESSAGE(SRTCM_EXCESS_LIMIT));
}

const struct key rated_keys[] = {
	KEY("limit", read_limit, KEY_PART, KEY_FIELD(struct policy, limit_bps), REQUIRED,
		"the second rate, in the unit of the policy's `limit`",
		"rate pir bandwidth speed cir eir maxrate peakrate", .form = "limit"),
	KEY("burst", read_policy_burst, KEY_PART, KEY_FIELD(struct policy, burst_bytes),
		UNSET("[the default](#burst) for this limit"), "the second burst",
		"pbs ebs bucket burstsize depth", .form = "burst"),
	{0},
};

const struct key spilt_keys[] = {
	KEY("limit", refuse_rate, KEY_PART, KEY_FIELD(struct policy, limit_bps), UNSET("none"),
		"not with `srtcm`, which fills this bucket with the unused part of the limit",
		"rate pir bandwidth speed cir eir maxrate peakrate", .form = "limit"),
	KEY("burst", read_policy_burst, KEY_PART, KEY_FIELD(struct policy, burst_bytes), REQUIRED,
		"the second burst", "pbs ebs bucket burstsize depth", .form = "burst"),
	{0},
};

/* "meter" is read before. Detail: the keys of a bucket that can have no rate. */
void read_second(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base, second = {.count = policy->count};
	bool spills = key->detail != NULL && meter_can(policy->meter, METER_SPILLS);

	read_keys(reader, path, value, spills ? key->detail : rated_keys, &second);
	if (meter_can(policy->meter, key->detail != NULL ? METER_EXCESS : METER_PEAK))
		policy->colours.second = policy_terms(&second);
}

#define AF(class, precedence) ((class) * 8 + (precedence)*2) /* RFC 2597 */

/* Sets the colours of assured forwarding by drop precedence. */
void colours_config_init(struct colours_config *colours_config)
{
	*colours_config = (struct colours_config){
		.actions =
			{
				[COLOUR_GREEN] = {ACTION_PASS, MARK_ECN},
				[COLOUR_YELLOW] = {ACTION_PASS, MARK_ECN},
				[COLOUR_RED] = {ACTION_DROP, MARK_ECN},
			},
	};
	for (unsigned class = 1; class <= 4; class ++) {
		colours_config->of_dscp[AF(class, 2)] = COLOUR_YELLOW;
		colours_config->of_dscp[AF(class, 3)] = COLOUR_RED;
	}
}

/* Returns the policy with the second limit as its limit. */
static struct policy policy_of_second(const struct policy *policy)
{
	return policy_with_terms(policy, &policy->colours.second);
}

static uint64_t second_burst_default(const struct policy *policy, unsigned n_limiters)
{
	struct policy second = policy_of_second(policy);

	if (meter_can(policy->meter, METER_SPILLS))
		return policy->burst_bytes;
	if (second.limit_bps == 0) /* reported before */
		return 0;
	if (meter_can(policy->meter, METER_PEAK))
		return max_u64(burst_default(&second, n_limiters), policy->burst_bytes);
	return burst_default(&second, n_limiters);
}

void colours_complete(struct policy *policy, unsigned n_limiters)
{
	const struct colour_action *red = &policy->colours.actions[COLOUR_RED];

	if (!policy_is_coloured(policy))
		return;
	policy->action = red->action;
	policy->mark = red->mark;
	if (policy->colours.second.burst_bytes == 0)
		policy->colours.second.burst_bytes = second_burst_default(policy, n_limiters);
}

/* Returns true if the rate of a is at least that of b. Both count the same. */
static bool rate_reaches(const struct policy *a, const struct policy *b)
{
	return (unsigned __int128)a->limit_bps * policy_limit_s(b) >=
	       (unsigned __int128)b->limit_bps * policy_limit_s(a);
}

static char *limit_text(const struct policy *policy, char text[UNITS_TEXT_MAX])
{
	return policy->count == COUNT_BYTES
		       ? units_format_rate(policy->limit_bps, text, UNITS_TEXT_MAX)
		       : units_format_count_rate(
				 policy->limit_bps, policy_limit_s(policy), text, UNITS_TEXT_MAX);
}

static char *burst_text(const struct policy *policy, char text[UNITS_TEXT_MAX])
{
	return policy->count == COUNT_BYTES
		       ? units_format_size(policy->burst_bytes, text, UNITS_TEXT_MAX)
		       : units_format_count(policy->burst_bytes, text, UNITS_TEXT_MAX);
}

/* RFC 2698: the peak rate and burst are at least the committed ones. */
static void check_peak(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path peak = {.parent = path, .key = "peak"};
	struct json_path limit = {.parent = &peak, .key = "limit"};
	struct json_path burst = {.parent = &peak, .key = "burst"};
	struct policy second = policy_of_second(policy);
	char text[UNITS_TEXT_MAX];

	if (policy->limit_bps == 0 || second.limit_bps == 0)
		return;
	if (!rate_reaches(&second, policy))
		reader_report(reader, &limit, MESSAGE(PEAK_BELOW_LIMIT), limit_text(policy, text));
	if (second.burst_bytes < policy->burst_bytes)
		reader_report(
			reader, &burst, MESSAGE(PEAK_BURST_BELOW_BURST), burst_text(policy, text));
}

/* Checks a default burst too. A burst of the policy that is too large has an error already. */
static void check_other_burst(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct policy *other)
{
	struct policy peak = policy_of_second(policy);
	struct json_path burst = {.parent = path, .key = "burst"};
	bool is_set = reader_has(reader, path, burst.key);
	char most[UNITS_TEXT_MAX], usual[UNITS_TEXT_MAX], remedy[UNITS_TEXT_MAX + 64];

	if (other->burst_bytes <= peak.burst_bytes ||
		(!is_set && policy->burst_bytes > peak.burst_bytes))
		return;
	snprintf(remedy, sizeof(remedy), "set \"burst\": the default for this limit is %s",
		burst_text(other, usual));
	reader_report(reader, &burst, MESSAGE(ABOVE_PEAK), burst_text(&peak, most),
		message_part(is_set ? NULL : remedy));
}

void colours_check_terms(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct policy *other)
{
	struct policy peak = policy_of_second(policy);
	struct json_path limit = {.parent = path, .key = "limit"};
	char text[UNITS_TEXT_MAX];

	if (!meter_can(policy->meter, METER_PEAK) || peak.limit_bps == 0)
		return;
	if (!rate_reaches(&peak, other))
		reader_report(reader, &limit, MESSAGE(ABOVE_PEAK), limit_text(&peak, text), "");
	else
		check_other_burst(reader, path, policy, other);
}

void colours_check(struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path peak = {.parent = path, .key = "peak"};
	struct json_path excess = {.parent = path, .key = "excess"};

	if (!policy_is_coloured(policy))
		return;
	if (meter_can(policy->meter, METER_PEAK) && !reader_has(reader, path, peak.key))
		reader_report(reader, &peak, MESSAGE(PEAK_MISSING), meter_name(policy->meter));
	if (meter_can(policy->meter, METER_EXCESS) && !meter_can(policy->meter, METER_SPILLS) &&
		!reader_has(reader, path, excess.key))
		reader_report(reader, &excess, MESSAGE(EXCESS_MISSING), meter_name(policy->meter));
	if (meter_can(policy->meter, METER_PEAK))
		check_peak(reader, path, policy);
}
