# duet: `make help` lists what there is to do.
#
# The layers point down only (bench > executors > ops > runtime): each folder is compiled with
# just the include paths that it may use, so an include that points up does not compile.

CC      ?= gcc
MARCH   ?= native
BUILD   := build
PREFIX  ?= /usr/local
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2))

# One object folder per configuration: build/obj, build/san-address-undefined/obj ...
comma   := ,
DIR     := $(BUILD)$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
OBJ     := $(DIR)/obj

# -ffp-contract=off: eager, fused and compiled code must round alike; kernels that want FMA say so.
# -fno-trapping-math -fno-math-errno: no value changes, but compare-and-select and sqrt vectorise.
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
CFLAGS  ?= -O3 -g1
FLAGS   := -std=gnu17 $(CFLAGS) -march=$(MARCH) -fPIC -ftls-model=initial-exec -pthread \
           -ffp-contract=off -fno-trapping-math -fno-math-errno -fno-semantic-interposition $(WARN)
ifdef SAN
FLAGS   := $(filter-out -O3,$(FLAGS)) -O1 -fsanitize=$(SAN) -fno-sanitize-recover=undefined \
           -fno-omit-frame-pointer
LDSAN   := -fsanitize=$(SAN)
endif
pkg      = $(shell pkg-config $(1) $(2) 2>/dev/null)
BLAS_CFLAGS := $(call pkg,--cflags,openblas)
BLAS_LIBS   := $(or $(call pkg,--libs,openblas),-lopenblas)
LIBS    := $(BLAS_LIBS) -lsleef -lm -pthread
LIBS_bench := -lcjson

# What each layer may include.
INC_runtime   := -Iruntime $(BLAS_CFLAGS)
INC_ops       := -Iruntime -Iops -I$(DIR)/generated
INC_executors := -Iruntime -Iops -Iexecutors
INC_bench     := $(INC_executors) -Ibench
INC_tests      = $(INC_bench) -Itests -Itests/util

LAYERS  := runtime ops executors
srcs     = $(sort $(wildcard $(1)/*.c $(1)/*/*.c))
objs     = $(patsubst %.c,$(OBJ)/%.o,$(call srcs,$(1)))
LIB_OBJS := $(foreach layer,$(LAYERS),$(call objs,$(layer)))
BENCH_OBJS := $(filter-out $(OBJ)/bench/main.o,$(call objs,bench))

# An op is one file ops/NAME.c; this list is all the registration there is.
OP_NAMES := $(basename $(notdir $(sort $(wildcard ops/*.c))))
OP_LIST  := $(DIR)/generated/op_list.inc

.DEFAULT_GOAL := all
.PHONY: all test fuzz bench lint format install clean help setup FORCE
.SECONDARY:
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

ifneq ($(filter setup,$(MAKECMDGOALS)),)
# `make setup test`: install, then start afresh so that what was installed is found.
.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)
setup:  ## install what is missing: compiler, OpenBLAS, SLEEF, cmocka, cJSON, pkg-config
	$(Q)sh .ci/setup
$(filter-out setup,$(MAKECMDGOALS)): setup
	$(Q)$(MAKE) --no-print-directory $@
else

all: $(DIR)/libduet.a $(DIR)/libduet.so $(DIR)/duet  ## build the libraries and the command `duet`

# ---- the generated list of ops: rewritten only when the set of names changes -------------------
$(OP_LIST): FORCE
	@mkdir -p $(@D)
	@printf 'DUET_OP_ENTRY(%s)\n' $(OP_NAMES) > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(OBJ)/ops/core/registry.o: $(OP_LIST)

# ---- compile and link --------------------------------------------------------------------------
layer_of = $(firstword $(subst /, ,$(1)))
# Objects depend on how they are compiled, not on the whole of this file.
STAMP := $(OBJ)/flags
$(STAMP): FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(FLAGS)' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(OBJ)/%.o: %.c $(STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(FLAGS) $(INC_$(call layer_of,$*)) -MMD -MP -c $< -o $@

$(OBJ)/bench/hand/train_step.o $(OBJ)/bench/peak.o: private FLAGS += -ffp-contract=fast
ifdef SAN
# At -O1 the tiles of a product stay in memory, each access with its checks: tests take minutes.
$(OBJ)/ops/kernels/gemm_f32.o $(OBJ)/ops/kernels/gemm_f64.o: private FLAGS += -O2
endif

# Two pointers joined in a vector register to be stored as one are slow to read back singly: joining
# them made small_ops, eager, 3.5 % slower.
$(OBJ)/executors/eager.o: private FLAGS += -fno-tree-slp-vectorize

$(DIR)/lib%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(DIR)/libduet.a: $(LIB_OBJS)
$(DIR)/libruntime.a: $(call objs,runtime)
$(DIR)/libops.a: $(call objs,ops)
$(DIR)/libbench.a: $(BENCH_OBJS)

$(DIR)/libduet.so: $(LIB_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(FLAGS) -shared -Wl,-soname,libduet.so -Wl,-z,nodelete -o $@ $^ $(LIBS)

$(DIR)/duet: $(OBJ)/bench/main.o $(DIR)/libbench.a $(DIR)/libduet.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(FLAGS) -o $@ $^ $(LIBS) $(LIBS_bench)

# ---- tests: one cmocka program per topic, tests/LAYER/test_TOPIC.c, linked to its layers only ----
TESTS      := $(patsubst tests/%.c,$(DIR)/tests/%,$(sort $(wildcard tests/*/test_*.c)))
TEST_UTIL  := $(DIR)/libtestutil.a
LINK_runtime   := $(DIR)/libruntime.a
LINK_ops       := $(DIR)/libops.a $(LINK_runtime)
LINK_executors := $(DIR)/libduet.a# executors and ops call each other
LINK_bench     := $(DIR)/libbench.a $(DIR)/libduet.a

$(TEST_UTIL): $(call objs,tests/util)

.SECONDEXPANSION:
$(DIR)/tests/%: $(OBJ)/tests/%.o $(TEST_UTIL) $$(LINK_$$(call layer_of,$$*))
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(FLAGS) -o $@ $^ $(LIBS) $(LIBS_$(call layer_of,$*)) -lcmocka

test: all $(TESTS)  ## build and run every test
	$(Q)DUET_COMMAND=$(DIR)/duet sh tests/run.sh $(TESTS)

FUZZ ?= 10000
fuzz: $(DIR)/tests/executors/fuzz_programs  ## FUZZ=10000 random programs: eager and graph agree bit for bit
	$(Q)$< $(FUZZ)

bench: all  ## run the lessons: eager and graph side by side, and the limit by hand
	$(Q)$(DIR)/duet bench

# ---- upkeep --------------------------------------------------------------------------------------
SOURCES = $(wildcard $(foreach d,runtime ops executors bench tests,\
            $(foreach kind,*.[ch] *.inc,$(d)/$(kind) $(d)/*/$(kind))))
lint: $(OP_LIST)  ## warnings as errors with gcc and clang, formatting, file and function lengths
	$(Q)sh tests/lint.sh

format:  ## reformat every source file
	$(Q)clang-format -i $(SOURCES)

HEADERS = $(wildcard runtime/*.h ops/*.h executors/*.h)
install: all  ## install library, headers and command (PREFIX, DESTDIR)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include/duet
	install -m 755 $(DIR)/duet $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(DIR)/libduet.a $(DIR)/libduet.so $(DESTDIR)$(PREFIX)/lib
	install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/duet

clean:  ## remove everything that was built
	rm -rf $(BUILD)

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile
	@echo '  variables: CC=clang  MARCH=x86-64-v3  SAN=address,undefined  V=1  CFLAGS="-O0 -g"'

print-%: ; @echo '$* = $($*)'

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
endif
