/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Draws by a thread: allowed requests, and their answers. The test replaces HTTP, and releases
 * answers.
 */
#include "check.h"
#include "scope.h"

#include <poll.h>
#include <pthread.h>

#include "etcd/etcd.h"
#include "etcd/http.h"

END_POINTER(etcd_close, struct etcd *)

struct http {
	char nothing;
};

static struct {
	struct http http;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held; /* answers must wait */
	unsigned opened, closed, given_up;
	char fence[128]; /* written by the claim */
	char answer[512];
} web = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int http_open(const struct etcd_params *params, struct http **out)
{
	web.opened++;
	*out = &web.http;
	return 0;
}

void http_close(struct http *http)
{
	assert_ptr_equal(http, &web.http);
	web.closed++;
}

static void hold_answers(bool held)
{
	pthread_mutex_lock(&web.lock);
	web.held = held;
	pthread_cond_broadcast(&web.changed);
	pthread_mutex_unlock(&web.lock);
}

void http_give_up(struct http *http)
{
	hold_answers(false);
	web.given_up++;
}

bool http_given_up(const struct http *http)
{
	return false;
}

bool http_logged_in(const struct http *http)
{
	return true;
}

/* The fence has its claimed value, there are no other keys, and each transaction succeeds. */
int http_post(struct http *http, const char *path, const char *body, const char **answer,
	size_t *len, char why[ETCD_WHY_MAX])
{
	const char *put = strstr(body, "request_put"),
		   *value = put ? strstr(put, "\"value\":\"") : NULL;

	(void)http, (void)path, (void)why;
	pthread_mutex_lock(&web.lock);
	while (web.held)
		pthread_cond_wait(&web.changed, &web.lock);
	pthread_mutex_unlock(&web.lock);
	if (!web.fence[0] && value)
		snprintf(web.fence, sizeof(web.fence), "%.*s", (int)strcspn(value + 9, "\""),
			value + 9);
	snprintf(web.answer, sizeof(web.answer),
		"{\"header\":{},\"succeeded\":true,\"responses\":[{\"response_range\":{\"kvs\":["
		"{\"mod_revision\":\"1\",\"value\":\"%s\"}]}},{\"response_range\":{}},"
		"{\"response_range\":{}},{\"response_range\":{}}]}",
		web.fence);
	*answer = web.answer;
	*len = strlen(web.answer);
	return 0;
}

static struct etcd *open_web(void)
{
	static const char *const endpoints[] = {"http://here"};
	const struct etcd_params params = {.endpoints = endpoints,
		.n_endpoints = 1,
		.prefix = "/weir",
		.limiter = "a",
		.epoch = 1,
		.timeout_ms = 100};
	struct etcd *etcd = NULL;

	web.held = false;
	web.fence[0] = '\0';
	web.opened = web.closed = web.given_up = 0;
	assert_int_equal(etcd_open(&params, &etcd), 0);
	assert_int_equal(web.opened, 1);
	return etcd;
}

static int draw_of(struct etcd *etcd, const char *budget, uint64_t units)
{
	struct etcd_draw draw = {.period = 7, .total = 1000 + units, .units = units};

	memcpy(draw.budget, budget, strnlen(budget, sizeof(draw.budget)));
	return etcd_draw(etcd, &draw);
}

static bool readable_within(struct etcd *etcd, int ms)
{
	struct pollfd fd = {.fd = etcd_fd(etcd), .events = POLLIN};

	return poll(&fd, 1, ms) == 1;
}

static void expect_answer(struct etcd *etcd, const char *budget, uint64_t units, uint64_t drawn)
{
	struct etcd_answer answer;

	assert_true(readable_within(etcd, 60000));
	assert_int_equal(etcd_answer(etcd, &answer), 0);
	assert_int_equal(answer.result, 0);
	assert_string_equal(answer.budget, budget);
	assert_int_equal(answer.period, 7);
	assert_int_equal(answer.total, 1000 + units);
	assert_int_equal(answer.drawn, drawn);
	assert_int_equal(answer.left, 1000 + units - drawn);
	assert_true(answer.logged_in);
}

/* In the order of requests, one draw of a quota at a time. */
TEST(test_draws)
{
	struct etcd *etcd = open_web();
	struct etcd_answer answer;

	assert_int_equal(etcd_answer(etcd, &answer), -EAGAIN);
	hold_answers(true);
	assert_int_equal(draw_of(etcd, "b", 5), 0);
	assert_int_equal(draw_of(etcd, "c", 0), 0);
	assert_int_equal(draw_of(etcd, "b", 6), -EBUSY);
	assert_false(readable_within(etcd, 0));
	assert_int_equal(etcd_answer(etcd, &answer), -EAGAIN);
	hold_answers(false);
	expect_answer(etcd, "b", 5, 5);
	assert_int_equal(draw_of(etcd, "b", 8), 0); /* the previous answer has been fetched */
	expect_answer(etcd, "c", 0, 0);
	expect_answer(etcd, "b", 8, 5 + 8); /* more than the last answer */
	assert_false(readable_within(etcd, 0));
	assert_int_equal(etcd_answer(etcd, &answer), -EAGAIN);
	etcd_close(etcd);
	assert_int_equal(web.given_up, 1);
	assert_int_equal(web.closed, 1);
}

TEST(test_names)
{
	ENDED_BY(etcd_close_at) struct etcd *etcd = open_web();
	char name[ETCD_NAME_MAX + 1];

	memset(name, 'x', sizeof(name));
	name[ETCD_NAME_MAX] = '\0';
	assert_int_equal(draw_of(etcd, name, 1), -EINVAL);
	name[ETCD_NAME_MAX - 1] = '\0';
	assert_int_equal(draw_of(etcd, name, 1), 0);
	expect_answer(etcd, name, 1, 1);
	assert_int_equal(draw_of(etcd, "", 1), -EINVAL);
	assert_int_equal(draw_of(etcd, "/", 1), -EINVAL);
	assert_int_equal(draw_of(etcd, "a/", 1), -EINVAL);
}

/* The request in progress is given up, and its answer not waited for. */
TEST(test_closed)
{
	struct etcd *etcd = open_web();

	etcd_close(NULL);
	assert_int_equal(web.given_up, 0);
	hold_answers(true);
	assert_int_equal(draw_of(etcd, "b", 5), 0);
	etcd_close(etcd);
	assert_int_equal(web.given_up, 1);
	assert_int_equal(web.closed, 1);
}
