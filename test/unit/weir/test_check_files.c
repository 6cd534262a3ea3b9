/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * --check and --describe: their messages, the streams of these, and the return values.
 */
#include "check.h"
#include "scope.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <sodium.h>

#include "base/prng.h"
#include "check_files.h"
#include "config/describe.h"
#include "config/load.h"
#include "eal.h"
#include "members/members.h"

#define FILE_OF(more, policies)                                                      \
	"{" more "'limiter': 'test', 'workers': [0, 1], 'idle': 'sleep', 'ports': {" \
	"'a': {'device': 'net_null0'}, 'b': {'device': 'net_null1'}}, "              \
	"'wires': [{'name': 'w', 'a': 'a', 'b': 'b'}], 'policies': [" policies "]}"
#define GOOD   "{'name': 'a', 'match': {'vlan': 1, 'proto': 'udp'}, 'limit': '1Gbit/s'}"
#define OTHER  "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s'}"
#define WARNED "{'name': 'a', 'match': [{'proto': 'udp'}, {'proto': 'udp'}], 'limit': '1Gbit/s'}"
#define WRONG  "{'name': 'a', 'match': {'vlan': 1}, 'limit': '1Gbit'}"
#define KEYED                                                                   \
	"'gossip': {'listen': '127.0.0.1:7946', 'key_file': 'key', 'roster': [" \
	"{'name': 'test', 'address': '127.0.0.1:7946'}, "                       \
	"{'name': 'two', 'address': '127.0.0.2:7946'}, "                        \
	"{'name': 'three', 'address': '127.0.0.3:7946'}]}, "

#define HARD                                                                       \
	"{'name': 'h', 'match': {'vlan': 3}, 'limit': '1Gbit/s', 'burst': '2MB', " \
	"'guarantee': 'hard'}"
#define TOTALS "limiter test of 1; ports 2, wires 1, policies "

static char top[32];
static char out[65536], err[65536]; /* standard output and standard error */

static void put_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	for (; *text; text++)
		fputc(*text == '\'' ? '"' : *text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(name, 0600), 0);
}

static void take_file(const char *name, char *text, size_t room)
{
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	text[fread(text, 1, room - 1, file)] = '\0';
	fclose(file);
}

/* Redirects a descriptor to a file. Returns a copy of the old one. */
static int redirect(int fd, const char *name, int flags)
{
	int was = dup(fd), file = open(name, flags, 0600);

	assert_true(was >= 0 && file >= 0);
	dup2(file, fd);
	close(file);
	return was;
}

static void restore(int fd, int was)
{
	dup2(was, fd);
	close(was);
}

/* Runs on a file, or describes it if `options` is NULL. The file is also the standard input. */
static int run_on(const char *name, const struct check_options *options)
{
	int in, printed, complained, ret;

	fflush(stdout);
	in = redirect(STDIN_FILENO, "file", O_RDONLY);
	printed = redirect(STDOUT_FILENO, "out", O_WRONLY | O_CREAT | O_TRUNC);
	complained = redirect(STDERR_FILENO, "err", O_WRONLY | O_CREAT | O_TRUNC);
	ret = options ? check_config_file(name, options) : describe_config_file(name);
	fflush(stdout);
	restore(STDIN_FILENO, in);
	restore(STDOUT_FILENO, printed);
	restore(STDERR_FILENO, complained);
	clearerr(stdin);
	take_file("out", out, sizeof(out));
	take_file("err", err, sizeof(err));
	return ret;
}

static void expect_checked(
	struct check_options options, int ret, const char *printed, const char *complained)
{
	assert_int_equal(run_on("file", &options), ret);
	assert_string_equal(out, printed);
	assert_string_equal(err, complained);
}

#define TWICE "file:1: warning: policies[0] \"a\".match[1]: the policy has it twice\n"

/* A valid file is summed up on standard output, unless `quiet` is set. */
TEST(test_good)
{
	put_file("file", FILE_OF("", GOOD));
	expect_checked((struct check_options){0}, 0, "file: good: " TOTALS "1\n", "");
	expect_checked((struct check_options){.strict = true}, 0, "file: good: " TOTALS "1\n", "");
	expect_checked((struct check_options){.quiet = true}, 0, "", "");
	expect_checked((struct check_options){.json = true}, 0, "", "");
	put_file("file", FILE_OF("", GOOD ", " OTHER));
	expect_checked((struct check_options){0}, 0, "file: good: " TOTALS "2\n", "");
	assert_int_equal(run_on("-", &(struct check_options){0}), 0);
	assert_string_equal(out, "<stdin>: good: " TOTALS "2\n");
	assert_string_equal(err, "");
}

/* The sum has the number of files if there are several. */
TEST(test_included)
{
	put_file("part", "{'policies': [" OTHER "]}");
	put_file("file", FILE_OF("'include': 'part', ", GOOD));
	expect_checked((struct check_options){0}, 0, "file: good: " TOTALS "2, files 2\n", "");
}

/* A warning is printed and counted. With `strict` it is an error, which is always printed. */
TEST(test_warned)
{
	static const char refused[] = "file: refused: warnings are errors with --strict\n";
	char both[256];

	snprintf(both, sizeof(both), TWICE "%s", refused);
	put_file("file", FILE_OF("", WARNED));
	expect_checked(
		(struct check_options){0}, 0, "file: good: " TOTALS "1; warnings 1\n", TWICE);
	expect_checked((struct check_options){.quiet = true}, 0, "", "");
	expect_checked((struct check_options){.strict = true}, -EINVAL, "", both);
	expect_checked((struct check_options){.strict = true, .quiet = true}, -EINVAL, "", both);
	for (unsigned strict = 0; strict < 2; strict++) {
		const struct check_options json = {.json = true, .strict = strict};

		assert_int_equal(run_on("file", &json), strict ? -EINVAL : 0);
		assert_string_equal(err, "");
		assert_int_equal(out[0], '{');
		assert_non_null(strstr(out, "the policy has it twice"));
		assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1); /* one line */
	}
}

TEST(test_wrong)
{
	put_file("file", FILE_OF("", WRONG));
	for (unsigned quiet = 0; quiet < 2; quiet++) {
		const struct check_options options = {.quiet = quiet};

		assert_int_equal(run_on("file", &options), -EINVAL);
		assert_string_equal(out, "");
		assert_non_null(
			strstr(err, "file:1: policies[0] \"a\".limit: \"1Gbit\": expected"));
		assert_ptr_equal(strchr(err, '\n'), err + strlen(err) - 1);
	}
	assert_int_equal(run_on("file", &(struct check_options){.json = true}), -EINVAL);
	assert_string_equal(err, "");
	assert_non_null(strstr(out, "policies[0]"));
	assert_int_equal(run_on("file", NULL), -EINVAL);
	assert_string_equal(out, "");
	assert_non_null(strstr(err, "policies[0]"));
	assert_int_equal(run_on("none", &(struct check_options){0}), -ENOENT);
	assert_string_equal(out, "");
}

#define OF_KEY "file:1: gossip.key_file: key: "
#define ABSENT                                                                                 \
	"file:1: warning: gossip.key_file: \"key\": not on this machine, where a start would " \
	"fail: copy it from another limiter of the group; only for a new group: weir "         \
	"--new-key key\n"

/*
 * A missing key is a warning, because it can exist on another machine. An invalid key is an error.
 */
TEST(test_machine)
{
	put_file("file", FILE_OF(KEYED, GOOD));
	unlink("key");
	assert_int_equal(run_on("file", &(struct check_options){0}), 0);
	assert_string_equal(
		out, "file: good: limiter test of 3; ports 2, wires 1, policies 1; warnings 1\n");
	assert_string_equal(err, ABSENT);
	put_file("key", "none");
	assert_int_equal(run_on("file", &(struct check_options){0}), -EINVAL);
	assert_string_equal(out, "");
	assert_memory_equal(err, OF_KEY, strlen(OF_KEY));
	assert_null(strstr(err, "warning"));
	put_file("key", "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1\n");
	expect_checked((struct check_options){0}, 0,
		"file: good: limiter test of 3; ports 2, wires 1, policies 1\n", "");
}

/* The description has the configuration, followed by the arguments of EAL. */
TEST(test_described)
{
	struct config *config = NULL;
	ENDED_BY(free_at) char *text;
	size_t size, of_config;
	FILE *words = open_memstream(&text, &size);

	assert_non_null(words);
	put_file("file", FILE_OF("", GOOD));
	assert_int_equal(config_load("file", words, &config), 0);
	config_describe(config, words);
	fflush(words);
	of_config = size;
	eal_describe(config, words);
	fclose(words);
	assert_true(of_config > 0 && size > of_config);
	assert_int_equal(run_on("file", NULL), 0);
	assert_string_equal(out, text);
	assert_string_equal(err, "");
	config_free(config);
}

#define NOBODY 65534

/* Files that only root or this user can change, or the check refuses them. */
static const struct {
	const char *name;
	mode_t type;
	bool authored; /* its author can own it, because --check starts nothing */
} trusted[] = {
	{"file", 0600, true},
	{"part", 0600, true},
	{"parts", 0700, false},
	{"parts/one.json", 0600, true},
	{"store", 0700, false},
	{"store/records", 0600, false},
	{"store/records-journal", 0600, false},
};

/* Gives a random owner and random write permissions. Returns true if a start accepts the owner. */
static bool change_one(const char *name, mode_t *mode, struct prng *prng)
{
	bool ours = geteuid() != 0 || prng_below(prng, 4) != 0;

	if (prng_below(prng, 3) == 0)
		*mode |= prng_below(prng, 2) ? S_IWGRP : S_IWOTH;
	assert_int_equal(chmod(name, *mode), 0);
	assert_int_equal(ours ? 0 : chown(name, NOBODY, NOBODY), 0);
	return ours;
}

/* --check warns of the files of an author, because a start refuses them. */
TEST(test_trusted)
{
	struct prng prng;
	unsigned refused = 0;

	prng_seed(&prng, 1);
	put_file("part", "{'policies': [" OTHER "]}");
	assert_int_equal(mkdir("parts", 0700), 0);
	assert_int_equal(mkdir("store", 0700), 0);
	put_file("parts/one.json", "{'ledger': {'store': 'store'}}");
	put_file("store/records", "");
	put_file("store/records-journal", "");
	put_file("file", FILE_OF("'include': ['part', 'parts'], ", HARD));
	for (unsigned round = 0; round < ROUNDS(80); round++) {
		const unsigned at = prng_below(&prng, COUNT(trusted));
		const char *name = trusted[at].name;
		mode_t mode = trusted[at].type;
		bool ours = change_one(name, &mode, &prng);
		bool good = (ours || trusted[at].authored) && !(mode & (S_IWGRP | S_IWOTH));
		int ret = run_on("file", &(struct check_options){0});
		const char *warning = strstr(err, ": owned by user 65534: a start or a reload "
						  "refuses it: chown 0 ");

		if (trusted[at].authored && !warning == (good && !ours))
			fail_msg("round %u: %s: %s", round, name, err);
		if ((ret == 0) != good || (!good && !strstr(err, name)) ||
			(!good && !strstr(err, ": chmod go-w ") && !strstr(err, ": chown 0 ")))
			fail_msg("round %u: %s: %d, %s", round, name, ret, err);
		refused += !good;
		assert_int_equal(chown(name, geteuid(), getegid()), 0);
		assert_int_equal(chmod(name, trusted[at].type), 0);
	}
	assert_true(refused > 0);
	assert_int_equal(unlink("store/records"), 0);
	assert_int_equal(mkfifo("store/records", 0600), 0);
	assert_int_equal(run_on("file", &(struct check_options){.quiet = true}), -EINVAL);
	assert_non_null(strstr(err, "records is a link, a pipe or a device"));
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	put_file("file", "");
	assert_int_equal(run_on("fifo", &(struct check_options){.quiet = true}), -EMEDIUMTYPE);
	assert_non_null(strstr(err, "no regular file"));
}

/* The IDs of warnings that only --check has. */
TEST(test_ids)
{
	const struct check_options json = {.json = true, .strict = true};

	put_file("file", FILE_OF("", "{'name': 'a', 'limit': '1Gbit/s'}"));
	assert_int_equal(run_on("file", &json), -EINVAL);
	assert_non_null(strstr(out, "\"id\":\"routing_dropped\""));
	put_file("file", FILE_OF(KEYED, GOOD));
	unlink("key");
	assert_int_equal(run_on("file", &json), -EINVAL);
	assert_non_null(strstr(out, "\"id\":\"not_on_machine\""));
	put_file("file", FILE_OF("", GOOD));
	if (geteuid() == 0) {
		assert_int_equal(chown("file", NOBODY, NOBODY), 0);
		assert_int_equal(run_on("file", &json), -EINVAL);
		assert_non_null(strstr(out, "\"id\":\"file_untrusted\""));
	}
}

static int begin(void **state)
{
	strcpy(top, "/tmp/weir-check-XXXXXX");
	return sodium_init() < 0 || !mkdtemp(top) || chdir(top);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

/* States of a name in the state directory; and reports of a check, by the name in the file. */
enum kept { KEPT_NEVER, KEPT_SEEDED, KEPT_ADDED, KEPT_MOVED, KEPT_LEFT, KEPT_AGAIN, KEPTS };

static const struct {
	const char *named, *unnamed;
} differences[KEPTS] = {
	[KEPT_SEEDED] = {"", "member_missing"},
	[KEPT_ADDED] = {"", "member_missing"},
	[KEPT_MOVED] = {"member_moved", "member_missing"},
	[KEPT_LEFT] = {"member_ended", ""},
	[KEPT_AGAIN] = {"", "member_missing"},
};

static void keep_member(struct members *m, const char *name, uint8_t number, enum kept kept)
{
	const struct member_address address = {4, {127, 0, 0, number}, 7946};
	const struct member_address other = {4, {127, 0, 1, number}, 7946};

	if (kept == KEPT_SEEDED)
		assert_int_equal(members_seed(m, name, &other, NULL), 0); /* another file's */
	else if (kept != KEPT_NEVER)
		assert_int_equal(members_add(m, name, &address, NULL, 1), 0);
	if (kept == KEPT_MOVED)
		assert_int_equal(members_move(m, name, &other), 0);
	if (kept == KEPT_LEFT || kept == KEPT_AGAIN)
		assert_int_equal(members_remove(m, name, true), 0);
	if (kept == KEPT_AGAIN)
		assert_int_equal(members_add(m, name, &address, NULL, 2), 0);
}

static void put_members(const struct members *m, const char *name)
{
	size_t len = members_bytes(m);
	uint8_t *bytes = test_malloc(len);
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	members_encode(m, bytes);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	test_free(bytes);
}

static unsigned count_text(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

/* Random rosters and kept members: the check reports each difference, and nothing else. */
TEST(test_members)
{
	const char *const ids[] = {"member_missing", "member_ended", "member_moved"};
	struct prng prng;

	prng_seed(&prng, 17);
	assert_int_equal(mkdir("state", 0700), 0);
	for (unsigned round = 0; round < ROUNDS(100); round++) {
		char text[2048] = "'gossip': {'listen': '127.0.0.1:7946', 'insecure': true, "
				  "'roster': [{'name': 'test', 'address': '127.0.0.1:7946'}, "
				  "{'name': 'peer', 'address': '127.0.0.2:7946'}";
		char file[4096];
		unsigned expected[COUNT(ids)] = {0};
		struct members *m;

		assert_int_equal(members_create(&m), 0);
		keep_member(m, "test", 1, KEPT_SEEDED);
		keep_member(m, "peer", 2, KEPT_ADDED);
		for (uint8_t number = 3; number < 13; number++) {
			enum kept kept = (enum kept)prng_below(&prng, KEPTS);
			bool named = prng_below(&prng, 2);
			const char *difference = named ? differences[kept].named
						       : differences[kept].unnamed;
			char name[16];

			snprintf(name, sizeof(name), "m%u", number);
			keep_member(m, name, number, kept);
			if (named)
				snprintf(text + strlen(text), sizeof(text) - strlen(text),
					", {'name': '%s', 'address': '127.0.0.%u:7946'}", name,
					number);
			for (size_t i = 0; difference && i < COUNT(ids); i++)
				expected[i] += strcmp(difference, ids[i]) == 0;
		}
		put_members(m, "state/group");
		members_destroy(m);
		snprintf(file, sizeof(file),
			"{%s]}, 'limiter': 'test', 'workers': [0], 'idle': 'sleep', 'ports': {"
			"'a': {'device': 'net_null0'}, 'b': {'device': 'net_null1'}}, 'wires': "
			"[{'name': 'w', 'a': 'a', 'b': 'b'}], 'policies': [" GOOD "]}",
			text);
		put_file("file", file);
		assert_int_equal(
			run_on("file", &(struct check_options){.json = true, .state = "state"}), 0);
		for (size_t i = 0; i < COUNT(ids); i++) {
			char word[64];

			snprintf(word, sizeof(word), "\"id\":\"%s\"", ids[i]);
			if (count_text(out, word) != expected[i])
				fail_msg("round %u: %u of %s: %s", round, expected[i], word, out);
		}
	}
	/* Without members, or a directory, there is nothing to compare, and a warning. */
	put_file("state/group", "damaged");
	run_on("file", &(struct check_options){.json = true, .state = "state"});
	assert_int_equal(count_text(out, "\"id\":\"members_unreadable\""), 1);
	run_on("file", &(struct check_options){.json = true, .state = "nowhere"});
	assert_int_equal(count_text(out, "\"id\":\"members_unreadable\""), 1);
	assert_int_equal(unlink("state/group"), 0);
	run_on("file", &(struct check_options){.json = true, .state = "state"});
	assert_int_equal(count_text(out, "\"id\":\"member"), 0);
}

TEST_GROUP(begin, end)
