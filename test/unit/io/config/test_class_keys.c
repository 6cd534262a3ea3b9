/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "classes" that share a limit: a number of classes by flow, or by DSCP with weights.
 */
#include "check.h"

#include "config_cases.h"

#include "config/load.h"

#define CLASSES(keys)  LIMITED(", 'meter': 'phantom', 'classes': {" keys "}")
#define WEIGHTS(pairs) CLASSES("'by': 'dscp', 'weights': {" pairs "}")

TEST(test_keys)
{
	static const struct config_case cases[] = {
		{CLASSES("'by': 'flow', 'n': 16"), ""},
		{CLASSES("'by': 'flow', 'n': 1024"), ""},
		{CLASSES("'by': 'flow', 'n': 8"), "p0.classes.n: classes_number"},
		{CLASSES("'by': 'flow', 'n': 2048"), "p0.classes.n: classes_number"},
		{CLASSES("'by': 'flow', 'n': 96"), "p0.classes.n: classes_number"},
		{CLASSES("'by': 'flow', 'n': 64.0"), "p0.classes.n: classes_number"},
		{CLASSES("'by': 'flow', 'n': '64'"), "p0.classes.n: classes_number"},
		{CLASSES("'n': 64"), "p0.classes.by: wrong_choice"},
		{CLASSES("'by': 'vlan'"), "p0.classes.by: wrong_choice"},
		{CLASSES("'by': 'dscp', 'n': 64"), "p0.classes.n: key_required: 'by': 'flow'"},
		{CLASSES("'by': 'flow', 'weights': {'ef': 2}"),
			"p0.classes.weights: key_required: 'by': 'dscp'"},
		{CLASSES("'by': 'dscp', 'weights': [2]"), "p0.classes.weights: weights_type"},
		{WEIGHTS("'note': 'n', '0': 1, '63': 100"), ""},
		{WEIGHTS("'note': 7"), "p0.classes.weights.note: note_type"},
		{WEIGHTS("'0': 0"), "p0.classes.weights.0: weight_range"},
		{WEIGHTS("'0': 101"), "p0.classes.weights.0: weight_range"},
		{WEIGHTS("'0': '4'"), "p0.classes.weights.0: weight_range"},
		{WEIGHTS("'64': 4"), "p0.classes.weights.64: not_dscp_key"},
		{WEIGHTS("'9': 4"), ""},
		{WEIGHTS("'9x': 4"), "p0.classes.weights.9x: not_dscp_key"},
		{WEIGHTS("'09': 4"), "p0.classes.weights.09: not_dscp_key"},
		{WEIGHTS("'-1': 4"), "p0.classes.weights.-1: not_dscp_key"},
		{WEIGHTS("'46': 4, 'ef': 4"), "p0.classes.weights.ef: weight_twice"},
		{0},
	};

	run_cases(cases);
}

TEST(test_values)
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

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config *config = must_parse(rows[i].document);
		const struct classes_config *classes = &config->policies[0].classes;

		assert_int_equal(classes->n, rows[i].n);
		assert_int_equal(classes->weights[0], rows[i].first);
		assert_int_equal(classes->weights[46], rows[i].best);
		assert_int_equal(classes->weights[63], 1);
		config_free(config);
	}
}
