/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas in etcd ("ledger.etcd").
 */
#include "etcd_share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "base/math.h"
#include "instance.h"
#include "base/time.h"
#include "etcd/etcd.h"
#include "event.h"
#include "policy/period.h"
#include "credits.h"
#include "commit.h"

#define AHEAD_S   10   /* seconds that drawn units last */
#define PACE_UNIT 1000 /* unit of the rates of lib/control/quota */

#define PART_OF_TOTAL 100
#define PART_OF_LEFT  8

/* Part of the stock that must be spent before the next draw. */
#define PART_GONE 4

uint64_t etcd_share_stock(const struct etcd_share_need *need)
{
	uint64_t ahead = need->pace / PACE_UNIT;

	ahead = ahead < UINT64_MAX / AHEAD_S ? ahead * AHEAD_S : UINT64_MAX;
	ahead = min_u64(max_u64(ahead, need->chunk), need->total / PART_OF_TOTAL);
	return max_u64(min_u64(ahead, need->left / PART_OF_LEFT), need->packet);
}

uint64_t share_size(const struct etcd_share_need *need)
{
	uint64_t stock = etcd_share_stock(need);

	return need->held <= stock - stock / PART_GONE ? stock - need->held : 0;
}

/*
 * Time between looks while units are spent, and while none are. Looks take at most a part of the
 * time.
 */
#define LOOK_NS   (5 * MS_NS)
#define REST_NS   (50 * MS_NS)
#define LOOK_PART 20

#define TIMEOUT_MS 2000 /* time of one request */

/* Simultaneous requests, so that a late answer delays few. While etcd is away there is one. */
#define ASKED_MOST 8

/* Time until a request after etcd did not answer. */
#define RETRY_FIRST (250 * MS_NS)
#define RETRY_MOST  (4000 * MS_NS)

/*
 * Time until the next request for a quota: none was left; others drew first; answer not understood.
 */
#define DRY_NS   (2000 * MS_NS)
#define RACED_NS (50 * MS_NS)
#define WRONG_NS (5000 * MS_NS)

/*
 * Age at which the state is read again. A group sends at most 50 requests a second only for that.
 */
#define REFRESH_NS      (10000 * MS_NS)
#define REFRESH_EACH_NS (20 * MS_NS)

/*
 * Waiting time of traffic before its limiter draws for itself, although others hold units or draw.
 */
#define ROOT_WAITS_NS  (100 * MS_NS)
#define OTHER_WAITS_NS (1000 * MS_NS)

/* Time that a limiter which had to draw for itself continues to draw like a root. */
#define ALONE_NS (10000 * MS_NS)

/* Smallest number of packets to draw for. */
#define PACKETS 4

/* Quotas whose errors are logged, a line each. */
#define LOGGED_MAX 64

struct budget_share {
	char name[ETCD_NAME_MAX]; /* name in etcd */
	unsigned policy;
	struct budget_share_view view;
	uint64_t next_ns;    /* no request before */
	uint64_t waiting_ns; /* since when traffic has been waiting, or 0 */
	uint64_t alone_ns;   /* until then it is drawn here, though others should */
	bool wanted;         /* the last request was for units */
};

struct etcd_share {
	struct etcd *etcd; /* opened when there is something to draw */
	struct budget_shares budget_shares;
	unsigned asked; /* pending answers */
	unsigned at;    /* index where the next look begins */
	unsigned n_logged;
	enum etcd_share_state state;
	bool logged_in; /* the last answer was for a token */
	char why[ETCD_WHY_MAX];
	uint64_t look_ns, retry_ns, backoff_ns;
};

static int compare_budget_shares(const void *a, const void *b)
{
	const struct budget_share *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static struct budget_share *find_budget_share(
	const struct budget_shares *budget_shares, const char *name)
{
	struct budget_share key;

	snprintf(key.name, sizeof(key.name), "%s", name);
	return budget_shares->n ? bsearch(&key, budget_shares->at, budget_shares->n, sizeof(key),
					  compare_budget_shares)
				: NULL;
}

int budget_shares_prepare(const struct policy *policies, unsigned n, struct budget_shares *out)
{
	unsigned found = 0;

	*out = (struct budget_shares){0};
	for (unsigned i = 0; i < n; i++)
		found += policies[i].drawn;
	if (found == 0)
		return 0;
	out->at = calloc(found, sizeof(*out->at));
	if (!out->at)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct budget_share *budget_share = &out->at[out->n];

		if (!policies[i].drawn)
			continue;
		budget_name(&policies[i], budget_share->name, sizeof(budget_share->name));
		budget_share->policy = i;
		out->n++;
	}
	qsort(out->at, out->n, sizeof(*out->at), compare_budget_shares);
	return 0;
}

void budget_shares_free(struct budget_shares *budget_shares)
{
	free(budget_shares->at);
	*budget_shares = (struct budget_shares){0};
}

/* Returns the command that fixes the password file, if one command is enough; otherwise NULL. */
static const char *password_remedy(const char *file, uid_t user, char *text, size_t room)
{
	struct stat st;

	if (stat(file, &st)) {
		if (errno != ENOENT)
			return NULL;
		snprintf(text, room, "install -m 600 /dev/stdin %s", file);
	} else if (!S_ISREG(st.st_mode)) {
		return NULL;
	} else if (st.st_uid != 0 && st.st_uid != user) {
		snprintf(text, room, "chown %u %s", (unsigned)user, file);
	} else if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		snprintf(text, room, "chmod 600 %s", file);
	} else {
		return NULL;
	}
	return text;
}

int etcd_share_check(
	const struct ledger_config *ledger, uid_t user, const struct complaint_sink *to)
{
	const char *file = ledger->etcd_password_file;
	char why[ETCD_WHY_MAX], text[sizeof(ledger->etcd_password_file) + 64];

	if (!ledger->etcd_user[0] || etcd_password_check(file, user, why) == 0)
		return 0;
	complaint_write(to, &(struct complaint){.place = "ledger.etcd.password_file",
				    .found = why,
				    .remedy = password_remedy(file, user, text, sizeof(text)),
				    .absent = access(file, F_OK) && errno == ENOENT});
	return -EACCES;
}

int etcd_share_start(struct instance *inst)
{
	const struct complaint_sink to = complaint_sink_of(stderr);
	struct etcd_share *d;
	int ret;

	if (inst->config->ledger.n_etcd == 0)
		return 0;
	ret = etcd_share_check(&inst->config->ledger, geteuid(), &to);
	if (ret)
		return ret;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	ret = budget_shares_prepare(inst->policies, inst->n_policies, &d->budget_shares);
	if (ret) {
		free(d);
		return ret;
	}
	inst->etcd_share = d;
	return 0;
}

void etcd_share_stop(struct instance *inst)
{
	struct etcd_share *d = inst->etcd_share;

	if (!d)
		return;
	etcd_close(d->etcd);
	budget_shares_free(&d->budget_shares);
	free(d);
	inst->etcd_share = NULL;
}

void etcd_share_exchange(struct instance *inst, struct budget_shares *budget_shares)
{
	struct etcd_share *d = inst->etcd_share;
	struct budget_shares previous;

	if (!d)
		return;
	previous = d->budget_shares;
	for (unsigned i = 0; i < budget_shares->n; i++) {
		struct budget_share *now = &budget_shares->at[i],
				    *then = find_budget_share(&previous, now->name);
		unsigned policy = now->policy;

		if (!then)
			continue;
		*now = *then;
		now->policy = policy;
	}
	d->budget_shares = *budget_shares;
	*budget_shares = previous;
	d->at = 0;
	d->look_ns = 0;
}

int etcd_share_fd(const struct instance *inst)
{
	return inst->etcd_share && inst->etcd_share->etcd ? etcd_fd(inst->etcd_share->etcd) : -1;
}

uint64_t etcd_share_next(const struct instance *inst)
{
	const struct etcd_share *d = inst->etcd_share;

	return d && d->budget_shares.n > 0 && d->state != DRAW_FENCED ? d->look_ns : UINT64_MAX;
}

static const char *path_or_null(const char *file)
{
	return file[0] ? file : NULL;
}

/* Opens etcd with the epoch of this start, which is larger than that of earlier ones. */
static int open_etcd(const struct instance *inst, struct etcd_share *d)
{
	const struct ledger_config *ledger = &inst->config->ledger;
	struct commit_view commit;
	struct etcd_params params = {
		.endpoints = (const char *const *)ledger->etcd,
		.n_endpoints = ledger->n_etcd,
		.prefix = ledger->etcd_prefix,
		.limiter = inst->config->limiter,
		.ca_file = path_or_null(ledger->etcd_ca),
		.cert_file = path_or_null(ledger->etcd_cert),
		.key_file = path_or_null(ledger->etcd_key),
		.user = path_or_null(ledger->etcd_user),
		.password_file = path_or_null(ledger->etcd_password_file),
		.timeout_ms = TIMEOUT_MS,
	};

	if (!commit_view(inst, &commit))
		return -ENOENT;
	params.epoch = commit.epoch;
	return etcd_open(&params, &d->etcd);
}

static void note_draw_error(struct etcd_share *d, const char *why)
{
	snprintf(d->why, sizeof(d->why), "%s", why);
}

/* Logs the first failure, and the first success after it. */
static void draw_failed(struct etcd_share *d, const char *why, uint64_t now)
{
	if (d->state != DRAW_AWAY)
		event(ETCD_AWAY, event_word("why", why));
	note_draw_error(d, why);
	d->state = DRAW_AWAY;
	d->backoff_ns = d->backoff_ns ? RTE_MIN(2 * d->backoff_ns, RETRY_MOST) : RETRY_FIRST;
	d->retry_ns = now + d->backoff_ns;
}

static void draw_succeeded(struct etcd_share *d)
{
	if (d->state != DRAW_CONNECTED)
		event(ETCD_ANSWERS,
			event_word("how", d->state == DRAW_AWAY ? "answers again" : "answers"));
	if (d->state == DRAW_AWAY)
		d->why[0] = '\0';
	d->state = DRAW_CONNECTED;
	d->retry_ns = d->backoff_ns = 0;
}

static void draw_fenced(struct etcd_share *d, const char *why)
{
	if (d->state == DRAW_CONNECTING)
		event(ETCD_FENCED,
			event_word("did", "draws under the name of this limiter, or did with a "
					  "lost store: this one draws nothing"),
			event_word("why", why));
	else if (d->state != DRAW_FENCED)
		event(ETCD_FENCED,
			event_word("did", "was started under the name of this limiter: this one "
					  "draws no more, and passes its remaining units"),
			event_word("why", why));
	note_draw_error(d, why);
	d->state = DRAW_FENCED;
}

/* Handles an error of one quota only. */
static void fail_budget(
	struct etcd_share *d, struct budget_share *a, const struct etcd_answer *answer)
{
	bool raced = answer->result == -EAGAIN;

	if (a->view.error != answer->result && !raced && d->n_logged++ < LOGGED_MAX)
		event(ETCD_REFUSED, event_word("quota", a->name), event_word("why", answer->why));
	note_draw_error(d, answer->why);
	a->view.error = answer->result;
	a->next_ns = control_now() + (raced ? RACED_NS : WRONG_NS);
}

/* Begins a period, in which nothing has been drawn here: an earlier answer would have shown it. */
static void turn_draw_period(const struct instance *inst, struct budget_share *a, uint64_t period)
{
	if (period == a->view.period)
		return;
	if (!a->view.known)
		a->view.total = inst->policies[a->policy].total;
	a->view.period = period;
	a->view.drawn = 0;
	a->view.left = a->view.total;
	a->next_ns = 0;
}

/* Returns true if units have arrived. */
static bool take_drawn_units(
	struct instance *inst, struct budget_share *a, const struct etcd_answer *answer)
{
	struct budget_share_view *view = &a->view;
	bool news = !view->known || view->drawn != answer->drawn;
	uint64_t now = control_now();
	int ret = news ? limiter_set_share(inst->limiter, a->policy, answer->drawn, now) : 0;

	if (ret) {
		event(ETCD_NOT_TAKEN, event_word("quota", a->name),
			event_count("units", answer->drawn), event_word("why", strerror(-ret)));
		view->error = ret;
		a->next_ns = now + WRONG_NS;
		return false;
	}
	view->known = true;
	view->total = answer->total;
	view->drawn = answer->drawn;
	view->left = answer->left;
	view->as_of_ns = now;
	view->error = 0;
	a->next_ns = a->wanted && answer->left == 0 ? now + DRY_NS : 0;
	a->waiting_ns = 0;
	return news;
}

/*
 * Takes an answer. Ignores its units, as unneeded, if the policy was removed or the period has
 * ended.
 */
static bool receive_draw_answer(struct instance *inst, const struct etcd_answer *answer)
{
	struct etcd_share *d = inst->etcd_share;
	struct budget_share *a = find_budget_share(&d->budget_shares, answer->budget);
	struct quota_view view;

	d->asked--;
	d->logged_in = answer->logged_in;
	if (a)
		a->view.asked = false;
	switch (answer->result) {
	case 0:
		draw_succeeded(d);
		if (!a || !instance_budget(inst, a->policy, &view) || view.period != answer->period)
			return false;
		turn_draw_period(inst, a, view.period);
		return take_drawn_units(inst, a, answer);
	case -ESTALE:
		draw_fenced(d, answer->why);
		return false;
	case -EAGAIN:
	case -EPERM:
	case -EPROTO:
		if (a)
			fail_budget(d, a, answer);
		return false;
	default:
		draw_failed(d, answer->why, control_now());
		return false;
	}
}

/*
 * Returns true if traffic has waited longer than other limiters, or the disk, need to bring units.
 */
static bool waits_in_vain(struct budget_share *a, bool waiting, bool root, uint64_t now)
{
	if (!waiting) {
		a->waiting_ns = 0;
		return false;
	}
	if (a->waiting_ns == 0)
		a->waiting_ns = now;
	return now - a->waiting_ns >= (root ? ROOT_WAITS_NS : OTHER_WAITS_NS);
}

/* Returns the units to draw now. A recovering limiter draws none, because it cannot spend them. */
static uint64_t units_to_draw(const struct instance *inst, struct budget_share *a,
	const struct quota_view *view, uint64_t now)
{
	const struct policy *policy = &inst->policies[a->policy];
	bool root = budget_is_root(limiter_budget(inst->limiter));
	bool vain = waits_in_vain(a, view->waiting, root, now);
	uint64_t here = (uint64_t)RTE_MAX(view->balance, INT64_C(0)) + view->prepaid;
	struct etcd_share_need need = {
		.total = a->view.total,
		.left = a->view.left,
		.held = vain ? here : view->remaining,
		.pace = view->pace,
		.chunk = policy->chunk,
		.packet = policy->count == COUNT_BYTES ? (uint64_t)PACKETS * inst->engine.frame
						       : PACKETS,
	};

	if (vain)
		a->alone_ns = now + ALONE_NS;
	if (!a->view.known || view->recovering || !(root || now < a->alone_ns))
		return 0;
	return share_size(&need);
}

/* A policy that was removed and is back can have a pending request: it will get that answer. */
static void ask_etcd(struct instance *inst, struct budget_share *a, uint64_t units, uint64_t now)
{
	struct etcd_share *d = inst->etcd_share;
	struct etcd_draw etcd_share = {
		.period = a->view.period,
		.total = inst->policies[a->policy].total,
		.units = units,
	};
	int ret;

	snprintf(etcd_share.budget, sizeof(etcd_share.budget), "%s", a->name);
	ret = etcd_draw(d->etcd, &etcd_share);
	a->wanted = units > 0;
	a->view.asked = ret == 0 || ret == -EBUSY;
	d->asked += ret == 0;
	if (ret && ret != -EBUSY)
		a->next_ns = now + WRONG_NS;
}

/* Returns true if units are spent or traffic waits, so that the next look is soon. */
static bool check_budget_share(struct instance *inst, struct budget_share *a, uint64_t refresh)
{
	const struct etcd_share *d = inst->etcd_share;
	uint64_t now = control_now(), units;
	struct quota_view view;
	bool may_draw;

	if (!instance_budget(inst, a->policy, &view) || view.undated)
		return false;
	turn_draw_period(inst, a, view.period);
	units = units_to_draw(inst, a, &view, now);
	may_draw = d->state != DRAW_FENCED && now >= d->retry_ns &&
		   d->asked < (d->state == DRAW_CONNECTED ? ASKED_MOST : 1);
	if (a->view.asked || now < a->next_ns || !may_draw)
		return view.pace > 0 || view.waiting;
	if (units > 0 || !a->view.known || now - a->view.as_of_ns >= refresh)
		ask_etcd(inst, a, units, now);
	return view.pace > 0 || view.waiting;
}

static bool open_etcd_if_due(const struct instance *inst, struct etcd_share *d, uint64_t now)
{
	int ret;

	if (d->etcd)
		return true;
	if (now < d->retry_ns)
		return false;
	ret = open_etcd(inst, d);
	if (ret)
		draw_failed(d, strerror(-ret), now);
	return ret == 0;
}

bool etcd_share_look(struct instance *inst, uint64_t now_ns)
{
	struct etcd_share *d = inst->etcd_share;
	bool active = false, news = false;
	uint64_t refresh, began, took;
	struct etcd_answer answer;

	if (!d)
		return false;
	while (d->etcd && etcd_answer(d->etcd, &answer) == 0) {
		news |= receive_draw_answer(inst, &answer);
		d->look_ns = 0;
	}
	if (now_ns < etcd_share_next(inst) || !open_etcd_if_due(inst, d, now_ns))
		return news;
	refresh = REFRESH_EACH_NS * inst->config->gossip.n_roster * d->budget_shares.n;
	refresh = RTE_MAX(REFRESH_NS, refresh);
	began = control_now();
	for (unsigned i = 0; i < d->budget_shares.n; i++)
		active |= check_budget_share(
			inst, &d->budget_shares.at[(d->at + i) % d->budget_shares.n], refresh);
	d->at = (d->at + 1) % d->budget_shares.n;
	took = control_now() - began;
	d->look_ns = now_ns + RTE_MAX(active ? LOOK_NS : REST_NS, took * LOOK_PART);
	return news;
}

bool etcd_share_view(const struct instance *inst, struct etcd_share_view *view)
{
	const struct etcd_share *d = inst->etcd_share;

	if (!d)
		return false;
	*view = (struct etcd_share_view){
		.state = d->state, .logged_in = d->logged_in, .why = d->why};
	return true;
}

unsigned etcd_share_budgets(const struct instance *inst)
{
	return inst->etcd_share ? inst->etcd_share->budget_shares.n : 0;
}

struct budget_share_view etcd_share_budget(const struct instance *inst, unsigned i)
{
	const struct budget_share *a = &inst->etcd_share->budget_shares.at[i];
	struct budget_share_view view = a->view;

	view.name = a->name;
	view.policy = a->policy;
	return view;
}

bool etcd_share_budget_of(
	const struct instance *inst, unsigned policy, struct budget_share_view *view)
{
	char name[BUDGET_NAME_MAX];
	const struct budget_share *a;

	if (!inst->etcd_share)
		return false;
	budget_name(&inst->policies[policy], name, sizeof(name));
	a = find_budget_share(&inst->etcd_share->budget_shares, name);
	if (!a || a->policy != policy)
		return false;
	*view = etcd_share_budget(inst, (unsigned)(a - inst->etcd_share->budget_shares.at));
	return true;
}
