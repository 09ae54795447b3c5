# make            builds bin/saranga
# make run        starts a broker on an instance under var/, which is created if there is none
# make test       everything that a change has to pass, within 25 minutes on two cores
# make lint       formatting, vet, staticcheck, licences, import graph
# make drill      pairs of Saranga and Artemis and Raft members that fail in every way, at most 90 minutes
# make soak       the long tier of the suites, at most 90 minutes; adds an entry to docs/soak.md
# make bench      Saranga and Artemis side by side, at most 40 minutes; see docs/benchmarks.md
# make record     the recordings of real Artemis that the suites compare with
# make fuzz       every fuzz target, FUZZ_SECONDS in all
# make licenses   THIRD_PARTY_LICENSES

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:

GO ?= go

# The version is the tag that describes the commit; without one the source's own stands.
VERSION := $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null | sed 's/^v//')
LDFLAGS := -s -w $(if $(VERSION),-X main.version=$(VERSION))

BINARY := bin/saranga
INSTANCE ?= var/broker

# Packages where goroutines meet: tested under the race detector, too.
RACE := ./broker ./broker/logging ./broker/management ./broker/security ./broker/timers ./broker/watchdog ./cmd/saranga ./cluster \
	./ha ./ha/quorum/... ./ha/replication/... ./ha/sharedstore ./journal ./journal/large ./raftfsm ./raftfsm/zk \
	./wire/transport ./wire/core/client ./wire/core/server

# Suites that run more than one process. They use this binary.
suites = $(patsubst %/,./%,$(sort $(dir $(wildcard $(addsuffix /*_test.go,$(1))))))
SUITES := $(call suites,test/peers test/interop test/crash)
DRILLS := $(call suites,test/ha/* test/drill/*)
export SARANGA_BIN := $(CURDIR)/$(BINARY)

FUZZ_SECONDS ?= 60

.PHONY: build
build:
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(BINARY) ./cmd/saranga

# create prints the password that it makes once and keeps it in etc/initial-password, readable by its owner only.
.PHONY: run
run: build
	@if [ ! -e $(INSTANCE)/etc/broker.xml ]; then \
		mkdir -p $(dir $(INSTANCE)); \
		$(BINARY) create $(INSTANCE) --silent --user admin --require-login --host 127.0.0.1; \
	fi
	@echo "Instance $(INSTANCE), user admin, password in $(INSTANCE)/etc/initial-password. Acceptors:"
	@sed -n 's|.*<acceptor name="\([^"]*\)">tcp://\([^?<]*\).*|  \1 \2|p' $(INSTANCE)/etc/broker.xml
	@exec $(BINARY) run --instance $(INSTANCE)

.PHONY: peers
peers:
	test/peers/install-artemis.sh

# Fast tests first, then the race detector, then the suites, then fuzzing.
.PHONY: test
test: build peers
	$(GO) test -timeout 5m $$($(GO) list ./... | grep -v -F $(patsubst ./%,-e /%,$(SUITES) $(DRILLS)))
	$(GO) test -race -timeout 10m $(RACE)
	$(GO) test -count=1 -timeout 15m $(SUITES)
	$(MAKE) fuzz

# Pairs and members of real processes, killed, cut off and put together again.
.PHONY: drill
drill: build peers
	$(GO) test -count=1 -p 1 -timeout 85m $(DRILLS)

.PHONY: soak
soak: build peers
	$(GO) run ./test/soak

.PHONY: bench
bench: build peers
	$(GO) run ./test/bench

# What real Artemis answers to the JMS program, recorded twice and kept if both are the same, and what its commands print.
.PHONY: record
record: peers
	$(GO) test -count=1 -timeout 60m -run '^(TestJMS|TestCommandLine)$$' ./test/interop -args -record

.PHONY: lint
lint:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted (gofmt -w):" $$bad; exit 1; fi
	$(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
	$(GO) run ./test/licenses -check
	$(GO) test ./test/architecture

.PHONY: licenses
licenses:
	$(GO) run ./test/licenses

# Each target gets an equal part of the time, at least 2 seconds. What a target finds is kept in its package's
# testdata/fuzz and fails go test from then on. The output is in var/fuzz.
.PHONY: fuzz
fuzz:
	$(GO) run ./test/soak -only-fuzz $(FUZZ_SECONDS)s -logs var/fuzz

.PHONY: clean
clean:
	rm -rf bin
