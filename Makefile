# ucx-rs. `make` builds release libraries under their genuine names into build/lib/, and the
# programs into build/bin/.
#
#   make, make install PREFIX=/usr/local DESTDIR=   build and install
#   make demo          an unmodified MPI program over our libraries
#   make test          all tests in their quick form (under 25 minutes)
#   make test-clients  the whole suites of the clients
#   make fuzz          every fuzz target for FUZZ_SECONDS (60)
#   make soak, make bench, make lint, make headers, make deps, make clean

PREFIX     ?= /usr/local
ifneq ($(words $(PREFIX)),1)
$(error PREFIX is a path without spaces)
endif
override PREFIX := $(abspath $(PREFIX))
LIBDIR     ?= $(PREFIX)/lib
BINDIR     ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
DESTDIR    ?=

CARGO  ?= cargo
CC     ?= cc
PYTHON ?= python3
export CC

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
TARGET  := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
# `checked` is release code with overflow checks and debug assertions.
PROFILE ?= release
CDYLIB  := $(TARGET)/$(PROFILE)/libucx.so

BUILD   ?= build
LIB     := $(BUILD)/lib
BIN     := $(BUILD)/bin
PROGRAMS := ucx_info ucx_perftest
REAL    := $(LIB)/libucp.so.0.0.0
ALIAS   := libucx-rs.so.0
EMPTY   := libuct.so.0 libucs.so.0 libucm.so.0 libucs_signal.so.0
STUBS   := libucp.so libuct.so libucs.so libucm.so
PC      := ucx.pc ucx-uct.pc ucx-ucs.pc
CMAKE   := ucx-config.cmake ucx-config-version.cmake ucx-targets.cmake

# Where the genuine packages that tests compare with are put; see abi-tests/tools/provision.
UCX_RS_DEPS ?= $(CURDIR)/.deps
export UCX_RS_DEPS

FUZZ_SECONDS ?= 60

.PHONY: all libs cdylib install uninstall headers demo test test-clients checked-libs fuzz soak bench lint deps clean
.DELETE_ON_ERROR:

all: libs

# ---- libraries -------------------------------------------------------------------------------

cdylib:
	$(CARGO) build --profile $(PROFILE) --lib --bins

libs: cdylib
	@$(MAKE) --no-print-directory $(BUILD)/stamp

$(CDYLIB): cdylib

# Everything in build/lib follows from the one shared object.
$(BUILD)/stamp: $(CDYLIB) Makefile abi-tests/tools/stubs.py $(wildcard pkgconfig/*.in pkgconfig/cmake/*.in)
	@mkdir -p $(LIB)/pkgconfig $(LIB)/cmake/ucx $(BIN)
	install -m 755 $(CDYLIB) $(REAL).new && mv -f $(REAL).new $(REAL)
	ln -sfn libucp.so.0.0.0 $(LIB)/libucp.so.0
	ln -sfn libucp.so.0.0.0 $(LIB)/$(ALIAS)
	$(foreach name,$(EMPTY),$(call link_empty,$(name),$(LIB)/$(name)) &&) true
	$(PYTHON) abi-tests/tools/stubs.py $(LIB)/libucp.so.0 $(LIB)
	ln -sfn libucs_signal.so.0 $(LIB)/libucs_signal.so
	ln -sfn $$(realpath -m --relative-to=$(BUILD) include) $(BUILD)/include
	for f in $(PROGRAMS); do \
	  install -m 755 $(TARGET)/$(PROFILE)/$$f $(BIN)/$$f.new && mv -f $(BIN)/$$f.new $(BIN)/$$f || exit 1; done
	$(call fill,pkgconfig,$(PC),$(LIB)/pkgconfig,$(CURDIR)/$(BUILD),$${prefix}/lib,$${prefix}/include)
	$(call fill,pkgconfig/cmake,$(CMAKE),$(LIB)/cmake/ucx,$(CURDIR)/$(BUILD),,)
	@touch $@

# $(call link_empty,SONAME,FILE): an object whose only content is that it needs libucp.so.0. It needs
# libc too, or GNU ld would pass it over when it follows needed objects, and take a genuine one.
define link_empty
$(CC) -shared -nostdlib -x c /dev/null -x none -o $(2).new -Wl,-soname,$(1) -Wl,--build-id=none \
  -Wl,--disable-new-dtags,-rpath,'$$ORIGIN' -Wl,--no-as-needed $(LIB)/libucp.so.0 -lc && mv -f $(2).new $(2)
endef

# $(call fill,FROM,FILES,TO,PREFIX,LIBDIR,INCLUDEDIR): templates with their values filled in.
define fill
@for f in $(2); do sed -e 's|@PREFIX@|$(4)|; s|@LIBDIR@|$(5)|; s|@INCLUDEDIR@|$(6)|' \
  -e 's|@VERSION@|$(VERSION)|; s|@INCLUDE_FROM_LIB@|$(or $(7),../include)|' \
  $(1)/$$f.in > $(3)/$$f; done
endef

# ---- installation ----------------------------------------------------------------------------

# The path from the library folder to the headers, for the CMake package, which may be moved.
INCLUDE_FROM_LIB = $(shell realpath -m --relative-to='$(LIBDIR)' '$(INCLUDEDIR)')

install: libs
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/ucx $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(BINDIR)
	install -m 755 $(REAL) $(DESTDIR)$(LIBDIR)/libucp.so.0.0.0
	ln -sfn libucp.so.0.0.0 $(DESTDIR)$(LIBDIR)/libucp.so.0
	ln -sfn libucp.so.0.0.0 $(DESTDIR)$(LIBDIR)/$(ALIAS)
	for f in $(EMPTY); do \
	  install -m 755 $(LIB)/$$f $(DESTDIR)$(LIBDIR)/$$f.0.0 && \
	  ln -sfn $$f.0.0 $(DESTDIR)$(LIBDIR)/$$f || exit 1; done
	for f in $(STUBS); do install -m 755 $(LIB)/$$f $(DESTDIR)$(LIBDIR)/$$f || exit 1; done
	ln -sfn libucs_signal.so.0 $(DESTDIR)$(LIBDIR)/libucs_signal.so
	for f in $(PROGRAMS); do install -m 755 $(BIN)/$$f $(DESTDIR)$(BINDIR)/$$f || exit 1; done
	if [ -d include ]; then cd include && find . -name '*.h' | while read -r h; do \
	  install -D -m 644 "$$h" "$(abspath $(DESTDIR)$(INCLUDEDIR))/$$h" || exit 1; done; fi
	$(call fill,pkgconfig,$(PC),$(DESTDIR)$(LIBDIR)/pkgconfig,$(PREFIX),$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR)),$(patsubst $(PREFIX)/%,$${prefix}/%,$(INCLUDEDIR)))
	$(call fill,pkgconfig/cmake,$(CMAKE),$(DESTDIR)$(LIBDIR)/cmake/ucx,$(PREFIX),,,$(INCLUDE_FROM_LIB))

uninstall:
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,$(PROGRAMS))
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libucp.so.0 libucp.so.0.0.0 $(ALIAS) $(EMPTY) $(addsuffix .0.0,$(EMPTY)) $(STUBS) libucs_signal.so)
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/pkgconfig/,$(PC)) $(addprefix $(DESTDIR)$(LIBDIR)/cmake/ucx/,$(CMAKE))
	if [ -d include ]; then cd include && find . -name '*.h' | while read -r h; do \
	  rm -f "$(abspath $(DESTDIR)$(INCLUDEDIR))/$$h"; done; fi

# ---- tests -----------------------------------------------------------------------------------

TOOL_FLAGS   := --manifest-path abi-tests/tools/headers/Cargo.toml --target-dir $(TARGET)/tools
SIM_FLAGS    := --manifest-path abi-tests/sim/cuda/Cargo.toml --target-dir $(TARGET)/sim/cuda
HEADERS_TOOL := $(CARGO) run --quiet $(TOOL_FLAGS) --
RUN_TESTS    := $(PYTHON) abi-tests/tools/run_tests.py

deps:
	abi-tests/tools/provision

headers:
	$(HEADERS_TOOL)

demo: deps libs
	$(PYTHON) abi-tests/demo/demo.py

test: deps libs
	$(RUN_TESTS) test

test-clients: deps libs checked-libs
	$(RUN_TESTS) test-clients

# The same libraries as a debug build has them: what a test reaches is checked once more inside.
checked-libs:
	$(MAKE) --no-print-directory libs PROFILE=checked BUILD=build/checked

soak: deps libs
	UCX_RS_MODEL_CASES=100000 $(CARGO) test --lib -- replay::model
	$(PYTHON) abi-tests/clients/run.py --full --only "rails, 500 kills"
	$(PYTHON) abi-tests/soak/soak.py

fuzz:
	fuzz/run $(FUZZ_SECONDS)

bench: deps libs
	$(PYTHON) abi-tests/bench/bench.py

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) fmt --check --manifest-path abi-tests/tools/headers/Cargo.toml
	$(CARGO) clippy --all-targets $(TOOL_FLAGS) -- -D warnings
	$(HEADERS_TOOL) --check
	$(CARGO) fmt --all --check --manifest-path abi-tests/sim/cuda/Cargo.toml
	$(CARGO) clippy $(SIM_FLAGS) -- -D warnings
	abi-tests/tools/provision lint
	abi-tests/tools/lint_python

clean:
	$(CARGO) clean
	rm -rf $(BUILD)
