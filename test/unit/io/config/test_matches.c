/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with several matches, and lists of prefixes in files: how they are parsed, the file and
 * line of an error, and the result. In files too ' stands for ".
 */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "config_cases.h"
#include "config/lists.h"
#include "json/line_list.h"
#include "config/compare.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "policy/value.h"

#define P(name, match) "{'name': '" name "', 'match': " match ", 'limit': '1Mbit/s'}"
#define FILE_OF(list)  "{'limiter': 'me', " PORTS WIRES ", 'policies': [" list "]}"

static int open_directory(void **state)
{
	char path[] = "/tmp/weir-lists-XXXXXX";

	if (mkdtemp(path) == NULL || chdir(path) < 0)
		return -1;
	*state = strdup(path);
	return mkdir("d", 0700);
}

static int close_directory(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "/bin/rm -r '%s'", (char *)*state);
	if (chdir("/") < 0)
		return -1;
	free(*state);
	return pclose(popen(command, "r"));
}

/*
 * Writes the text unchanged except for quotes, because lists have "@", which with_quotes()
 * replaces.
 */
static void write_file(const char *name, const char *text)
{
	FILE *out = fopen(name, "w");

	assert_non_null(out);
	for (; *text != '\0'; text++)
		fputc(*text == '\'' ? '"' : *text, out);
	fclose(out);
}

static char *load_document(const char *name, struct config **config, json_t **document)
{
	struct message_lines lines;
	struct config_load load = {.path = name, .document = document};

	load.diagnostics = message_lines_begin(&lines);
	config_load_with(&load, config);
	return message_lines_end(&lines);
}

static struct config *must_load(const char *name, const char *expected)
{
	struct config *config;
	char *messages = load_document(name, &config, NULL);

	assert_lines(messages, expected);
	assert_non_null(config);
	free(messages);
	return config;
}

static void expect_refused(const char *name, const char *words)
{
	struct config *config;
	char *messages = load_document(name, &config, NULL);

	assert_lines(messages, words);
	assert_null(config);
	free(messages);
}

/* Checks "SRC>DST" of each match, separated by spaces. */
static void expect_matches(const struct policy *policy, const char *expected)
{
	char found[1024] = "", src[PREFIX_TEXT_MAX], dst[PREFIX_TEXT_MAX];

	for (unsigned i = 0; i < policy_n_matches(policy); i++) {
		const struct match *match = policy_match(policy, i);
		size_t len = strlen(found);

		snprintf(found + len, sizeof(found) - len, "%s%s>%s", i > 0 ? " " : "",
			prefix_format(&match->src, src, sizeof(src)),
			prefix_format(&match->dst, dst, sizeof(dst)));
	}
	assert_string_equal(found, expected);
}

TEST(test_several)
{
	static const struct {
		const char *match, *expected;
	} rows[] = {
		{"{'src': '10.0.0.0/8'}", "10.0.0.0/8>any"},
		{"[{'src': '10.0.0.0/8'}]", "10.0.0.0/8>any"},
		{"[{'src': '10.0.0.0/8'}, {'dst': '10.0.0.0/8'}]", "10.0.0.0/8>any any>10.0.0.0/8"},
		{"{'src': ['10.0.0.0/8']}", "10.0.0.0/8>any"},
		{"{'src': ['10.0.0.0/8', '2001:db8::/32']}", "10.0.0.0/8>any 2001:db8::/32>any"},
		{"{'src': ['10.0.0.0/8', '2001:db8::/32'], 'dst': ['0.0.0.0/0', '::/0']}",
			"10.0.0.0/8>0.0.0.0/0 2001:db8::/32>::/0"},
		{"{'src': ['10.0.0.0/8', '2001:db8::/32'], 'dst': ['::/0', '11.0.0.0/8', "
		 "'12.0.0.0/8']}",
			"2001:db8::/32>::/0 10.0.0.0/8>11.0.0.0/8 10.0.0.0/8>12.0.0.0/8"},
		{"[{'vlan': 1}, {'vlan': 2}, {'src': ['10.0.0.0/8', '11.0.0.0/8'], 'vlan': 3}]",
			"any>any any>any 10.0.0.0/8>any 11.0.0.0/8>any"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char document[1024];
		struct config *config;

		snprintf(document, sizeof(document), FILE_OF(P("p", "%s")), rows[i].match);
		config = must_parse(document);
		expect_matches(&config->policies[0], rows[i].expected);
		config_free(config);
	}
}

/* A prefix without one of its family on the other side matches nothing, which is a warning. */
TEST(test_alone)
{
	static const struct {
		const char *match, *expected, *warnings;
	} rows[] = {
		{"{'src': ['10.0.0.0/8', '2001:db8::/32'], 'dst': '0.0.0.0/0'}",
			"10.0.0.0/8>0.0.0.0/0", "warning: p0.match.src[1]: prefix_alone: dst, 6"},
		{"[{'vlan': 1}, {'src': '::/0', 'dst': ['10.0.0.0/8', '::/0']}]",
			"any>any ::/0>::/0", "warning: p0.match[1].dst[0]: prefix_alone: src, 4"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char document[1024];
		struct config *config;

		snprintf(document, sizeof(document), FILE_OF(P("p", "%s")), rows[i].match);
		config = must_accept(document, rows[i].warnings);
		expect_matches(&config->policies[0], rows[i].expected);
		config_free(config);
	}
}

/* The required ports and wires of a policy are those of all its matches. */
TEST(test_any_of)
{
	static const struct {
		const char *match;
		bool ports, first;
		uint32_t paths;
	} rows[] = {
		{"[{'vlan': 1}, {'vlan': 2}]", false, false, UINT32_MAX},
		{"[{'vlan': 1}, {'vlan': 2, 'dst-port': 80}]", true, true, UINT32_MAX},
		{"[{'vlan': 1}, {'vlan': 2, 'src-port': 80}]", true, true, UINT32_MAX},
		{"[{'vlan': 1}, {'vlan': 2, 'proto': 'esp'}]", false, true, UINT32_MAX},
		{"{'wire': 'w'}", false, false, 3},
		{"{'wire': 'w', 'direction': 'b-to-a'}", false, false, 2},
		{"[{'wire': 'w', 'direction': 'b-to-a'}, {'wire': 'w', 'direction': 'a-to-b'}]",
			false, false, 3},
		{"[{'wire': 'w'}, {'direction': 'a-to-b'}]", false, false, 0x55555557},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char document[1024];
		struct config *config;

		snprintf(document, sizeof(document), FILE_OF(P("p", "%s")), rows[i].match);
		config = must_parse(document);
		assert_int_equal(policies_name_ports(config->policies, 1), rows[i].ports);
		assert_int_equal(policies_ask_first(config->policies, 1), rows[i].first);
		assert_int_equal(policy_paths(&config->policies[0]), rows[i].paths);
		for (unsigned wire = 0; wire < CONFIG_WIRES_MAX; wire++) {
			uint32_t paths = rows[i].paths >> 2 * wire & 3;

			assert_int_equal(policy_may_use(&config->policies[0], wire), paths != 0);
			assert_int_equal(
				policy_may_enter(&config->policies[0], wire, DIRECTION_A_TO_B),
				paths & 1);
			assert_int_equal(
				policy_may_enter(&config->policies[0], wire, DIRECTION_B_TO_A),
				paths >> 1);
		}
		config_free(config);
	}
}

TEST(test_refused)
{
	static const struct config_case cases[] = {
		{FILE_OF(P("p", "[]")), "p0.match: match_empty"},
		{FILE_OF(P("p", "[{}, 7]")), "p0.match[1]: not_object"},
		{FILE_OF(P("p", "{'src': []}")), "p0.match.src: prefixes_number: 2000000"},
		{FILE_OF(P("p", "[{'vlan': 1}, {'src': ['10.0.0.0/8', '10.0.0.1/8', 7]}]")),
			"p0.match[1].src[1]: prefix_host_bits: 10.0.0.0/8\n"
			"p0.match[1].src[2]: wrong_prefix"},
		{FILE_OF(P("p", "{'src': ['10.0.0.0/8', '11.0.0.0/8'], 'dst': ['::/0']}")),
			"p0.match: families_differ: 4, 6"},
		{FILE_OF(P("p", "[{'src': '10.0.0.0/8', 'dst': '::/0'}]")),
			"p0.match[0]: families_differ: 4, 6"},
		{FILE_OF(P("p", "[{'proto': 'icmp', 'dst-port': 1}]")),
			"p0.match[0].dst-port: ports_need_proto"},
		/* Two policies with one match: at the prefix, the object or the whole match. */
		{FILE_OF(P("a", "[{'vlan': 1}, {'vlan': 2}]") ", " P(
			 "b", "[{'vlan': 3}, {'vlan': 2}]")),
			"p1.match[1]: duplicate_match: policies[0] 'a' (w.json:1)"},
		{FILE_OF(P("a", "{'src': '10.0.0.0/8'}") ", " P("b", "{'src': ['11.0.0.0/8', "
								     "'10.0.0.0/8']}")),
			"p1.match.src[1]: duplicate_match: policies[0] 'a' (w.json:1)"},
		{FILE_OF(P("a", "{'src': '10.0.0.0/8', 'dst': '11.0.0.0/8'}") ", " P("b",
			 "[{'vlan': 5}, {'src': ['10.0.0.0/8', '::/0'], 'dst': ['12.0.0.0/8', "
			 "'::/0', '11.0.0.0/8']}]")),
			"p1.match[1].dst[2]: duplicate_match: policies[0] 'a' (w.json:1)"},
		{FILE_OF(P("a", "{'vlan': 2}") ", " P("b", "[{'vlan': 2}, {'vlan': 2}]")),
			"p1.match[0]: duplicate_match: policies[0] 'a' (w.json:1)\n"
			"p1.match[1]: duplicate_match: policies[0] 'a' (w.json:1)"},
		/* One policy may repeat a match. */
		{FILE_OF(P("a", "[{'vlan': 2}, {'vlan': 3}, {'vlan': 2}]")),
			"warning: p0.match[2]: match_repeated"},
		{0},
	};

	run_cases(cases);
}

static void put_prefixes(FILE *out, const char *side, unsigned n)
{
	fprintf(out, "\"%s\": [", side);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s\"10.%u.%u.0/24\"", i > 0 ? ", " : "", i >> 8, i & 255);
	fputs("]", out);
}

/* Makes policies with 2,000 sources and 500 `halves` destinations each, in two matches. */
static char *make_pairs(unsigned policies, unsigned halves, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	fputs("{\"limiter\": \"me\", \"policies\": [", out);
	for (unsigned i = 0; i < policies; i++) {
		fprintf(out,
			"%s{\"name\": \"p%u\", \"limit\": \"1Mbit/s\", \"match\": [{\"vlan\": 1}, {",
			i > 0 ? ", " : "", i);
		put_prefixes(out, "src", 2000);
		fputs(", ", out);
		put_prefixes(out, "dst", 500 * halves);
		fputs("}]}", out);
	}
	fputs("]}", out);
	fclose(out);
	return text;
}

/* Two million pairs are the maximum, over all objects of a policy and over all policies. */
TEST(test_too_many_pairs)
{
	size_t size;
	char *text = make_pairs(1, 2, &size);

	expect_messages(text, size, "p0.match[1]: pairs_too_many: 2000000, 2000001");
	free(text);
	text = make_pairs(2, 1, &size);
	expect_messages(text, size, "policies: matches_too_many: 2000000, 2000002");
	free(text);
}

/* A document from memory reads no files. */
TEST(test_no_file)
{
	static const struct config_case cases[] = {
		{MATCH("'src': '@/etc/hosts'"), "p0.match.src: list_not_in_file"},
		{0},
	};

	run_cases(cases);
}

TEST(test_lists)
{
	struct config *config;

	write_file("d/c.txt", "\xef\xbb\xbf# all of it\n\n10.0.0.0/8\r\n \t2001:db8::/32 # six\n#\n"
			      " \n\t\n \f \v \n# \n"
			      "11.0.0.0/8");
	write_file("w.json",
		FILE_OF(P("p", "[{'direction': 'a-to-b', 'src': '@d/c.txt'}, {'direction': "
			       "'b-to-a', 'dst': '@d/c.txt'}]")));
	config = must_load("w.json", "");
	expect_matches(&config->policies[0], "10.0.0.0/8>any 2001:db8::/32>any 11.0.0.0/8>any "
					     "any>10.0.0.0/8 any>2001:db8::/32 any>11.0.0.0/8");
	assert_int_equal(policy_paths(&config->policies[0]), UINT32_MAX);
	config_free(config);
	/* Relative to the file that contains the name. */
	write_file("d/x.json", "{'policies': [" P("p", "{'src': '@c.txt'}") "]}");
	write_file("w.json", "{'limiter': 'me', " PORTS WIRES ", 'include': 'd/x.json'}");
	config = must_load("w.json", "");
	expect_matches(&config->policies[0], "10.0.0.0/8>any 2001:db8::/32>any 11.0.0.0/8>any");
	config_free(config);
}

TEST(test_bad_lists)
{
	write_file("w.json", FILE_OF("\n" P("a", "{'src': '@c.txt'}") ",\n" P("b", "{'src': "
										   "'@d/d.txt'}")));
	write_file("d/d.txt", "12.0.0.0/8\n");
	unlink("c.txt");
	expect_refused("w.json",
		"2: p0.match.src: list_unreadable: prefixes, No such file or directory, c.txt");
	assert_int_equal(mkfifo("c.txt", 0600), 0);
	expect_refused("w.json", "2: p0.match.src: list_not_regular: prefixes, c.txt");
	unlink("c.txt");
	assert_int_equal(mkdir("c.txt", 0700), 0);
	expect_refused(
		"w.json", "2: p0.match.src: list_unreadable: prefixes, Is a directory, c.txt");
	rmdir("c.txt");
	write_file("c.txt", "# nobody\n\n");
	expect_refused("w.json", "c.txt: p0.match.src: list_empty: prefixes");
	write_file("c.txt", "\xef\xbb\xbf");
	expect_refused("w.json", "c.txt: p0.match.src: list_empty: prefixes");
	write_file("c.txt", "~ ~\n\x7f\n10.0.0.0/8\x1f\n10.0.0.0/8 \t\n\xef\xbb");
	expect_refused("w.json", "c.txt:2: p0.match.src: line_not_text\n"
				 "c.txt:3: p0.match.src: line_not_text\n"
				 "c.txt:5: p0.match.src: line_not_text\n"
				 "c.txt:1: p0.match.src[0]: wrong_prefix");
	write_file("c.txt", "10.0.0.0/8\n10.0.0.1/8\n\x80\n\n10.1.1.1\n");
	expect_refused("w.json",
		"c.txt:3: p0.match.src: line_not_text\n"
		"c.txt:2: p0.match.src[1]: prefix_host_bits: 10.0.0.0/8\n"
		"c.txt:5: p0.match.src[2]: wrong_prefix: did you mean '10.1.1.1/32'?");
	write_file("c.txt", "# a\n13.0.0.0/8\n12.0.0.0/8\n");
	expect_refused("w.json",
		"d/d.txt:1: p1.match.src[0]: duplicate_match: policies[0] 'a' (w.json:2)");
	assert_int_equal(truncate("c.txt", 64 << 20), 0);
	expect_refused("w.json",
		"c.txt:4: p0.match.src: line_not_text\n"
		"d/d.txt:1: p1.match.src[0]: duplicate_match: policies[0] 'a' (w.json:2)");
	assert_int_equal(truncate("c.txt", (64 << 20) + 1), 0);
	expect_refused("w.json", "2: p0.match.src: list_too_large: 64, prefixes, 256, c.txt");
	write_file("w.json", FILE_OF(P("a", "{'src': '@'}")));
	expect_refused("w.json", "p0.match.src: list_path: prefixes");
}

/* A prefix and a comment to the end of a sparse file. */
static void write_large_list(const char *name, unsigned i, off_t bytes)
{
	char line[32];

	snprintf(line, sizeof(line), "10.%u.0.0/16 #", i);
	write_file(name, line);
	assert_int_equal(truncate(name, bytes), 0);
}

/* The total size of all files has the same maximum as a document. */
TEST(test_large_lists)
{
	const off_t most = 64 << 20;
	struct config *config;

	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "d/%u.txt", i);
		write_large_list(name, i, i < 3 ? most : most - 20);
	}
	write_large_list("d/4.txt", 4, 20);
	write_file("w.json",
		FILE_OF(P("a", "[{'src': '@d/0.txt'}, {'src': '@d/1.txt'}, {'src': '@d/2.txt'}, "
			       "{'src': '@d/3.txt'}, {'src': '@d/4.txt'}]")));
	config = must_load("w.json", "");
	assert_int_equal(policy_n_matches(&config->policies[0]), 5);
	config_free(config);
	write_large_list("d/4.txt", 4, 21);
	expect_refused("w.json", "p0.match[4].src: list_too_large: 64, prefixes, 256, d/4.txt");
}

/* A list with an error has one message, and each list is read once. */
TEST(test_many_lists)
{
	enum { LISTS = 40 };
	char document[8192], *at = document, name[16], line[32];
	struct config *config;

	write_file("c.txt", "\x80\n");
	write_file(
		"w.json", FILE_OF(P("a", "{'src': '@c.txt'}") ",\n" P("b", "{'dst': '@c.txt'}")));
	expect_refused("w.json", "c.txt:1: p0.match.src: line_not_text\n"
				 "c.txt: p0.match.src: list_empty: prefixes");
	for (unsigned i = 0; i < 2 * LISTS; i++) {
		snprintf(name, sizeof(name), "d/%u.txt", i % LISTS);
		snprintf(line, sizeof(line), "10.%u.0.0/16\n", i % LISTS);
		write_file(name, line);
		at += sprintf(at, "%s{'direction': '%s', 'src': '@%s'}", i > 0 ? ", " : "",
			i < LISTS ? "a-to-b" : "b-to-a", name);
	}
	at = test_malloc(2 * sizeof(document));
	snprintf(at, 2 * sizeof(document),
		"{'limiter': 'me', " PORTS WIRES
		", 'policies': [{'name': 'p', 'limit': '10Mbit/s', "
		"'match': [%s]}]}",
		document);
	write_file("w.json", at);
	test_free(at);
	config = must_load("w.json", "");
	assert_int_equal(policy_n_matches(&config->policies[0]), 2 * LISTS);
	for (unsigned i = 0; i < 2 * LISTS; i++) {
		const struct match *match = policy_match(&config->policies[0], i);

		assert_int_equal(match->direction, i < LISTS ? DIRECTION_A_TO_B : DIRECTION_B_TO_A);
		prefix_format(&match->src, line, sizeof(line));
		snprintf(name, sizeof(name), "10.%u.0.0/16", i % LISTS);
		assert_string_equal(line, name);
	}
	config_free(config);
}

/* The number of reported bad lines has the same maximum as in any document. */
TEST(test_many_bad_lines)
{
	static const char bad[4][4] = {"\x80 \n", " \0\n", "\0 \n", "\0a\n"};
	char *said;
	size_t size;
	FILE *out = open_memstream(&said, &size);

	assert_non_null(out);
	for (unsigned i = 1; i <= 20; i++)
		fprintf(out, "c.txt:%u: p0.match.src: line_not_text\n", i);
	fputs("more_errors: 2, s, 22", out);
	fclose(out);
	out = fopen("c.txt", "w");
	assert_non_null(out);
	for (unsigned i = 1; i <= 22; i++)
		fwrite(bad[i % 4], 1, 3, out);
	fputs("10.0.0.0/8\n", out);
	fclose(out);
	write_file("w.json", FILE_OF(P("a", "{'src': '@c.txt'}")));
	expect_refused("w.json", said);
	free(said);
}

/* The last of very many lines also has its number in a message. */
TEST(test_long_list)
{
	enum { LINES = 60000 };
	FILE *out = fopen("c.txt", "w");

	assert_non_null(out);
	for (unsigned i = 0; i < LINES; i++)
		fprintf(out, "10.%u.%u.0/24\n", i >> 8, i & 255);
	fputs("10.0.0.1/8", out);
	fclose(out);
	write_file("w.json", FILE_OF(P("a", "{'src': '@c.txt'}")));
	expect_refused("w.json", "c.txt:60001: p0.match.src[60000]: prefix_host_bits: 10.0.0.0/8");
}

TEST(test_twice)
{
	struct config *config;

	write_file("c.txt", "10.0.0.0/8\n11.0.0.0/8\n\n10.0.0.0/8\n");
	write_file("w.json", FILE_OF(P("a", "{'src': '@c.txt'}")));
	config = must_load("w.json", "c.txt:4: warning: p0.match.src[2]: match_repeated");
	config_free(config);
}

/* A changed list is a changed match, even if the file with its name is unchanged. */
TEST(test_changed)
{
	struct config *before, *same, *after;
	struct config_diff *diff;

	write_file("w.json", FILE_OF(P("a", "{'src': '@c.txt'}") ", " P("b", "{'vlan': 1}")));
	write_file("c.txt", "10.0.0.0/8\n");
	before = must_load("w.json", "");
	write_file("c.txt", "# the same\n10.0.0.0/8\n");
	same = must_load("w.json", "");
	write_file("c.txt", "10.0.0.0/8\n11.0.0.0/8\n");
	after = must_load("w.json", "");
	assert_int_equal(config_diff(before, same, "w.json", stderr, &diff), 0);
	assert_int_equal(diff->changed, 0);
	config_diff_free(diff);
	assert_int_equal(config_diff(before, after, "w.json", stderr, &diff), 0);
	assert_int_equal(diff->changed, 1);
	assert_int_equal(diff->changes[0], POLICY_MATCH);
	assert_int_equal(diff->changes[1], 0);
	config_diff_free(diff);
	config_free(before);
	config_free(same);
	config_free(after);
}

/* If a file was written after it was read, all files are read again. */
TEST(test_written)
{
	struct diagnostics diagnostics;
	struct reader reader;

	write_file("w.json", FILE_OF(P("a", "{'src': '@c.txt'}")));
	for (unsigned which = 0; which < 3; which++) {
		write_file("c.txt", "10.0.0.0/8\n");
		diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
		assert_int_equal(reader_open(&reader, "w.json", &diagnostics), 0);
		assert_int_equal(lists_expand(&reader), 0);
		assert_true(reader_is_up_to_date(&reader));
		if (which == 0)
			write_file("c.txt", "10.0.0.0/8\n11.0.0.0/8\n");
		else if (which == 1)
			unlink("c.txt");
		else
			write_file("w.json", FILE_OF(P("b", "{'src': '@c.txt'}")) " ");
		assert_false(reader_is_up_to_date(&reader));
		assert_int_equal(lists_expand(&reader), -EAGAIN);
		assert_int_equal(reader_finish(&reader), 0);
	}
}

/* The kept document has the prefixes of the list. */
TEST(test_kept)
{
	struct config *config, *again;
	json_t *document = NULL;
	char *messages;

	write_file("c.txt", "10.0.0.0/8\n2001:db8::/32\n");
	write_file("w.json", FILE_OF(P("a", "{'src': '@c.txt'}")));
	messages = load_document("w.json", &config, &document);
	assert_non_null(document);
	unlink("c.txt");
	assert_int_equal(config_read_document(document, "kept", NULL, stderr, &again), 0);
	assert_true(policy_matches_equal(&config->policies[0], &again->policies[0]));
	expect_matches(&again->policies[0], "10.0.0.0/8>any 2001:db8::/32>any");
	json_decref(document);
	config_free(config);
	config_free(again);
	free(messages);
}

/* Keys of an edit of weirctl, the result (NULL: none), and the messages. */
static void expect_edit(const char *keys, const char *expected, const char *words)
{
	char *quoted = with_quotes(expected ? expected : ""), *said;
	json_t *edit, *after;
	size_t size;
	FILE *err = open_memstream(&said, &size);
	char document[512];

	snprintf(document, sizeof(document), "{'do': 'set', 'name': 'p', 'keys': %s}", keys);
	for (char *quote = document; (quote = strchr(quote, '\'')) != NULL;)
		*quote = '"';
	edit = json_loads(document, 0, NULL);
	assert_non_null(edit);
	after = expected ? json_loads(quoted, 0, NULL)
			 : json_deep_copy(json_object_get(edit, "keys"));
	assert_int_equal(lists_expand_edit(edit, err), *words == '\0' ? 0 : -EINVAL);
	fclose(err);
	for (char *quote = said; (quote = strchr(quote, '"')) != NULL;)
		*quote = '\'';
	assert_string_equal(said, words);
	if (*words == '\0' && !json_equal(json_object_get(edit, "keys"), after))
		fail_msg("%s", json_dumps(edit, 0));
	json_decref(edit);
	json_decref(after);
	free(said);
	free(quoted);
}

/* The limiter reports missing keys; the list adds no message. */
TEST(test_edit_of_nobody)
{
	json_t *edit = json_pack("{s:s, s:{s:s}}", "do", "set", "keys", "match.src", "@none.txt");
	char *said;
	size_t size;
	FILE *err = open_memstream(&said, &size);

	assert_int_equal(lists_expand_edit(edit, err), 0);
	fclose(err);
	assert_string_equal(said, "");
	json_decref(edit);
	free(said);
}

#define BOTH "['10.0.0.0/8', '::/0']"

TEST(test_edit)
{
	write_file("c.txt", "10.0.0.0/8 # a\n::/0\n");
	write_file("bad.txt", "10.0.0.0/8\n10.0.0.1/8\n");
	unlink("none.txt");
	expect_edit("{'limit': '1Mbit/s'}", "{'limit': '1Mbit/s'}", "");
	expect_edit("{'match.src': '10.0.0.0/8', 'match': null}",
		"{'match.src': '10.0.0.0/8', 'match': null}", "");
	expect_edit(
		"{'match.src': '@c.txt', 'limit': 7}", "{'match.src': " BOTH ", 'limit': 7}", "");
	expect_edit("{'match.dst': '@c.txt'}", "{'match.dst': " BOTH "}", "");
	/* A list is not in another one. */
	expect_edit("{'match.dst': ['@c.txt']}", NULL, "");
	expect_edit("{'match': {'vlan': 1, 'src': '@c.txt'}}",
		"{'match': {'vlan': 1, 'src': " BOTH "}}", "");
	expect_edit("{'match': [{'vlan': 1}, {'dst': '@c.txt'}]}",
		"{'match': [{'vlan': 1}, {'dst': " BOTH "}]}", "");
	expect_edit("{'match.src': '@none.txt'}", "{}",
		"weirctl:1: policies[0] 'p'.match.src: none.txt: expected a file of prefixes: No "
		"such file or directory\n");
	expect_edit("{'match.src': '@bad.txt'}", "{}",
		"bad.txt:2: policies[0] 'p'.match.src[1]: '10.0.0.1/8': expected no host bits, as in "
		"'10.0.0.0/8'\n");
	expect_edit("{'match': [{'vlan': 1}, {'dst': '@bad.txt'}]}", "{}",
		"bad.txt:2: policies[0] 'p'.match[1].dst[1]: '10.0.0.1/8': expected no host bits, as "
		"in '10.0.0.0/8'\n");
}

TEST_GROUP(open_directory, close_directory)
