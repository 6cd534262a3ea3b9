/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A document of another kind, read with its own tables. A group in it is read with the tables of
 * the configuration. In the tables ' stands for " and * for any text within a line.
 */
#include "check.h"

#include "message_lines.h"

#include "allocate/allocate.h"
#include "config/group.h"
#include "config/value_keys.h"
#include "json/document.h"
#include "policy/units.h"

#define P "'policies': [{'name': 'p', 'limit': '10Mbit/s'}]"

struct play {
	char name[CONFIG_NAME_MAX];
	unsigned limiters;
	double loss;
	uint64_t delay_ns;
	struct group group;
};

static const struct key play_keys[] = {
	{"name", read_name, KEY_FIELD(struct play, name)},
	{"limiters", read_integer, KEY_FIELD(struct play, limiters),
		.detail = &(const struct integer_range){1, 100000}, .required = true},
	{"loss", read_real, KEY_FIELD(struct play, loss),
		.detail = &(const struct real_range){.max = 1}},
	{"delay", read_quantity, KEY_FIELD(struct play, delay_ns),
		.expected = "a time such as \"50ms\"",
		.detail = &(const struct quantity_range){units_parse_time, 0, 1000000000,
			"0s to 1s", "ns"}},
	{"policies", read_group_policies, KEY_FIELD(struct play, group)},
	{"gossip", read_group_gossip, KEY_FIELD(struct play, group)},
	{0},
};

struct read_case {
	const char *document;
	const char *messages;
};

static char *with_quotes(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	for (char *at = copy; *at != '\0'; at++)
		*at = *at == '\'' ? '"' : *at;
	return copy;
}

/* Reads a play, and ends the reader. */
static int read_play(struct reader *reader, struct play *play)
{
	*play = (struct play){0};
	group_init(reader, &play->group);
	read_keys(reader, NULL, reader->root, play_keys, play);
	group_check(reader, &play->group, play->limiters);
	return reader_finish(reader);
}

/* The messages have the file "w.json", which message_lines.h omits. */
static int parse_play(const char *document, char **messages, struct play *play)
{
	char *text = with_quotes(document);
	struct message_lines lines;
	struct reader reader;
	int rc = reader_open_text(
		&reader, text, strlen(text), "w.json", message_lines_begin(&lines));

	*play = (struct play){0};
	if (rc == 0)
		rc = read_play(&reader, play);
	*messages = message_lines_end(&lines);
	free(text);
	return rc;
}

static void run_cases(const struct read_case *cases)
{
	for (; cases->document != NULL; cases++) {
		char *messages;
		struct play play;
		int rc = parse_play(cases->document, &messages, &play);

		assert_lines(messages, cases->messages);
		if (rc != (*messages != '\0' ? -EINVAL : 0))
			fail_msg("%s\nrc %d", cases->document, rc);
		group_free(&play.group);
		free(messages);
	}
}

TEST(test_document)
{
	static const struct read_case cases[] = {
		{"{'limiters': 3, " P "}", ""},
		{"{'limiters': 1, 'name': 'x', 'loss': 0.5, 'delay': '20ms'}", ""},
		{"", "empty_document"},
		{" ", "empty_document"},
		{"\n\t\r ", "empty_document"},
		{"// nothing", "empty_document"},
		{"[]", "not_object"},
		{"{}", "limiters: integer_range: 1, 100000"},
		{"{'limiters': 1, 'los': 1}", "los: unknown_key: did you mean 'loss'?"},
		{"{'limiters': 1, 'limiters': 2}", "limiters: duplicate_key"},
		{"{'limiters': 1, 'loss': 1}", ""},
		{"{'limiters': 1, 'loss': 1.001, 'delay': '2s', 'name': ''}",
			"name: wrong_name\n"
			"loss: number_range: 0, 1\n"
			"delay: out_of_range: 0s to 1s"},
		{0},
	};

	run_cases(cases);
}

/* A group has the messages of a configuration, and no keys that need a network. */
TEST(test_group)
{
	static const struct read_case cases[] = {
		{"{'limiters': 2, 'policies': [{'name': 'p', 'limit': '10Mbit'}]}",
			"p0.limit: wrong_value: *did you mean '10Mbit/s'?"},
		{"{'limiters': 2, 'policies': [{'name': 'p', 'limit': '1Mbit/s', 'allocator': "
		 "'central'}]}",
			"p0.allocator: allocator_not_shared: 2"},
		{"{'limiters': 1, 'policies': [{'name': 'p', 'limit': '1Mbit/s', 'allocator': "
		 "'central'}]}",
			""},
		{"{'limiters': 2, 'policies': [{'name': 'p', 'limit': '1Mbit/s'}, {'name': 'p', "
		 "'limit': '1Mbit/s'}]}",
			"p1.name: not_unique: name, *policies[0] 'p' (w.json:1)"},
		{"{'limiters': 2, 'policies': [{'name': 'p', 'limit': '1Mbit/s'}, {'name': 'q', "
		 "'limit': '1Mbit/s', 'match': {'dst': '192.0.2.0/24'}}, {'name': 'r', 'limit': "
		 "'1Mbit/s'}]}",
			""},
		{"{'limiters': 2, " P
		 ", 'gossip': {'branching': 5, 'timeout': '2s', 'datagram': '512B'}}",
			""},
		{"{'limiters': 2, " P ", 'gossip': {'estimator': 'push-sum'}}", ""},
		{"{'limiters': 2, " P ", 'gossip': {'estimator': 'flow-updating'}}", ""},
		{"{'limiters': 2, " P ", 'gossip': {'estimator': 'pushsum'}}",
			"gossip.estimator: wrong_choice: *did you mean 'push-sum'?"},
		{"{'limiters': 2, " P ", 'gossip': {'estimator': 'push-sum', 'loans': 'soft'}}",
			"gossip.loans: key_required: 'estimator': 'state'"},
		{"{'limiters': 2, 'policies': [{'name': 'p', 'limit': '1Mbit/s', 'schedule': {'zone': "
		 "'UTC', 'entries': [{'from': '08:00', 'to': '18:00', 'limit': '2Mbit/s'}]}}]}",
			"p0.schedule: scenario_schedule"},
		/* The number of limiters has an error, so the group is not checked. */
		{"{'limiters': 0, 'policies': [{'name': 'p', 'limit': '1Mbit/s', 'per': 'src', "
		 "'allocator': 'fps'}], 'gossip': {'estimator': 'tree', 'loans': 'soft'}}",
			"limiters: integer_range: 1, 100000"},
		{"{'limiters': 2, " P
		 ", 'gossip': {'branching': 65, 'listen': '10.0.0.1:1', 'roster': "
		 "[], 'key_file': 'k', 'insecure': true}}",
			"gossip.listen: unknown_key: *see*\n"
			"gossip.roster: unknown_key: *see*\n"
			"gossip.key_file: unknown_key: *see*\n"
			"gossip.insecure: unknown_key: 'insecure' belongs in 'ledger.etcd'\n"
			"gossip.branching: integer_range: 1, 64"},
		{0},
	};

	run_cases(cases);
}

TEST(test_group_values)
{
	struct play play;
	char *messages;

	assert_int_equal(
		parse_play("{" P ", 'limiters': 7, 'loss': 0.25, 'delay': '1ms', 'gossip': "
			   "{'branching': 5}}",
			&messages, &play),
		0);
	assert_string_equal(messages, "");
	assert_float_equal(play.loss, 0.25, 0);
	assert_int_equal(play.delay_ns, 1000000);
	assert_int_equal(play.group.n_policies, 1);
	assert_string_equal(play.group.policies[0].allocator->name, "fps");
	assert_int_equal(play.group.policies[0].limit_bps, 10000000);
	assert_int_equal(play.group.policies[0].burst_bytes, 312500);
	assert_int_equal(play.group.gossip.n_roster, 7);
	assert_int_equal(play.group.gossip.branching, 5);
	assert_int_equal(play.group.gossip.timeout_ns, 1000000000);
	assert_int_equal(play.group.gossip.datagram_max, 1200);
	assert_int_equal(play.group.gossip.estimator, ESTIMATOR_STATE);
	group_free(&play.group);
	free(messages);
	assert_int_equal(parse_play("{" P ", 'limiters': 65}", &messages, &play), 0);
	assert_int_equal(play.group.gossip.estimator, ESTIMATOR_TREE);
	group_free(&play.group);
	free(messages);
}

TEST(test_load)
{
	static const char text[] = "{\"limiters\": 2, \"loss\": 0.125}";
	char path[] = "/tmp/weir-read-XXXXXX";
	struct reader reader;
	struct play play;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(reader_load(&reader, path, stderr), 0);
	assert_int_equal(read_play(&reader, &play), 0);
	assert_float_equal(play.loss, 0.125, 0);
	group_free(&play.group);
	unlink(path);
}

/* The largest file, and one byte more; the file is sparse. */
TEST(test_largest)
{
	char path[] = "/tmp/weir-read-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (unsigned more = 0; more < 2; more++) {
		struct document document = {0};

		assert_int_equal(ftruncate(fd, (off_t)READER_FILE_MAX + more), 0);
		assert_int_equal(document_read(&document, path, false), more ? -EFBIG : 0);
		assert_int_equal(document.len, READER_FILE_MAX + more);
		free(document.text);
	}
	close(fd);
	unlink(path);
}
