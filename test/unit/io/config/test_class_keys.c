/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "classes" that share a limit: a number of classes by flow, or by DSCP with weights.
 */
#include "config_cases.h"

#include "config/load.h"

#define AT             "w.json:1: policies[0] 'p'.classes*"
#define CLASSES(keys)  LIMITED(", 'meter': 'phantom', 'classes': {" keys "}")
#define WEIGHTS(pairs) CLASSES("'by': 'dscp', 'weights': {" pairs "}")
#define POWER          "expected a power of two from 16 to 1024\n"
#define WEIGHT         "expected a whole number from 1 to 100\n"

static void test_keys(void **state)
{
	static const struct config_case cases[] = {
		{CLASSES("'by': 'flow', 'n': 16"), ""},
		{CLASSES("'by': 'flow', 'n': 1024"), ""},
		{CLASSES("'by': 'flow', 'n': 8"), AT "n: 8: " POWER},
		{CLASSES("'by': 'flow', 'n': 2048"), AT "n: 2048: " POWER},
		{CLASSES("'by': 'flow', 'n': 96"), AT "n: 96: " POWER},
		{CLASSES("'by': 'flow', 'n': 64.0"), AT "n: 64.0: " POWER},
		{CLASSES("'by': 'flow', 'n': '64'"), AT "n: '64': " POWER},
		{CLASSES("'n': 64"), AT "by: missing: expected 'flow' or 'dscp'\n"},
		{CLASSES("'by': 'vlan'"), AT "by: 'vlan': expected 'flow' or 'dscp'\n"},
		{CLASSES("'by': 'dscp', 'n': 64"), AT "*'n'*'by': 'flow'\n"},
		{CLASSES("'by': 'flow', 'weights': {'ef': 2}"), AT "*'weights'*'by': 'dscp'\n"},
		{CLASSES("'by': 'dscp', 'weights': [2]"),
			AT "weights: an array: expected an object such as {'46': 4, '0': 1}\n"},
		{WEIGHTS("'note': 'n', '0': 1, '63': 100"), ""},
		{WEIGHTS("'note': 7"),
			AT "weights.note: 7: expected a text, or an array of texts\n"},
		{WEIGHTS("'0': 0"), AT "weights.0: 0: " WEIGHT},
		{WEIGHTS("'0': 101"), AT "weights.0: 101: " WEIGHT},
		{WEIGHTS("'0': '4'"), AT "weights.0: '4': " WEIGHT},
		{WEIGHTS("'64': 4"), AT "weights.64: no DSCP: expected keys from '0' to '63', or "
					"names such as 'af41'\n"},
		{WEIGHTS("'9': 4"), ""},
		{WEIGHTS("'9x': 4"), AT "weights.9x: no DSCP: expected keys from '0' to '63', or "
					"names such as 'af41'\n"},
		{WEIGHTS("'09': 4"), AT "weights.09: no DSCP: expected keys from '0' to '63', or "
					"names such as 'af41'\n"},
		{WEIGHTS("'-1': 4"), AT "weights.-1: no DSCP: expected keys from '0' to '63', or "
					"names such as 'af41'\n"},
		{WEIGHTS("'46': 4, 'ef': 4"), AT "weights.ef: second weight*'ef' and '46'*\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_values(void **state)
{
	static const struct {
		const char *document;
		unsigned n, first, best; /* weights of DSCPs 0 and 46 */
	} rows[] = {
		{LIMITED(", 'meter': 'phantom'"), 64, 1, 1},
		{CLASSES("'by': 'flow'"), 64, 1, 1},
		{CLASSES("'by': 'flow', 'n': 32"), 32, 1, 1},
		{CLASSES("'by': 'dscp'"), 64, 1, 1},
		{WEIGHTS("'ef': 9"), 64, 1, 9},
		{WEIGHTS("'be': 7"), 64, 7, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *config = must_parse(rows[i].document);
		const struct classes_config *classes = &config->policies[0].classes;

		assert_int_equal(classes->n, rows[i].n);
		assert_int_equal(classes->weights[0], rows[i].first);
		assert_int_equal(classes->weights[46], rows[i].best);
		assert_int_equal(classes->weights[63], 1);
		config_free(config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
