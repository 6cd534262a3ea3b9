/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is said to log in to etcd (v3 authentication through its JSON gateway), and what its answers
 * mean. The password is read anew for each login, so whoever changes it changes the file as well,
 * and nobody restarts. Any thread; no state.
 */
#ifndef WEIR_ETCD_LOGIN_H
#define WEIR_ETCD_LOGIN_H

#include <stddef.h>

#include <sys/types.h>

#include "etcd/request.h"

#define LOGIN_PATH         "/v3/auth/authenticate"
#define LOGIN_PASSWORD_MAX 256  /* bytes of a password, with a terminator */
#define LOGIN_TOKEN_MAX    4096 /* bytes of a token, with a terminator; JWTs are long */

enum login_verdict {
	LOGIN_FINE,    /* an answer that is about something else */
	LOGIN_NEEDED,  /* without a token, or with one that is not valid any more */
	LOGIN_REFUSED, /* the user, or the password */
	LOGIN_DENIED,  /* the user is known, and has no right to these keys */
	LOGIN_OFF,     /* authentication is not enabled there: everybody may do everything */
};

/* By the status, and the words of the body, which differ between versions less than the former. */
enum login_verdict login_judge(long status, const char *answer, size_t len);

/*
 * The body of a login: text of sodium_malloc(), for sodium_free(), or NULL, and `why` says what is
 * wrong with the file. It has to be a regular file of root or of `owner` that nobody else may read
 * or write: one line, without control characters, of at most LOGIN_PASSWORD_MAX - 1 bytes.
 */
char *login_body(const char *user, const char *password_file, uid_t owner, char why[ETCD_WHY_MAX]);

/* The token out of an answer: printable and without a space. 0, or -EPROTO and it is empty. */
int login_token(const char *answer, size_t len, char token[LOGIN_TOKEN_MAX]);

#endif
