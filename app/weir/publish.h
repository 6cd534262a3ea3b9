/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the limiter has decided, on its way to the workers: split over them, and told to each by its
 * ring. Control.
 */
#ifndef WEIR_APP_PUBLISH_H
#define WEIR_APP_PUBLISH_H

#include <stdbool.h>

#include "post.h"

struct box;

/*
 * Policies that a round of telling looks at. 100,000 that change at once are many rounds, so that
 * what control does beside has its turn in between; a ring takes no more than that anyway.
 */
#define PUBLISH_ROUND POST_MAX

/*
 * Before the workers run: gives every policy its line on each worker, with the limit that the
 * limiter starts with, and then publishes the classifier. Returns 0 or a negative errno, logged.
 */
int publish_first(struct box *box);

/*
 * The clock or control's measurements, which the limiter does not know of, have something to say
 * about a policy, or about all of them: to be told by the next publish().
 */
void publish_later(struct box *box, unsigned policy);
void publish_all_later(struct box *box);

/*
 * Tells the workers what has changed, as far as their rings take it and at most a few thousand
 * policies at a time; the rest is left for publish_rest(). A limit that no meter can express leaves
 * the old one in force. True when nothing was left.
 */
bool publish(struct box *box);

/* Goes on with what was left, and tells it as it is now. True when nothing is left. */
bool publish_rest(struct box *box);

#endif
