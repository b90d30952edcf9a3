#include "core/body.h"

#include <pthread.h>
#include <stdlib.h>

#include "near.h"

/* op_list.inc is made by the Makefile: DUET_OP_ENTRY(name) for every file ops/name.c. */
#define DUET_OP_ENTRY(name) extern const duet_op duet_op_##name;
#include "op_list.inc"
#undef DUET_OP_ENTRY

static const duet_op *const built_in[] = {
#define DUET_OP_ENTRY(name) &duet_op_##name,
#include "op_list.inc"
#undef DUET_OP_ENTRY
};
enum { BUILT_IN = sizeof built_in / sizeof *built_in };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const duet_op **registered;
static int n_registered;

int duet_op_count(void) {
    pthread_mutex_lock(&lock);
    int count = BUILT_IN + n_registered;
    pthread_mutex_unlock(&lock);
    return count;
}

const duet_op *duet_op_at(int index) {
    if (index < 0) return NULL;
    if (index < BUILT_IN) return built_in[index];
    pthread_mutex_lock(&lock);
    const duet_op *op = index - BUILT_IN < n_registered ? registered[index - BUILT_IN] : NULL;
    pthread_mutex_unlock(&lock);
    return op;
}

static int compare_name(const void *name, const void *entry) {
    return strcmp(name, (*(const duet_op *const *)entry)->name);
}

/* The list of files is sorted. */
static const duet_op *find_built_in(const char *name) {
    const duet_op *const *found = bsearch(name, built_in, BUILT_IN, sizeof *built_in, compare_name);
    return found ? *found : NULL;
}

/* With the lock held. */
static const duet_op *find_registered(const char *name) {
    for (int i = 0; i < n_registered; i++)
        if (strcmp(registered[i]->name, name) == 0) return registered[i];
    return NULL;
}

static const duet_op *find_quietly(const char *name) {
    const duet_op *op = find_built_in(name);
    if (op) return op;
    pthread_mutex_lock(&lock);
    op = find_registered(name);
    pthread_mutex_unlock(&lock);
    return op;
}

const duet_op *duet_op_find(const char *name) {
    if (!name) {
        duet_fail(DUET_STATUS_ARGUMENT, "op_find: name is NULL");
        return NULL;
    }
    const duet_op *op = find_quietly(name);
    if (op) return op;
    duet_near near = {.name = name};
    for (int i = 0, count = duet_op_count(); i < count; i++)
        duet_near_offer(&near, duet_op_at(i)->name);
    if (near.nearest && near.distance == 0)
        duet_fail(DUET_STATUS_NOT_FOUND,
                  "op \"%s\" is not in ops/%s.c: an op has the name of its file", name, name);
    else if (near.nearest)
        duet_fail(DUET_STATUS_NOT_FOUND, "no op \"%s\"; did you mean \"%s\"?", name, near.nearest);
    else
        duet_fail(DUET_STATUS_NOT_FOUND, "no op \"%s\"; `duet ops` lists them", name);
    return NULL;
}

static duet_status check_descriptor(const duet_op *op) {
    CHECK(op && op->name && *op->name, DUET_STATUS_ARGUMENT, "op_register: expected a name");
    CHECK(op->doc && op->infer && op->run, DUET_STATUS_ARGUMENT,
          "op_register: %s: expected doc, infer and run", op->name);
    int most = op->n_in_max ? op->n_in_max : op->n_in;
    CHECK(op->n_in >= 0 && most >= op->n_in && most <= DUET_MAX_INPUTS, DUET_STATUS_ARGUMENT,
          "op_register: %s: expected 0 to %d inputs, got %d to %d", op->name, DUET_MAX_INPUTS,
          op->n_in, most);
    CHECK(op->n_out >= -1 && op->n_out <= DUET_MAX_OUTPUTS, DUET_STATUS_ARGUMENT,
          "op_register: %s: expected -1 to %d outputs, got %d", op->name, DUET_MAX_OUTPUTS,
          op->n_out);
    CHECK(most == 64 || op->writes >> most == 0, DUET_STATUS_ARGUMENT,
          "op_register: %s: it writes an input beyond the %d it takes", op->name, most);
    return DUET_OK;
}

static bool append(const duet_op *op) {
    const duet_op **larger = realloc(registered, ((size_t)n_registered + 1) * sizeof *registered);
    if (!larger) return false;
    registered = larger;
    registered[n_registered++] = op;
    return true;
}

duet_status duet_op_register(const duet_op *op) {
    TRY(check_descriptor(op));
    pthread_mutex_lock(&lock); /* over search and entry: of two threads with one name, one fails */
    bool taken = find_built_in(op->name) || find_registered(op->name);
    bool entered = !taken && append(op);
    pthread_mutex_unlock(&lock);
    CHECK(!taken, DUET_STATUS_ARGUMENT, "op_register: the name \"%s\" is taken", op->name);
    CHECK(entered, DUET_STATUS_MEMORY, "op_register: no memory for \"%s\"", op->name);
    return DUET_OK;
}

int duet_op_attr_count(const duet_op *op) {
    int count = 0;
    while (count < DUET_MAX_ATTRS && op->attrs[count].kind != DUET_ATTR_NONE) count++;
    return count;
}

int duet_op_n_out(const duet_op *op, const duet_attr *attrs) {
    if (op->n_out >= 0) return op->n_out;
    for (int i = 0; i < duet_op_attr_count(op); i++)
        if (op->attrs[i].kind == DUET_ATTR_BODY && attrs[i].body) return attrs[i].body->n_out;
    return 0;
}

const char *duet_op_input_name(const duet_op *op, int index) {
    int last = 0;
    while (last + 1 < 4 && op->in_names[last + 1]) last++;
    const char *name = op->in_names[index < last ? index : last];
    return name ? name : "x";
}
