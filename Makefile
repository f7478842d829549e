# `make test` is what the README names and .ci/run calls: everything, on real components.

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' Makefile

.PHONY: test
test: ## everything: checks, cross-compiles, race tests with a real MariaDB (installed if missing), examples, fuzzing, benchmarks once
	@scripts/test.sh

.PHONY: check
check: ## the quick part, without a server: formatting, vet, staticcheck, short tests
	@scripts/check.sh
	go test -short -timeout 5m ./...

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (60s)
	@scripts/fuzz.sh

.PHONY: bench
bench: ## everything that is measured, ten rounds, into benchmarks/RESULTS.md; BENCH=regexp: a table of those alone
	@scripts/bench.sh

.PHONY: guard
guard: ## the hot calls beside their limits; fails far beyond them
	@cd benchmarks && go run ./cmd/guard
