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

/* Room for `count` keys without growing; false without memory. The map is empty. */
bool duet_tensor_map_reserve(duet_tensor_map *map, size_t count);

/* Where `key`'s value is kept, valid until a key is added; NULL if it is not there. */
void **duet_tensor_map_find(const duet_tensor_map *map, const duet_tensor *key);

/* The same, adding the key with the value NULL if it is not there; NULL without memory. */
void **duet_tensor_map_at(duet_tensor_map *map, const duet_tensor *key);

void duet_tensor_map_free(duet_tensor_map *map);

#endif
