/* Forking in a test. */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* ThreadSanitizer keeps a parent's threads in its books after a fork, and takes the child's new
 * ones, at the same addresses, for them. */
#if defined __SANITIZE_THREAD__
#define CHILDREN_MAY_HAVE_PARENTS_WITH_THREADS 0
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define CHILDREN_MAY_HAVE_PARENTS_WITH_THREADS 0
#endif
#endif
#ifndef CHILDREN_MAY_HAVE_PARENTS_WITH_THREADS
#define CHILDREN_MAY_HAVE_PARENTS_WITH_THREADS 1
#endif

/* fork() while the pool's workers wait. Under ThreadSanitizer the pool has none meanwhile, and as
 * many as before afterwards, in parent and child. */
pid_t fork_with_pool(void);

/* Waits for the child; false if it took more than five seconds or did not exit with 0. */
bool child_ends_well(pid_t child);

#endif
