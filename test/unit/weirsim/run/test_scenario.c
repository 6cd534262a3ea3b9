/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "policy/kind.h"
#include "scenario.h"

END_POINTER(scenario_free, struct scenario *)

#define POLICY  "\"policies\":[{\"name\":\"p\",\"limit\":\"10Mbit/s\"}]"
#define TRAFFIC "\"traffic\":[{\"kind\":\"tcp\",\"limiter\":\"l1\"}]"
#define BASE    "\"duration\":\"10s\",\"limiters\":2," POLICY

/* Parses; writes the messages to `said`, 1024 bytes. */
static int parse_scenario_text(const char *text, char *said, struct scenario **out)
{
	FILE *err = fmemopen(said, 1024, "w");
	int ret = scenario_parse(text, strlen(text), "s.json", err, out);

	fclose(err);
	return ret;
}

TEST(test_defaults)
{
	ENDED_BY(scenario_free_at) struct scenario *s;
	char said[1024];

	assert_int_equal(parse_scenario_text("{" BASE "," TRAFFIC "}", said, &s), 0);
	assert_int_equal(s->n_limiters, 2);
	assert_string_equal(s->limiters[1].name, "l2");
	assert_int_equal(s->duration_ns, 10000000000);
	assert_int_equal(s->interval_ns, 100000000);
	assert_int_equal(s->network.delay_ns, 20000000);
	assert_int_equal(s->group.gossip.n_roster, 2);
	assert_string_equal(s->group.policies[0].name, "p");
	assert_int_equal(s->traffic[0].limiter, 0);
	assert_int_equal(s->traffic[0].count, 1);
	assert_int_equal(s->traffic[0].rtt_ns, 40000000);
}

/* Virtual time has no time of day, for any policy. */
TEST(test_no_schedules)
{
	static const char other[] = "{\"name\":\"q\",\"limit\":\"1Mbit/s\",\"match\":{\"vlan\":1}}";
	static const char one[] =
		"{\"name\":\"p\",\"limit\":\"1Mbit/s\",\"schedule\":{\"zone\":\"UTC\","
		"\"entries\":[{\"from\":\"08:00\",\"to\":\"18:00\",\"limit\":\"2Mbit/s\"}]}}";

	for (unsigned at = 0; at < 2; at++) {
		char said[1024], text[1024], place[64];
		struct scenario *s;

		snprintf(text, sizeof(text),
			"{\"duration\":\"10s\",\"limiters\":2," TRAFFIC ",\"policies\":[%s,%s]}",
			at ? other : one, at ? one : other);
		snprintf(place, sizeof(place), "policies[%u] \"p\": \"schedule\" ", at);
		assert_int_equal(parse_scenario_text(text, said, &s), -EINVAL);
		assert_non_null(strstr(said, place));
		assert_non_null(strstr(said, "a scenario, which has no time of day: remove"));
	}
}

TEST(test_ledger)
{
	ENDED_BY(scenario_free_at) struct scenario *s;
	char said[1024];

	assert_int_equal(parse_scenario_text("{" BASE "," TRAFFIC "}", said, &s), 0);
	assert_int_equal(s->commit_ns, 2000000);
	assert_int_equal(s->n_workers, 1);
	assert_int_equal(s->ledger.lease_ns, 5000000000);
	assert_int_equal(s->ledger.promise, 50);
	assert_int_equal(s->ledger.drift_ppm, 1000);
	assert_false(s->ledger.ring);
	scenario_free(s);
	assert_int_equal(
		parse_scenario_text(
			"{" BASE "," TRAFFIC ",\"gossip\":{\"timeout\":\"9s\"}}", said, &s),
		0);
	assert_int_equal(s->ledger.lease_ns, 18000000000);
	scenario_free(s);
	assert_int_equal(
		parse_scenario_text(
			"{" BASE "," TRAFFIC
			",\"workers\":4,\"commit\":\"0s\",\"ledger\":{\"lease\":\"3s\",\"promise\":90,"
			"\"drift\":0,\"overlay\":{\"degree\":5}}}",
			said, &s),
		0);
	assert_int_equal(s->commit_ns, 0);
	assert_int_equal(s->n_workers, 4);
	assert_int_equal(s->ledger.lease_ns, 3000000000);
	assert_int_equal(s->ledger.promise, 90);
	assert_int_equal(s->ledger.drift_ppm, 0);
	assert_int_equal(s->ledger.degree, 5);
}

TEST(test_everything)
{
	ENDED_BY(scenario_free_at) struct scenario *s;
	char said[1024];

	assert_int_equal(
		parse_scenario_text(
			"{\"name\":\"x\",\"seed\":7,\"duration\":\"20s\",\"warmup\":\"2s\","
			"\"interval\":\"50ms\","
			"\"limiters\":[\"a\",{\"name\":\"b\",\"offset\":\"5s\",\"drift_ppm\":-20},"
			"\"c\"]," POLICY
			",\"network\":{\"distribution\":\"pareto\",\"loss\":0.1,\"rate\":\"1Mbit/s\"},"
			"\"events\":[{\"at\":\"1s\",\"partition\":[[\"a\"],[\"c\"]]},"
			"{\"at\":\"2s\",\"partition\":2},{\"at\":\"3s\",\"heal\":true},"
			"{\"at\":\"4s\",\"crash\":\"b\"},{\"at\":\"5s\",\"restart\":\"b\"},"
			"{\"at\":\"6s\",\"pause\":\"c\",\"for\":\"1s\"},"
			"{\"at\":\"7s\",\"network\":{\"loss\":0.5}}],"
			"\"traffic\":[{\"kind\":\"quic\",\"limiter\":\"each\",\"count\":2},"
			"{\"kind\":\"web\",\"limiter\":\"random\",\"requests\":3},"
			"{\"kind\":\"on-off\",\"limiter\":\"c\",\"rate\":\"1Mbit/s\",\"policy\":"
			"\"p\"}],\"expect\":{\"jain\":[0.5,1]}}",
			said, &s),
		0);
	assert_int_equal(s->limiters[1].offset_ns, 5000000000);
	assert_true(s->limiters[1].drift_ppm == -20);
	assert_int_equal(s->network.kind, DELAY_PARETO);
	assert_int_equal(s->faults[0].side[0], 1);
	assert_int_equal(s->faults[0].side[1], 0);
	assert_int_equal(s->faults[0].side[2], 2);
	assert_int_equal(s->faults[1].side[1], 1);
	assert_int_equal(s->faults[3].kind, FAULT_CRASH);
	assert_int_equal(s->faults[4].limiter, 1);
	assert_int_equal(s->faults[5].for_ns, 1000000000);
	assert_int_equal(s->faults[6].kind, FAULT_NETWORK);
	assert_true(s->faults[6].network.loss == 0.5);
	assert_int_equal(s->faults[6].network.kind, DELAY_PARETO);
	assert_int_equal(s->faults[6].network.rate_bps, 1000000);
	assert_int_equal(s->traffic[0].limiter, LIMITER_EACH);
	assert_int_equal(s->traffic[0].transport, TRANSPORT_QUIC);
	assert_int_equal(s->traffic[1].limiter, LIMITER_RANDOM);
	assert_int_equal(s->traffic[2].limiter, 2);
	assert_string_equal(s->expect[0].key, "jain");
}

#define WITH_TRAFFIC(members) "{" BASE ",\"traffic\":[{\"limiter\":\"l1\"," members "}]}"
#define WITH_LEDGER(members)  "{" BASE "," TRAFFIC ",\"ledger\":{" members "}}"
#define WITH_EVENT(members)   "{" BASE "," TRAFFIC ",\"events\":[{\"at\":\"1s\"" members "}]}"

#define WITH_TOTAL(members, more)                                                           \
	"{\"duration\":\"10s\",\"limiters\":2,\"policies\":[{\"name\":\"p\",\"allocator\":" \
	"\"quota\"" members "}]," TRAFFIC more "}"

/* Totals have the keys that a configuration's have. */
TEST(test_totals)
{
	ENDED_BY(scenario_free_at) struct scenario *s;
	char said[1024];

	assert_int_equal(parse_scenario_text(WITH_TOTAL(",\"total\":\"5M\",\"count\":\"packets\","
							"\"period\":\"24h\",\"limit\":\"10/s\"",
						     ",\"expect\":{\"spent_ratio\":[0,1]},"
						     "\"ledger\":{\"tree\":{\"degree\":3}}"),
				 said, &s),
		0);
	assert_true(policy_is_quota(&s->group.policies[0]));
	assert_int_equal(s->group.policies[0].total, 5000000);
	assert_int_equal(s->group.policies[0].period_ns, 86400000000000);
	assert_int_equal(s->group.policies[0].chunk, 2048);
	assert_int_equal(s->ledger.tree_degree, 3);
}

/* Wrong scenarios, and the places in their messages. */
TEST(test_refused)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"[]", "expected an object"},
		{"{" POLICY "," TRAFFIC ",\"limiters\":1}", "duration: missing"},
		{"{\"duration\":\"10s\"," POLICY "," TRAFFIC "}", "limiters: missing"},
		{"{" BASE "}", "traffic: missing"},
		{"{" BASE "," TRAFFIC ",\"limitters\":2}", "limitters: unknown key"},
		{"{" BASE "," TRAFFIC ",\"interval\":\"30ms\"}", "a part of 1s"},
		{"{" BASE "," TRAFFIC ",\"warmup\":\"10s\"}", "warmup: \"10s\": expected less"},
		{"{" BASE "," TRAFFIC ",\"workers\":0}", "workers: 0: expected"},
		{"{" BASE "," TRAFFIC ",\"workers\":65}", "workers: 65: expected"},
		{"{" BASE "," TRAFFIC ",\"network\":{\"loss\":2}}", "network.loss: 2"},
		{"{\"duration\":\"10s\",\"limiters\":[\"a\",\"a\"]," POLICY "," TRAFFIC "}",
			"limiters[1]: \"a\": expected each name once"},
		{"{\"duration\":\"10s\",\"limiters\":2,\"policies\":[{\"name\":\"p\",\"limit\":"
		 "\"10Mbit\"}]," TRAFFIC "}",
			"policies[0] \"p\".limit: \"10Mbit\": expected bit/s"},
		{WITH_TOTAL("", ""), "policies[0] \"p\".total: missing"},
		{WITH_TOTAL(",\"total\":\"1GB\",\"period\":\"week\"", ""),
			"policies[0] \"p\".period: \"week\""},
		{WITH_TOTAL(",\"total\":\"1GB\",\"limit\":\"1Mbit/s\"",
			 ",\"expect\":{\"aggregate_ratio\":[0,1]}"),
			"expect.aggregate_ratio: policies[0] limits no bytes"},
		{WITH_TOTAL(
			 ",\"total\":\"1GB\"", ",\"expect\":{\"sum_of_limits_max_ratio\":[0,1]}"),
			"expect.sum_of_limits_max_ratio: policies[0] has no limit"},
		{"{" BASE "," TRAFFIC ",\"expect\":{\"spent_ratio\":[0,1]}}",
			"expect.spent_ratio: policies[0] has no total"},
		{WITH_LEDGER("\"tree\":{\"degree\":1}"), "ledger.tree.degree: 1"},
		{"{\"duration\":\"10s\",\"limiters\":2,\"policies\":[{\"name\":\"p\",\"limit\":"
		 "\"1Mbit/s\",\"shape\":{\"delay\":\"50ms\"}}]," TRAFFIC "}",
			"policies[0] \"p\": \"shape"},
		{WITH_LEDGER("\"lease\":\"199ms\""), "ledger.lease: \"199ms\": expected 200ms"},
		{WITH_LEDGER("\"lease\":\"1s\""), "ledger.lease: \"1s\": expected more than the"},
		{WITH_LEDGER("\"promise\":101"), "ledger.promise: 101"},
		{WITH_LEDGER("\"store\":\"/x\""), "ledger.store: unknown key"},
		{WITH_LEDGER("\"overlay\":\"star\""),
			"ledger.overlay: \"star\": expected \"ring\""},
		{WITH_LEDGER("\"overlay\":{\"degree\":1}"), "ledger.overlay.degree: 1"},
		{WITH_TRAFFIC("\"kind\":\"udp\""), "traffic[0].kind: \"udp\""},
		{WITH_TRAFFIC("\"kind\":\"cbr\""), "traffic[0].rate: missing"},
		{WITH_TRAFFIC("\"kind\":\"web\""), "traffic[0].requests: missing"},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"rate\":\"1Mbit/s\""), "traffic[0].rate: has no"},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"rtt\":\"999ns\""), "traffic[0].rtt: \"999ns\""},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"size\":\"3001GiB\""),
			"traffic[0].size: \"3001GiB\": expected at most 3221225472000B"},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"start\":\"2s\",\"stop\":\"2s\""),
			"traffic[0].stop: \"2s\": expected later than the start"},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"bottleneck\":{\"queue\":\"9kB\"}"),
			"traffic[0].bottleneck.rate: missing"},
		{WITH_TRAFFIC("\"kind\":\"web\",\"requests\":1,\"sizes\":{\"most\":\"3001GiB\"}"),
			"traffic[0].sizes: expected most at most 3221225472000B"},
		{WITH_TRAFFIC("\"kind\":\"on-off\",\"rate\":\"1Mbit/s\",\"on\":\"99us\""),
			"traffic[0].on: \"99us\""},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"count\":600000},{\"limiter\":\"each\","
			      "\"kind\":\"tcp\",\"count\":200001"),
			"traffic: 1000002 flows in all"},
		{"{\"duration\":\"1h\",\"limiters\":16384," POLICY ",\"interval\":\"50ms\"," TRAFFIC
		 "}",
			"interval: \"50ms\": expected a longer one"},
		{"{\"duration\":\"10s\",\"limiters\":[\"each\"]," POLICY "," TRAFFIC "}",
			"limiters[0]: \"each\": expected a name"},
		{"{\"duration\":\"10s\",\"limiters\":1,\"policies\":[],\"traffic\":[]}",
			"policies: an empty array: expected at least one"},
		{"{\"duration\":\"10s\",\"limiters\":1,\"policies\":[{\"name\":\"p\",\"limit\":"
		 "\"9/s\",\"count\":\"packets\"}]," TRAFFIC
		 ",\"expect\":{\"aggregate_ratio\":[0,1]}}",
			"expect.aggregate_ratio: policies[0] limits no bytes"},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"policy\":\"q\""), "traffic[0].policy: \"q\""},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"packet\":\"12kB\""), "128B to 9000B"},
		{"{" BASE ",\"traffic\":[{\"kind\":\"tcp\",\"limiter\":\"l3\"}]}",
			"traffic[0].limiter: \"l3\""},
		{"{" BASE ",\"traffic\":[{\"kind\":\"tcp\"}]}", "traffic[0].limiter: missing"},
		{WITH_EVENT(""), "events[0]: an object: expected one of partition"},
		{WITH_EVENT(",\"heal\":true,\"crash\":\"l1\""), "events[0]: an object"},
		{WITH_EVENT(",\"crash\":\"l9\""), "events[0].crash: \"l9\""},
		{WITH_EVENT(",\"pause\":\"l1\""), "events[0].for: missing"},
		{WITH_EVENT(",\"crash\":\"l1\",\"for\":\"1s\""), "events[0].for: has no meaning"},
		{WITH_TRAFFIC("\"kind\":\"quic\",\"ecn\":true"), "traffic[0].ecn: has no meaning"},
		{WITH_TRAFFIC("\"kind\":\"tcp\",\"congestion\":\"bbr\",\"ecn\":true"),
			"traffic[0].ecn: needs congestion \"newreno\" or \"cubic\""},
		{WITH_TRAFFIC("\"kind\":\"poisson\""), "traffic[0].rate: missing: expected a rate"},
		{WITH_EVENT(",\"heal\":false"), "events[0].heal: false: expected true"},
		{WITH_EVENT(",\"heal\":false,\"crash\":\"l1\""),
			"events[0]: an object: expected one"},
		{WITH_EVENT(",\"network\":3"), "events[0].network: 3: expected an object"},
		{WITH_EVENT(",\"network\":{\"loss\":3}"), "events[0].network.loss: 3"},
		{WITH_EVENT(",\"network\":{\"pairs\":3}"), "network.pairs: 3: expected an array"},
		{WITH_EVENT(",\"network\":{\"pairs\":[{}]}"), "pairs[0].between: missing"},
		{WITH_EVENT(",\"network\":{\"pairs\":[{\"between\":[[\"l1\"]]}]}"),
			"network.pairs[0].between: an array: expected two arrays"},
		{WITH_EVENT(",\"network\":{\"pairs\":[{\"between\":[[\"l1\"],[\"x\"]]}]}"),
			"network.pairs[0].between[1][0]: \"x\""},
		{WITH_EVENT(",\"limit\":\"4Mbit\""), "events[0].limit: \"4Mbit\": expected"},
		{WITH_EVENT(",\"limit\":\"4Mbit/s\",\"policy\":\"q\""),
			"events[0].policy: \"q\": expected"},
		{WITH_EVENT(",\"limit\":\"4Mbit/s\",\"limiters\":[\"l9\"]"),
			"events[0].limiters[0]: \"l9\": expected"},
		{WITH_EVENT(",\"heal\":true,\"every\":\"1s\""),
			"events[0].every: requires \"limit\""},
		{WITH_EVENT(",\"partition\":3"), "events[0].partition: 3: expected 2 to 2"},
		{WITH_EVENT(",\"partition\":[[\"l1\",\"x\"]]"), "events[0].partition[0][1]: \"x\""},
		{"{" BASE "," TRAFFIC ",\"expect\":{\"beauty\":[0,1]}}", "expect.beauty: not a"},
		{"{" BASE "," TRAFFIC ",\"expect\":{\"jain\":[1,0]}}", "expect.jain: an array"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char said[1024] = "";
		struct scenario *s;

		assert_int_equal(parse_scenario_text(rows[i].text, said, &s), -EINVAL);
		assert_null(s);
		if (!strstr(said, rows[i].said))
			fail_msg("%s\nsaid %s\nnot %s", rows[i].text, said, rows[i].said);
	}
}
