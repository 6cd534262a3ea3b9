/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "etcd_world.h"

struct etcd {
	char nothing;
};

struct etcd_world etcd_world;
static struct etcd client;

int etcd_open(const struct etcd_params *params, struct etcd **out)
{
	snprintf(etcd_world.params, sizeof(etcd_world.params), "%u %s %s %s %u %u %s %s %s %s %s",
		params->n_endpoints, params->endpoints[0], params->prefix, params->limiter,
		(unsigned)params->epoch, params->timeout_ms,
		params->ca_file ? params->ca_file : "-",
		params->cert_file ? params->cert_file : "-",
		params->key_file ? params->key_file : "-", params->user ? params->user : "-",
		params->password_file ? params->password_file : "-");
	if (etcd_world.open_error)
		return etcd_world.open_error;
	etcd_world.opened++;
	*out = &client;
	return 0;
}

int etcd_password_check(const char *file, uid_t user, char why[ETCD_WHY_MAX])
{
	snprintf(why, ETCD_WHY_MAX, "no use of %.100s", file);
	return etcd_world.password_error;
}

void etcd_close(struct etcd *etcd)
{
	etcd_world.closed += etcd != NULL;
}

int etcd_draw(struct etcd *etcd, const struct etcd_draw *draw)
{
	assert_ptr_equal(etcd, &client);
	assert_true(etcd_world.n_draws < COUNT(etcd_world.draws));
	etcd_world.draws[etcd_world.n_draws++] = *draw;
	return etcd_world.draw_error;
}

int etcd_fd(const struct etcd *etcd)
{
	assert_ptr_equal(etcd, &client);
	return ETCD_WORLD_FD;
}

int etcd_answer(struct etcd *etcd, struct etcd_answer *answer)
{
	assert_ptr_equal(etcd, &client);
	if (etcd_world.n_answers == 0)
		return -EAGAIN;
	*answer = etcd_world.answers[--etcd_world.n_answers];
	return 0;
}

struct etcd_answer *etcd_world_add(const char *budget, uint64_t period, int result)
{
	struct etcd_answer *answer = &etcd_world.answers[etcd_world.n_answers++];

	*answer = (struct etcd_answer){.period = period, .result = result};
	snprintf(answer->budget, sizeof(answer->budget), "%s", budget);
	if (result)
		snprintf(answer->why, sizeof(answer->why), "error %d", -result);
	return answer;
}

void etcd_world_add_units(
	const char *budget, uint64_t period, uint64_t total, uint64_t drawn, uint64_t left)
{
	struct etcd_answer *answer = etcd_world_add(budget, period, 0);

	answer->total = total;
	answer->drawn = drawn;
	answer->left = left;
}
