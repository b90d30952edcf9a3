#include "frozen.h"

#include "function.h"

#include <stdlib.h>

extern const duet_op duet_op_constant;

enum { MAX_SHOWN = 8 }; /* elements */

/* The first node that uses the value and knows where it was called. */
static const duet_graph_node *first_use(const duet_graph *graph, int32_t from, int32_t value) {
    for (int32_t i = from; i < graph->n_nodes; i++)
        for (int32_t j = 0; graph->nodes[i].file && j < graph->nodes[i].n_in; j++)
            if (graph->nodes[i].in[j] == value) return &graph->nodes[i];
    return NULL;
}

duet_status duet_frozen_of(duet_frozen *frozen, const duet_graph *graph) {
    int32_t count = 0;
    *frozen = (duet_frozen){0};
    for (int32_t i = 0; i < graph->n_nodes; i++) count += graph->nodes[i].op == &duet_op_constant;
    if (count == 0) return DUET_OK;
    frozen->values = malloc((size_t)count * sizeof *frozen->values);
    CHECK(frozen->values, DUET_STATUS_MEMORY, "function %s: no memory", graph->name);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const duet_graph_node *node = &graph->nodes[i];
        if (node->op != &duet_op_constant) continue;
        const duet_graph_node *use = node->file ? node : first_use(graph, i + 1, node->out);
        frozen->values[frozen->count++] = (duet_frozen_value){
            duet_keep(node->attrs[0].tensor), use ? use->file : NULL, use ? use->line : 0};
    }
    return DUET_OK;
}

void duet_frozen_release(duet_frozen *frozen) {
    for (int32_t i = 0; i < frozen->count; i++) duet_release(frozen->values[i].value);
    free(frozen->values);
    *frozen = (duet_frozen){0};
}

void duet_frozen_print(FILE *file, const duet_frozen_value *frozen) {
    const duet_tensor *t = frozen->value;
    int64_t count = duet_tensor_count(t);
    fprintf(file, "%s", DUET_SPEC_TEXT(&t->spec));
    for (int64_t i = 0; i < count && i < MAX_SHOWN; i++) fprintf(file, " %.9g", duet_item(t, i));
    if (count > MAX_SHOWN) fprintf(file, " ...");
    if (frozen->file) {
        const char *slash = strrchr(frozen->file, '/');
        fprintf(file, "  # %s:%d", slash ? slash + 1 : frozen->file, frozen->line);
    }
    fputc('\n', file);
}

void duet_function_print_frozen(FILE *file, const duet_function *f) {
    if (!file || !f) {
        duet_fail(DUET_STATUS_ARGUMENT, "function_print_frozen: %s is NULL",
                  file ? "function" : "file");
        return;
    }
    bool locked = duet_function_lock_to_read(f);
    for (const duet_entry *entry = f->entries; entry; entry = entry->next)
        for (int32_t i = 0; i < entry->frozen.count; i++)
            duet_frozen_print(file, &entry->frozen.values[i]);
    duet_function_unlock_read(f, locked);
}
