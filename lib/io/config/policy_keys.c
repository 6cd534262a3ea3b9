/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of a policy.
 */
#include <errno.h>
#include <string.h>

#include "allocate/allocate.h"
#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "config/meter_check.h"
#include "config/value_keys.h"
#include "json/suggest.h"
#include "json/vocabulary.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "policy/schedule.h"
#include "policy/trial.h"
#include "policy/units.h"
#include "policy/value.h"

static void read_allocator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	const struct allocator *allocator = text != NULL ? allocator_find(text) : NULL;
	char word[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];

	const char *meant;

	if (allocator != NULL) {
		memcpy(key_field(key, base), &allocator, sizeof(allocator));
		return;
	}
	meant = reader_meant(reader, path, text ? text : "");
	if (meant == NULL)
		meant = suggest_of_list(allocator_names(), text ? text : "", word);
	reader_report(reader, path, MESSAGE(NOT_ONE_OF), allocator_names(),
		message_part(suggest_remedy(meant, remedy)));
}

static const char *allocator_word(const struct key *key, const void *base)
{
	const struct policy *policy = base;

	(void)key;
	return policy->allocator != NULL ? policy->allocator->name : NULL;
}

static const struct choice counts[] = {
	{"bytes", COUNT_BYTES},
	{"packets", COUNT_PACKETS},
	{"flows", COUNT_FLOWS},
	{0},
};

static const struct quantity_range window_range = {
	units_parse_time, 10 * MS_NS, 24 * 3600 * SECOND_NS, "10ms to 24h", "ns"};

#define METER_CHOICE(constant, member, prefix, state, profile, set, name, ...) \
	{name, METER_##constant},
static const struct choice meters[] = {METERS_TO_CHOOSE(METER_CHOICE, METER_CHOICE){0}};
#undef METER_CHOICE

static bool meter_has(int meter, unsigned abilities)
{
	return meter_can((enum meter_kind)meter, abilities);
}

static bool meter_fits(const void *base, int meter)
{
	return allocator_allows(base, (enum meter_kind)meter);
}

/*
 * Reads "src" or "src/N": N bits of an IPv4 address, with one IPv6 subnet; above 32 of an IPv6
 * address.
 */
static void read_per(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	struct policy *policy = base;
	unsigned bits;
	int rc = text != NULL ? source_parse(text, &bits) : -EINVAL;

	(void)key;
	policy->per_v4 = SOURCE_V4_BITS;
	policy->per_v6 = SOURCE_V6_BITS;
	if (rc < 0)
		reader_report(reader, path, MESSAGE(WRONG_PER), SOURCE_V6_BITS);
	else if (bits > SOURCE_V4_BITS)
		policy->per_v6 = (uint8_t)bits;
	else if (bits > 0) {
		policy->per_v4 = (uint8_t)bits;
		policy->per_v6 = SOURCE_V6_SUBNET;
	}
}

static const struct choice weighs[] = {
	{"all", false},
	{"tcp", true},
	{0},
};

static const struct choice actions[] = {
	{"drop", ACTION_DROP},
	{"mark", ACTION_MARK},
	{"count", ACTION_COUNT},
	{"shape", ACTION_SHAPE},
	{0},
};

/* Keys of a trial, read as those of a policy that counts the same. */
static const struct vocabulary_entry accounting_values[] = {
	{"l3", "ip network"},
	{"l2", "ethernet frame"},
	{"wire", "l1 line physical"},
	{0},
};

static const struct vocabulary_entry action_values[] = {
	{"drop", "police discard deny reject block"},
	{"mark", "remark setdscp dscp ecn"},
	{"count", "pass accept allow permit none monitor observe"},
	{"shape", "delay queue buffer wait"},
	{0},
};

static const struct vocabulary_entry allocator_values[] = {
	{"central", "local single none"},
	{"static", "equal fixed even"},
	{"fps", "proportional fair"},
	{"quota", "total volume cap"},
	{0},
};

static const struct vocabulary_entry count_values[] = {
	{"bytes", "bits octets octet"},
	{"packets", "pps frames pkts"},
	{"flows", "connections sessions conns"},
	{0},
};

static const struct vocabulary_entry guarantee_values[] = {
	{"soft", "eventual besteffort"},
	{"hard", "strict strong conserve"},
	{0},
};

static const struct vocabulary_entry meter_values[] = {
	{"token-bucket", "tbf tb htb bucket leaky leakybucket"},
	{"gcra", "vsa"},
	{"fixed-window", "fixed window"},
	{"hybrid", "slidingwindow sliding"},
	{"random-drop", "red random"},
	{"phantom", "fair fq phantomqueue"},
	{"srtcm", "rfc2697 singlerate"},
	{"trtcm", "rfc2698 tworate"},
	{"trtcm-4115", "rfc4115"},
	{0},
};

static const struct vocabulary_entry period_values[] = {
	{"none", "never once prepaid forever"},
	{"month", "monthly calendar"},
	{0},
};

static const struct vocabulary_entry trial_meter_values[] = {
	{"token-bucket", "tbf tb htb bucket leaky leakybucket"},
	{"gcra", "vsa"},
	{"fixed-window", "fixed window"},
	{"hybrid", "slidingwindow sliding"},
	{"phantom", "fair fq phantomqueue"},
	{0},
};

static const struct vocabulary_entry weigh_values[] = {
	{"all", "any every"},
	{"tcp", "tcponly"},
	{0},
};

const struct key trial_keys[] = {
	KEY("limit", read_limit, KEY_PART, KEY_FIELD(struct policy, limit_bps),
		UNSET("the policy's"), "the limit of the trial", "rate bandwidth speed cir maxrate",
		.form = "limit"),
	KEY("burst", read_policy_burst, KEY_PART, KEY_FIELD(struct policy, burst_bytes),
		UNSET("the policy's `burst` if the file sets it, otherwise the default for the limit of the trial"),
		"the burst of the trial", "bucket cbs burstsize depth", .form = "burst",
		RELATIONS({NEEDS_METER(METER_BURST)})),
	KEY("meter", read_marked_choice, KEY_PART, KEY_FIELD(struct policy, meter),
		UNSET("the policy's"),
		"for a hard limit `\"token-bucket\"`, `\"gcra\"` or `\"phantom\"`; with `shape` "
		"`\"token-bucket\"`",
		"policer limiter tokenbucket algorithm", .detail = meters,
		.value_words = trial_meter_values, .has = meter_has),
	KEY("window", read_quantity, KEY_PART, KEY_FIELD(struct policy, window_ns),
		UNSET("the policy's"), "the window of the trial",
		"windowsize timewindow slidingwindow", .expected = EXPECTED_TIME,
		.detail = &window_range, RELATIONS({NEEDS_METER(METER_WINDOW)})),
	KEY("classes", read_classes, KEY_PART, KEY_FIELD(struct policy, classes),
		UNSET("the policy's"), "the classes of the trial",
		"fairness fair flows fairqueueing", .form = "object", .keys = class_keys,
		.heading = "Classes", RELATIONS({NEEDS_METER(METER_CLASSES)})),
	{0},
};

static void read_trial(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base, tried = {.count = policy->count, .meter = METER_DEFAULT};
	unsigned errors = reader->errors;
	bool has_key = false;

	(void)key;
	read_keys(reader, path, value, trial_keys, &tried);
	for (const struct key *each = trial_keys; each->name != NULL; each++)
		has_key |= json_object_get(value, each->name) != NULL;
	if (reader->errors == errors && !has_key)
		reader_report(reader, path, MESSAGE(TRIAL_EMPTY));
	policy->trial = (struct trial_config){
		.set = json_is_object(value),
		.meter = tried.meter,
		.limit_bps = tried.limit_bps,
		.limit_s = tried.limit_s,
		.burst_bytes = tried.burst_bytes,
		.window_ns = tried.window_ns,
		.classes = tried.classes,
	};
}

static const struct choice accountings[] = {
	{"l3", ACCOUNTING_L3},
	{"l2", ACCOUNTING_L2},
	{"wire", ACCOUNTING_WIRE},
	{0},
};

static bool same_match(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return policy_matches_equal(a, b);
}

static bool same_limit(const struct key *key, const void *a, const void *b)
{
	const struct policy *old = a, *policy = b;

	(void)key;
	return old->limit_bps == policy->limit_bps && policy_limit_s(old) == policy_limit_s(policy);
}

/* Compares only if there is one: its index has a meaning within one configuration (compare.c). */
static bool same_parentage(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return policy_has_parent(a) == policy_has_parent(b);
}

static bool same_period(const struct key *key, const void *a, const void *b)
{
	const struct policy *old = a, *policy = b;

	(void)key;
	return old->period == policy->period && old->period_ns == policy->period_ns;
}

static bool same_second(const struct key *key, const void *a, const void *b)
{
	const struct limit_terms *old = key_field(key, a), *terms = key_field(key, b);

	return old->limit_bps == terms->limit_bps && old->limit_s == terms->limit_s &&
	       old->burst_bytes == terms->burst_bytes;
}

static bool same_schedule(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return schedule_equal(
		((const struct policy *)a)->schedule, ((const struct policy *)b)->schedule);
}

static bool same_per(const struct key *key, const void *a, const void *b)
{
	const struct policy *old = a, *policy = b;

	(void)key;
	return old->per_v4 == policy->per_v4 && old->per_v6 == policy->per_v6;
}

static bool same_trial(const struct key *key, const void *a, const void *b)
{
	(void)key;
	return policy_trials_equal(a, b);
}

/* Relations of several rows. */
#define OF_METER(abilities)                                                                  \
	RELATIONS({EXCLUDES_VALUE("remove it: a quota has no meter", "allocator", "quota")}, \
		{NEEDS_METER(abilities)})
#define OF_PARENT                                                                        \
	RELATIONS({NEEDS("parent")}, {EXCLUDES_VALUE(REMOVE_ONE, "allocator", "quota")}, \
		{EXCLUDES("per", REMOVE_ONE)})
#define NO_COLOURS EXCLUDES_METER("set the action of each colour in \"colours\"", METER_COLOURS)

const struct key policy_keys[] = {
	KEY("name", read_name, POLICY_ADDED, KEY_FIELD(struct policy, name), REQUIRED,
		"a unique name, the same in all files of the group",
		"id label title class classid policyname", .common = true),
	KEY("match", read_matches, POLICY_MATCH, NO_FIELD, CALLED("everything"),
		"the packets of the policy, see [Match](#match). No two policies can have the same "
		"one",
		"filter selector from criteria classifier when conditions flowspec",
		.same = same_match, .form = "matches", .keys = match_keys, .heading = "Match",
		.common = true),
	KEY("count", read_marked_choice, POLICY_RESTARTS, KEY_FIELD(struct policy, count),
		DEFAULT("\"bytes\""), "the unit of the limit, see below",
		"unit units measure basis countby pps", .detail = counts,
		.value_words = count_values, .group = "count"),
	KEY("allocator", read_allocator, POLICY_RESTARTS, KEY_FIELD(struct policy, allocator),
		UNSET("`\"fps\"` in a group, otherwise `\"central\"`"),
		"the rule that divides the limit, see below",
		"distribution algorithm divide sharing split strategy scope", .form = "allocator",
		.value_words = allocator_values, .word = allocator_word, .group = "allocator"),
	KEY("limit", read_limit, POLICY_TERMS, KEY_FIELD(struct policy, limit_bps),
		CALLED("required, except for `quota`"),
		"the limit of all limiters together. For `quota`, see below",
		"rate bandwidth speed cir maxrate throughput ceiling bps downloadmax committedrate ceil mir policerate",
		.same = same_limit, .form = "limit", .common = true, .group = "limit"),
	KEY("parent", read_parent, POLICY_TERMS, KEY_FIELD(struct policy, parent), UNSET("none"),
		"a policy that its packets are charged to as well",
		"parentid inherits within above root group parentnode", .same = same_parentage,
		.form = "policy-name", .group = "parent"),
	KEY("weight", read_integer, POLICY_TERMS, KEY_FIELD(struct policy, weight), DEFAULT("1"),
		"its part, compared with other children of its parent, of the rate that is not "
		"guaranteed. A policy above it has a rate",
		"priority share prio quantum ratio",
		.detail = &(const struct integer_range){1, POLICY_WEIGHT_MOST}, OF_PARENT,
		.group = "weight"),
	KEY("guaranteed", read_guaranteed, POLICY_TERMS, KEY_FIELD(struct policy, guaranteed_bps),
		UNSET("none; for a parent the sum of its children's"),
		"the part of its parent's limit that it gets before others. A policy above "
		"it has a rate",
		"min minrate rtrate reserved downloadmin assured minbandwidth commit",
		.form = "guaranteed", OF_PARENT, .group = "guaranteed"),
	KEY("total", read_total, POLICY_TERMS, KEY_FIELD(struct policy, total),
		CALLED("required for `quota`"),
		"the quota: the amount for a period, for all limiters together",
		"quota cap volume allowance datacap budget bytelimit", .form = "total",
		RELATIONS({NEEDS_VALUE("allocator", "quota")}), .group = "total"),
	KEY("period", read_period, POLICY_RESTARTS, KEY_FIELD(struct policy, period),
		DEFAULT("\"none\""),
		"the time after which the quota begins again, see [Guarantees](#guarantees)",
		"reset cycle renewal billingcycle every resetinterval refill", .same = same_period,
		.form = "period", .value_words = period_values,
		RELATIONS({NEEDS_VALUE("allocator", "quota")}), .group = "period"),
	KEY("guarantee", read_marked_choice, POLICY_RESTARTS, KEY_FIELD(struct policy, guarantee),
		UNSET("`\"soft\"`; with `gdrl` `\"hard\"`"),
		"`\"hard\"` is a hard limit, see [Guarantees](#guarantees)",
		"consistency strict hard mode hardlimit", .detail = guarantees,
		.value_words = guarantee_values,
		.previous = (const struct vocabulary_entry[]){{"hard", "conserved"}, {0}},
		RELATIONS({EXCLUDES_VALUE(
			"remove \"guarantee\": a quota is never exceeded", "allocator", "quota")}),
		.group = "guarantee"),
	KEY("indicator", read_indicator, POLICY_TERMS, KEY_FIELD(struct policy, indicator),
		UNSET("`\"spare\"`"),
		"the value that `gdrl` makes equal at all limiters ([which "
		"one](../design/gdrl.md#which-indicator))",
		"metric signal balance criterion", .form = "indicator",
		RELATIONS({NEEDS_VALUE("allocator", "gdrl")}), .group = "indicator"),
	KEY("eta", read_real, POLICY_TERMS, KEY_FIELD(struct policy, eta), DEFAULT("0"),
		"bytes a second that move for a difference of 1 in the indicator. 0 and too large "
		"values mean the largest stable rate",
		"gain stepsize learningrate",
		.detail = &(const struct real_range){0, 1e12, .below = false},
		RELATIONS({NEEDS_VALUE("allocator", "gdrl")}), .group = "indicator"),
	KEY("meter", read_marked_choice, POLICY_RESTARTS, KEY_FIELD(struct policy, meter),
		UNSET("`\"token-bucket\"`; with `grd` `\"random-drop\"`"),
		"the algorithm that measures conformance, see below",
		"policer limiter tokenbucket metering ratelimiter buckettype", .detail = meters,
		.value_words = meter_values, .has = meter_has, .fits = meter_fits,
		.fits_by = "allocator",
		RELATIONS({EXCLUDES_VALUE(
			"remove \"meter\": a quota counts without one", "allocator", "quota")}),
		.group = "burst"),
	KEY("classes", read_classes, POLICY_RESTARTS, KEY_FIELD(struct policy, classes),
		UNSET("`{\"by\": \"flow\"}`"),
		"the parties that share the limit, see [Classes](#classes)",
		"fairness fair flows subqueues fairqueueing sfq", .form = "object",
		.keys = class_keys, .heading = "Classes", OF_METER(METER_CLASSES)),
	KEY("colours", read_object, KEY_PART, NO_FIELD, UNSET("see there"),
		"the action for each colour, see [Colours](#colours)",
		"color conform colormode tricolor coloring", .detail = colour_keys,
		.heading = "Colours", OF_METER(METER_COLOURS)),
	KEY("peak", read_second, POLICY_TERMS, KEY_FIELD(struct policy, colours.second),
		UNSET("required"), "the most that can pass in all, see [Colours](#colours)",
		"pir pbs peakrate eir maximumrate", .same = same_second, .form = "object",
		.keys = rated_keys, .heading = "Colours", OF_METER(METER_PEAK), .group = "burst"),
	KEY("excess", read_second, POLICY_TERMS, KEY_FIELD(struct policy, colours.second),
		UNSET("required for `trtcm-4115`; for `srtcm` the `burst`"),
		"the amount that can pass in addition to the limit, see [Colours](#colours)",
		"ebs be excessburst excessrate", .same = same_second, .detail = spilt_keys,
		.form = "object", .keys = rated_keys, .heading = "Colours", OF_METER(METER_EXCESS),
		.group = "burst"),
	KEY("window", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, window_ns),
		UNSET("the unit of time of `limit` if it counts packets or flows (`\"100/min\"`: a minute), otherwise required"),
		"the time in which limit × window can pass: a whole number of packets or flows",
		"windowsize timewindow slidingwindow fixedwindow", .expected = EXPECTED_TIME,
		.detail = &window_range, OF_METER(METER_WINDOW)),
	KEY("burst", read_policy_burst, POLICY_TERMS, KEY_FIELD(struct policy, burst_bytes),
		UNSET("[250 ms of the limit](#burst)"),
		"the amount that can pass immediately above the rate, for all limiters together. "
		"A quota has one only with a `limit`",
		"bucket cbs burstsize depth bucketsize bc capacity maxtokens committedburst",
		.form = "burst", .common = true, RELATIONS({NEEDS_METER(METER_BURST)}),
		.group = "burst"),
	KEY("schedule", read_schedule, POLICY_TERMS, KEY_FIELD(struct policy, schedule),
		UNSET("none"), "other limits by weekday and [time of day](#times-of-day)",
		"timeofday hours timetable times timerange calendar", .same = same_schedule,
		.form = "object", .keys = schedule_keys, .heading = "Times of day",
		RELATIONS({EXCLUDES_VALUE("remove \"schedule\": \"total\" is the limit of a quota",
			"allocator", "quota")}),
		.group = "schedule"),
	KEY("per", read_per, POLICY_RESTARTS, KEY_FIELD(struct policy, per_v4),
		UNSET("none: one limit for all"), "each source gets the limit, see below",
		"key perhost perip groupby descriptor persource srcip perclient mask",
		.same = same_per, .form = "sources",
		RELATIONS({EXCLUDES_VALUE(REMOVE_ONE, "action", "shape")})),
	KEY("sources", read_integer, POLICY_RESTARTS, KEY_FIELD(struct policy, sources),
		UNSET("65536"),
		"sources that a worker can distinguish at a time, about 26 bytes each",
		"maxsources tablesize hosts sourcetable maxhosts maxentries",
		.detail = &(const struct integer_range){1024, 16777216}, RELATIONS({NEEDS("per")})),
	KEY("weigh", read_choice, POLICY_TERMS, KEY_FIELD(struct policy, weigh_tcp_only),
		DEFAULT("\"all\""), "the flows that `fps` compares, see below",
		"flowweighting evidence tcponly demand", .detail = weighs,
		.value_words = weigh_values, RELATIONS({NEEDS_VALUE("allocator", "fps")})),
	KEY("action", read_marked_choice, POLICY_TERMS, KEY_FIELD(struct policy, action),
		DEFAULT("\"drop\""), "treatment of exceeding packets, see below",
		"exceed exceedaction onexceed verdict then police enforcement violateaction policing",
		.detail = actions, .value_words = action_values, .common = true,
		RELATIONS({NO_COLOURS})),
	KEY("mark", read_mark, POLICY_TERMS, KEY_FIELD(struct policy, mark), DEFAULT("\"ecn\""),
		"the mark of exceeding packets", "setdscp tos dscpmark remark setmark",
		.form = "mark", RELATIONS({NO_COLOURS}, {NEEDS_VALUE("action", "mark")})),
	KEY("shape", read_object, KEY_PART, NO_FIELD, UNSET("see there"),
		"details of the queue, see [Shape](#shape)", "queueing aqm shaping fqcodel cake",
		.detail = shape_keys, .heading = "Shape",
		RELATIONS({NEEDS_VALUE("action", "shape")})),
	KEY("slo", read_object, KEY_PART, NO_FIELD, UNSET("none"),
		"objective for telemetry, and for wires with `distribute` ([Place](#place)): 99 % "
		"of the packets wait at most this long",
		"latency objective target latencytarget", .detail = slo_keys, .heading = "Shape",
		RELATIONS({NEEDS_VALUE("action", "shape")})),
	KEY("place", read_object, KEY_PART, NO_FIELD, UNSET("see there"),
		"placement of sources, see [Place](#place)",
		"steering placement affinity pinning distribute", .detail = place_keys,
		.heading = "Place", RELATIONS({NEEDS("slo")})),
	KEY("accounting", read_choice, POLICY_TERMS, KEY_FIELD(struct policy, accounting),
		DEFAULT("\"l3\""), "the bytes of a packet that are charged, see below",
		"overhead linklayer framing layer", .detail = accountings,
		.value_words = accounting_values, RELATIONS({NEEDS_VALUE("count", "bytes")}),
		.group = "accounting"),
	KEY("trial", read_trial, POLICY_TERMS, KEY_FIELD(struct policy, trial), UNSET("none"),
		"another limit, burst or meter that is counted next to the enforced one, see "
		"[Trial](#trial)",
		"test shadow dryrun experiment canary", .same = same_trial, .form = "object",
		.keys = trial_keys, .heading = "Trial",
		RELATIONS({EXCLUDES_VALUE(REMOVE_ONE, "allocator", "gtb", "grd", "quota")})),
	KEY("interval", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, interval_ns),
		DEFAULT("\"50ms\""),
		"estimate interval: the time between two divisions of the limit",
		"updateinterval epoch tick refresh syncinterval", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 10 * MS_NS, SECOND_NS,
			"10ms to 1s", "ns"},
		.group = "interval"),
	/* The share of an old value that is kept: 1 would ignore all new values. */
	KEY("ewma", read_real, POLICY_TERMS, KEY_FIELD(struct policy, keep_per_second),
		DEFAULT("0.1"),
		"part of an old value of the demand that remains after a second. 0 keeps nothing; "
		"near 1 is smooth and slow",
		"smoothing decay alpha average",
		.detail = &(const struct real_range){0, 1, .below = true}, .group = "averaging"),
	KEY("history", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, history_ns),
		DEFAULT("\"10s\""),
		"the time over which `adaptor` looks back: 2 to 64 times `step`",
		"lookback memory past samples", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 200000000,
			3600 * SECOND_NS, "200ms to 1h", "ns"},
		RELATIONS({NEEDS_VALUE("allocator", "adaptor")}), .group = "history"),
	KEY("step", read_quantity, POLICY_TERMS, KEY_FIELD(struct policy, step_ns),
		DEFAULT("\"1s\""),
		"the step in which `adaptor` removes old values: at least `interval`",
		"granularity resolution slot", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000,
			600 * SECOND_NS, "100ms to 600s", "ns"},
		RELATIONS({NEEDS_VALUE("allocator", "adaptor")}), .group = "history"),
	{0},
};

void policy_init(void *element)
{
	struct policy *policy = element;

	*policy = (struct policy){
		.match = {.wire = WIRE_REFUSED, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.meter = METER_DEFAULT,
		.parent = POLICY_NO_PARENT,
		.place.key = {SOURCE_V4_BITS, SOURCE_V6_BITS},
	};
	colours_config_init(&policy->colours);
}
