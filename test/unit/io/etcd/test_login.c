/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The parts of a login to etcd: answers of every kind, and invalid password files.
 */
#include "check.h"

#include <sys/stat.h>

#include <sodium.h>

#include "etcd/login.h"

/* Bodies of etcd 3.4. */
TEST(test_refusals)
{
	static const struct {
		long status;
		const char *body;
		enum login_verdict verdict;
	} rows[] = {
		{400, "{\"error\":\"etcdserver: user name is empty\",\"code\":3}", LOGIN_NEEDED},
		{401, "{\"error\":\"etcdserver: invalid auth token\",\"code\":16}", LOGIN_NEEDED},
		{400, "{\"error\":\"etcdserver: revision of auth store is old\"}", LOGIN_NEEDED},
		{401, "", LOGIN_NEEDED},
		{400, "{\"error\":\"etcdserver: authentication failed, invalid user ID or password\"}",
			LOGIN_REFUSED},
		{403, "{\"error\":\"etcdserver: permission denied\",\"code\":7}", LOGIN_DENIED},
		{403, "go away", LOGIN_DENIED},
		{412, "{\"error\":\"etcdserver: authentication is not enabled\"}", LOGIN_OFF},
		{400, "{\"error\":\"etcdserver: too many operations\"}", LOGIN_FINE},
		{404, "404 page not found", LOGIN_FINE},
		{200, "invalid auth token", LOGIN_FINE},
		{503, "permission denied", LOGIN_FINE},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(
			login_interpret(rows[i].status, rows[i].body, strlen(rows[i].body)),
			rows[i].verdict);
	assert_int_equal(login_interpret(400, "invalid auth token", 17), LOGIN_FINE);
}

static void check_token(const char *answer, const char *expected)
{
	char token[LOGIN_TOKEN_MAX];

	assert_int_equal(login_token(answer, strlen(answer), token), expected[0] ? 0 : -EPROTO);
	assert_string_equal(token, expected);
}

TEST(test_tokens)
{
	char answer[LOGIN_TOKEN_MAX + 32], longest[LOGIN_TOKEN_MAX + 1];

	check_token("{\"header\":{},\"token\":\"abc.12\"}", "abc.12");
	check_token("{\"token\":\"\"}", "");
	check_token("{\"token\":7}", "");
	check_token("{}", "");
	check_token("[]", "");
	check_token("", "");
	check_token("{\"token\":\"a\",\"token\":\"b\"}", "");
	/* A token must not add a line to the header. */
	check_token("{\"token\":\"a\\r\\nX: y\"}", "");
	check_token("{\"token\":\"a b\"}", "");
	check_token("{\"token\":\"\xc3\xa9\"}", "");
	memset(longest, 'x', LOGIN_TOKEN_MAX);
	longest[LOGIN_TOKEN_MAX] = '\0';
	snprintf(answer, sizeof(answer), "{\"token\":\"%s\"}", longest);
	check_token(answer, "");
	longest[LOGIN_TOKEN_MAX - 1] = '\0';
	snprintf(answer, sizeof(answer), "{\"token\":\"%s\"}", longest);
	check_token(answer, longest);
}

static char password_path[] = "/tmp/weir-login-XXXXXX";

/* Checks the body for a file with this content, or the message. */
static void check_body(const void *content, size_t len, mode_t mode, const char *expected)
{
	FILE *file = fopen(password_path, "w");
	char why[ETCD_WHY_MAX] = "", *body;

	assert_non_null(file);
	assert_int_equal(fwrite(content, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(password_path, mode), 0);
	body = login_body("ed\"ge", password_path, geteuid(), why);
	if (body)
		assert_string_equal(body, expected);
	else
		assert_non_null(strstr(why, expected));
	assert_int_equal(body != NULL, expected[0] == '{');
	sodium_free(body);
}

#define X17            "xxxxxxxxxxxxxxxxx"
#define X51            X17 X17 X17
#define X255           X51 X51 X51 X51 X51
#define BODY(password) "{\"name\":\"ed\\\"ge\",\"password\":\"" password "\"}"

TEST(test_password_files)
{
	char most[300];
	int fd = mkstemp(password_path);

	close(fd);
	check_body("secret\n", 7, 0600, BODY("secret"));
	check_body("secret", 6, 0400, BODY("secret"));
	check_body("a \"b\\ c", 7, 0600, BODY("a \\\"b\\\\ c"));
	check_body("", 0, 0600, "1 to 255 bytes");
	check_body("\n", 1, 0600, "1 to 255 bytes");
	check_body("a\nb\n", 4, 0600, "control characters");
	check_body("a\0b", 3, 0600, "control characters");
	check_body("secret\n", 7, 0640, "expected mode 0600");
	check_body("secret\n", 7, 0602, "expected mode 0600");
	memset(most, 'x', sizeof(most));
	check_body(most, 256, 0600, "1 to 255 bytes");
	check_body(most, sizeof(most), 0600, "1 to 255 bytes");
	most[255] = '\n';
	check_body(most, 256, 0600, BODY(X255));
	check_body(most, 255, 0600, BODY(X255)); /* the last byte that fits */
	unlink(password_path);
}

TEST(test_what_is_no_file)
{
	char why[ETCD_WHY_MAX];

	assert_null(login_body("u", "/nowhere/password", geteuid(), why));
	assert_string_equal(why, "/nowhere/password: No such file or directory");
	assert_null(login_body("u", "/tmp", geteuid(), why));
	assert_string_equal(why, "/tmp: expected a file");
	assert_int_equal(mkfifo(password_path, 0600), 0);
	assert_null(
		login_body("u", password_path, geteuid(), why)); /* does not wait for a writer */
	assert_non_null(strstr(why, "expected a file"));
	unlink(password_path);
}

static int start_sodium(void **state)
{
	return sodium_init() < 0;
}

TEST_GROUP(start_sodium, NULL)
