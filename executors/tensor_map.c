#include "tensor_map.h"

enum { FIRST_ROOM = 16 };

/* Tensors are 64-byte aligned; Fibonacci hashing (Knuth, TAOCP 3, 6.4) spreads the rest. */
static size_t place(const duet_tensor_map *map, const duet_tensor *key) {
    uint64_t hash = ((uint64_t)(uintptr_t)key >> 6) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(hash >> 32) & (map->room - 1);
    while (map->slots[at].key && map->slots[at].key != key) at = (at + 1) & (map->room - 1);
    return at;
}

void **duet_tensor_map_find(const duet_tensor_map *map, const duet_tensor *key) {
    if (map->room == 0) return NULL;
    struct duet_tensor_map_slot *slot = &map->slots[place(map, key)];
    return slot->key ? &slot->value : NULL;
}

static bool resize(duet_tensor_map *map, size_t room) {
    duet_tensor_map larger = {.room = room};
    size_t bytes = room * sizeof *larger.slots;
    larger.slots = duet_memory_alloc(bytes);
    if (!larger.slots) return false;
    memset(larger.slots, 0, bytes);
    for (size_t i = 0; i < map->room; i++)
        if (map->slots[i].key) larger.slots[place(&larger, map->slots[i].key)] = map->slots[i];
    larger.count = map->count;
    duet_tensor_map_free(map);
    *map = larger;
    return true;
}

bool duet_tensor_map_reserve(duet_tensor_map *map, size_t count) {
    size_t room = FIRST_ROOM;
    while (room <= 2 * count) room *= 2;
    return resize(map, room);
}

void **duet_tensor_map_at(duet_tensor_map *map, const duet_tensor *key) {
    if (2 * map->count >= map->room && !resize(map, map->room ? 2 * map->room : FIRST_ROOM))
        return NULL;
    struct duet_tensor_map_slot *slot = &map->slots[place(map, key)];
    if (!slot->key) {
        slot->key = key;
        map->count++;
    }
    return &slot->value;
}

void duet_tensor_map_free(duet_tensor_map *map) {
    duet_memory_free(map->slots, map->room * sizeof *map->slots);
    *map = (duet_tensor_map){0};
}
