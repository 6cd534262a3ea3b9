/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds the login to etcd (v3 authentication through its JSON gateway), and interprets the
 * answers. The password is read again for each login. So after a change of the password in etcd and
 * in the file, no restart is necessary. Any thread; no state.
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
	LOGIN_FINE,    /* another subject than the login */
	LOGIN_NEEDED,  /* no token, or one that is no longer valid */
	LOGIN_REFUSED, /* wrong user or password */
	LOGIN_DENIED,  /* the user has no right to these keys */
	LOGIN_OFF,     /* authentication is not enabled: no restrictions */
};

/*
 * Interprets the status and the words of the body. The words differ less between versions than the
 * status.
 */
enum login_verdict login_interpret(long status, const char *answer, size_t len);

/*
 * Returns the body of a login in memory of sodium_malloc(), for sodium_free(); or NULL, with the
 * problem of the file in `why`. The file must be a regular file of root or `owner` that no other
 * user can read or write. It has one line, without control characters, of at most
 * LOGIN_PASSWORD_MAX - 1 bytes.
 */
char *login_body(const char *user, const char *password_file, uid_t owner, char why[ETCD_WHY_MAX]);

/*
 * Reads the token from an answer: printable and without a space. Returns 0, or -EPROTO with an
 * empty token.
 */
int login_token(const char *answer, size_t len, char token[LOGIN_TOKEN_MAX]);

#endif
