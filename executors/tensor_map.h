/* A hash map from tensors (by identity) to pointers; open addressing, grows at half full. */
#ifndef DUET_TENSOR_MAP_H
#define DUET_TENSOR_MAP_H

#include "tensor.h"

typedef struct duet_tensor_map {
    struct duet_tensor_map_slot {
        const duet_tensor *key;
        void *value;
    } * slots;
    size_t count, room; /* room is 0 or a power of two */
} duet_tensor_map;

/* The value of `key`, or NULL. */
void *duet_tensor_map_find(const duet_tensor_map *map, const duet_tensor *key);

/* Where `key`'s value is kept (NULL at first), valid until the next call; NULL without memory. */
void **duet_tensor_map_at(duet_tensor_map *map, const duet_tensor *key);

void duet_tensor_map_free(duet_tensor_map *map);

#endif
