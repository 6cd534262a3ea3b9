/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A configuration that enforces nothing: everything except its effect on packets remains.
 */
#include "check.h"
#include "scope.h"

#include "config_cases.h"

#include "config/load.h"
#include "policy/schedule.h"
#include "policy/trial.h"

END_POINTER(config_free, struct config *)

#define BOX "{'limiter': 'me', 'ports': {'a': {'device': 'net_null0'}}, "
#define ALL_POLICIES                                                             \
	"'policies': [{'name': 'drops', 'match': {'vlan': 1}, 'limit': "         \
	"'8Mbit/s', 'burst': '5kB'}, {'name': 'marks', 'match': {'vlan': 2}, "   \
	"'limit': '8Mbit/s', 'burst': '5kB', 'action': 'mark'}, {'name': "       \
	"'counts', 'match': {'vlan': 3}, 'limit': '8Mbit/s', 'burst': '5kB', "   \
	"'action': 'count'}, {'name': 'waits', 'match': {'vlan': 4}, 'limit': "  \
	"'8Mbit/s', 'burst': '5kB', 'action': 'shape', 'shape': {'delay': "      \
	"'10ms'}, 'trial': {'limit': '4Mbit/s'}, 'schedule': {'zone': 'UTC', "   \
	"'entries': [{'from': '08:00', 'to': '18:00', 'limit': '16Mbit/s'}]}}, " \
	"{'name': 'few', 'match': {'vlan': 5}, 'limit': '8Mbit/s', 'burst': "    \
	"'5kB', 'action': 'shape', 'shape': {'delay': '10ms', 'queue': '3kB'}}]}"

enum { DROPS, MARKS, COUNTS, WAITS, FEW };

/* 8 Mbit/s are 1 MB/s: 10 kB in 10 ms, and half and twice of that. */
TEST(test_policies)
{
	ENDED_BY(config_free_at)
	struct config *own = must_read(BOX ALL_POLICIES),
		      *shadow = must_read(BOX "'shadow': true, " ALL_POLICIES);
	const struct policy *a = own->policies, *b = shadow->policies;

	assert_false(own->shadow);
	assert_true(shadow->shadow);
	assert_int_equal(a[DROPS].action, ACTION_DROP);
	assert_int_equal(a[WAITS].action, ACTION_SHAPE);
	for (unsigned i = 0; i < shadow->n_policies; i++) {
		assert_int_equal(b[i].action, ACTION_COUNT);
		assert_int_equal(b[i].limit_bps, a[i].limit_bps);
		assert_ptr_equal(b[i].allocator, a[i].allocator);
	}
	assert_int_equal(b[DROPS].burst_bytes, 5000);
	assert_int_equal(b[MARKS].burst_bytes, 5000);
	assert_int_equal(b[COUNTS].burst_bytes, 5000);
	assert_int_equal(b[WAITS].burst_bytes, a[WAITS].burst_bytes + 10000);
	assert_int_equal(b[WAITS].schedule->entries[0].terms.burst_bytes,
		a[WAITS].schedule->entries[0].terms.burst_bytes + 20000);
	assert_int_equal(b[WAITS].trial.burst_bytes, a[WAITS].trial.burst_bytes + 5000);
	assert_int_equal(policy_trial(&b[WAITS]).burst_bytes, policy_trial(&a[WAITS]).burst_bytes);
	assert_int_equal(b[FEW].burst_bytes, 5000 + 3000);
}

TEST(test_unparsed)
{
	static const struct {
		const char *document;
		enum unparsed_action action;
	} cases[] = {
		{BOX "'unparsed': 'drop'}", UNPARSED_DROP},
		{BOX "'unparsed': 'drop', 'shadow': false}", UNPARSED_DROP},
		{BOX "'unparsed': 'drop', 'shadow': true}", UNPARSED_PASS},
		{BOX "'unparsed': 'strict', 'shadow': true}", UNPARSED_STRICT},
		{BOX "'shadow': true}", UNPARSED_STRICT},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config = must_read(cases[i].document);

		assert_int_equal(config_unparsed(config), cases[i].action);
		config_free(config);
	}
}

/* A shadow mode set by the command line stays, in the first file and in later ones. */
TEST(test_forced)
{
	struct config *running = must_read(BOX ALL_POLICIES),
		      *twice = must_read(BOX "'shadow': true, " ALL_POLICIES);
	ENDED_BY(free_at) char *text = with_quotes(BOX "'shadow': false, " ALL_POLICIES);
	json_t *document = json_loads(text, 0, NULL);
	struct config *later;

	config_force_shadow(running);
	config_force_shadow(twice);
	assert_int_equal(running->policies[DROPS].action, ACTION_COUNT);
	assert_int_equal(twice->policies[WAITS].burst_bytes, running->policies[WAITS].burst_bytes);
	assert_non_null(document);
	assert_int_equal(config_read_document(document, "later", running, stderr, &later), 0);
	assert_true(later->shadow && later->shadow_forced);
	assert_int_equal(later->policies[MARKS].action, ACTION_COUNT);
	config_free(later);
	running->shadow_forced = false;
	assert_int_equal(config_read_document(document, "later", running, stderr, &later), 0);
	assert_false(later->shadow);
	assert_int_equal(later->policies[MARKS].action, ACTION_MARK);
	config_free(later);
	config_free(running);
	config_free(twice);
	json_decref(document);
}
