#ifndef DUET_BENCH_VERSION_H
#define DUET_BENCH_VERSION_H

#define DUET_VERSION "0.1.0"

#endif
