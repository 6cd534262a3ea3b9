/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds the login to etcd (v3 authentication through its JSON gateway), and interprets the
 * answers.
 */
#include "etcd/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#define HTTP_UNAUTHORIZED 401
#define HTTP_FORBIDDEN    403
#define ESCAPED_MAX       2 /* bytes of JSON for each byte of a user or password */
#define FORM              "{\"name\":\"\",\"password\":\"\"}"

enum login_verdict login_interpret(long status, const char *answer, size_t len)
{
	static const struct {
		const char *words;
		enum login_verdict verdict;
	} signs[] = {
		{"authentication is not enabled", LOGIN_OFF},
		{"authentication failed", LOGIN_REFUSED},
		{"user name is empty", LOGIN_NEEDED},
		{"invalid auth token", LOGIN_NEEDED},
		{"revision of auth store is old", LOGIN_NEEDED},
		{"permission denied", LOGIN_DENIED},
	};

	if (status < 400 || status >= 500)
		return LOGIN_FINE;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (memmem(answer, len, signs[i].words, strlen(signs[i].words)))
			return signs[i].verdict;
	if (status == HTTP_UNAUTHORIZED)
		return LOGIN_NEEDED;
	return status == HTTP_FORBIDDEN ? LOGIN_DENIED : LOGIN_FINE;
}

static int complain_file(char why[ETCD_WHY_MAX], const char *file, const char *what)
{
	snprintf(why, ETCD_WHY_MAX, "%.120s: %s", file, what);
	return -EACCES;
}

static int check_password_file(int fd, const char *file, uid_t owner, char why[ETCD_WHY_MAX])
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return complain_file(why, file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return complain_file(why, file, "expected a file");
	if (st.st_uid != 0 && st.st_uid != owner)
		return complain_file(why, file,
			"another user owns it; expected root or the user that this runs as");
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return complain_file(why, file, "others may read it; expected mode 0600");
	return 0;
}

/* Checks for one line. The rest of `password` is zero. */
static int check_password(char *password, ssize_t n, const char *file, char why[ETCD_WHY_MAX])
{
	if (n < 0)
		return complain_file(why, file, strerror(errno));
	if (n > 0 && password[n - 1] == '\n')
		password[--n] = '\0';
	if (n == 0 || n >= LOGIN_PASSWORD_MAX)
		return complain_file(
			why, file, "expected a password of 1 to 255 bytes in one line");
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)password[i] < ' ' || password[i] == 0x7f)
			return complain_file(
				why, file, "expected one line without control characters");
	return 0;
}

/* password has room for two more bytes: a newline, and one that shows that it is too long. */
static int read_password(const char *file, uid_t owner, char *password, char why[ETCD_WHY_MAX])
{
	/* O_NONBLOCK, because opening a FIFO would wait for a writer. */
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return complain_file(why, file, strerror(errno));
	err = check_password_file(fd, file, owner, why);
	if (err == 0)
		err = check_password(
			password, read(fd, password, LOGIN_PASSWORD_MAX + 1), file, why);
	close(fd);
	return err;
}

/* Escapes a text without control characters. */
static char *append_escaped(char *at, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*at++ = '\\';
		*at++ = *text;
	}
	return at;
}

/* Does not use jansson, which would leave copies in memory. */
char *login_body(const char *user, const char *password_file, uid_t owner, char why[ETCD_WHY_MAX])
{
	char *password = sodium_malloc(LOGIN_PASSWORD_MAX + 2), *body = NULL;

	if (password) {
		sodium_memzero(password, LOGIN_PASSWORD_MAX + 2);
		if (read_password(password_file, owner, password, why) == 0)
			body = sodium_malloc(
				sizeof(FORM) + ESCAPED_MAX * (strlen(user) + strlen(password)));
	} else {
		complain_file(why, password_file, strerror(ENOMEM));
	}
	if (body) {
		char *at = stpcpy(body, "{\"name\":\"");

		at = stpcpy(append_escaped(at, user), "\",\"password\":\"");
		stpcpy(append_escaped(at, password), "\"}");
	}
	sodium_free(password);
	return body;
}

/* Checks a token, which becomes part of a header line. */
static bool token_valid(const char *token)
{
	size_t len = strlen(token);

	for (size_t i = 0; i < len; i++)
		if (token[i] <= ' ' || token[i] >= 0x7f)
			return false;
	return len > 0 && len < LOGIN_TOKEN_MAX;
}

int login_token(const char *answer, size_t len, char token[LOGIN_TOKEN_MAX])
{
	json_t *root = json_loadb(answer, len, JSON_REJECT_DUPLICATES, NULL);
	const char *text = json_string_value(json_object_get(root, "token"));
	bool valid = text && token_valid(text);

	token[0] = '\0';
	if (valid)
		memcpy(token, text, strlen(text) + 1);
	json_decref(root);
	return valid ? 0 : -EPROTO;
}
