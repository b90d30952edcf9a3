#include "child.h"

#include "pool.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t fork_with_pool(void) {
    if (CHILDREN_MAY_HAVE_PARENTS_WITH_THREADS) return fork();
    int threads = duet_pool_threads();
    duet_pool_set_threads(1);
    pid_t child = fork();
    duet_pool_set_threads(threads);
    return child;
}

bool child_ends_well(pid_t child) {
    for (int ms = 0; ms < 5000; ms += 5) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        usleep(5000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return false;
}
