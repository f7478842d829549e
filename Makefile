# `make test` runs the checks, and the tests on real servers in their usual size. The README refers to it, and .ci/run calls it.
# `make test-full` runs everything in full size.

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile

.PHONY: test
test: ## run the checks, and the tests on real servers (installed if missing) in their usual size: 6 to 8 minutes on 2 cores
	@scripts/test.sh

.PHONY: test-full
test-full: ## run everything in full size, with the race detector, the models, fuzzing and each benchmark: 1 to 2 hours on 2 cores
	@scripts/test.sh full

.PHONY: soak-tests
soak-tests: ## run make test twelve times, idle, busy, and with other numbers of CPUs, and print a table of the runs
	@scripts/soak-tests.sh

.PHONY: check
check: ## run the quick part, without servers: formatting, vet, staticcheck, other systems, short tests
	@scripts/check.sh
	go test -short -timeout 5m ./...

# The following targets run the tests of one kind of store, with the race detector. With RINGUID_FULL=1, in full size.

.PHONY: test-redis
test-redis: ## run only the tests of the Redis store, on a real server, which must be installed
	RINGUID_REQUIRE_SERVER=1 go test -race -count=1 -timeout 5m ./internal/testkit/redistest
	cd stores/redisstore && RINGUID_REQUIRE_SERVER=1 go test -race -count=1 -timeout 10m ./...

.PHONY: test-sql
test-sql: ## run only the tests of sqlstore and of Disposable, on real MariaDB servers and clusters
	RINGUID_REQUIRE_SERVER=1 PATH=$$PATH:/usr/sbin go test -race -count=1 -timeout 15m ./workerassign ./stores/sqlstore ./internal/testkit/slottabletests

.PHONY: test-postgres
test-postgres: ## run only the tests on PostgreSQL, on real servers, which must be installed
	cd internal/testkit/postgrestest && RINGUID_REQUIRE_SERVER=1 go test -race -count=1 -timeout 15m ./...

.PHONY: test-etcd
test-etcd: ## run only the tests of the etcd store, on real servers, which must be installed
	RINGUID_REQUIRE_SERVER=1 go test -race -count=1 -timeout 5m ./internal/testkit/etcdtest
	cd stores/etcdstore && RINGUID_REQUIRE_SERVER=1 go test -race -count=1 -timeout 20m ./...

.PHONY: test-zookeeper
test-zookeeper: ## run only the tests of the ZooKeeper store, on a real server, which must be installed
	RINGUID_REQUIRE_SERVER=1 go test -race -count=1 -timeout 5m ./internal/testkit/zookeepertest
	cd stores/zookeeperstore && RINGUID_REQUIRE_SERVER=1 go test -race -count=1 -timeout 20m ./...

.PHONY: soak
soak: ## run fleets on all kinds of stores at once for SOAK (default 1h), with random faults, and print a table
	cd internal/testkit/allstores && PATH=$$PATH:/usr/sbin RINGUID_REQUIRE_SERVER=1 go test -count=1 -v -timeout 0 -parallel 10 -run '^TestSoak$$' . -soak $${SOAK:-1h}

.PHONY: release-check
release-check: ## install the command as users do, from modules with the versions that scripts/release.sh writes
	cd cmd/ringuid && RINGUID_REQUIRE_SERVER=1 RINGUID_FULL=1 go test -count=1 -timeout 20m -run TestInstallOfRelease -v .

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (default 60s)
	@scripts/fuzz.sh

.PHONY: bench
bench: ## run all measurements, ten rounds, and write benchmarks/RESULTS.md; with BENCH=regexp, print a table of those benchmarks only
	@scripts/bench.sh

.PHONY: measure-fleet
measure-fleet: ## measure what 10,000 generators cost each slot store, in one and a half hours, and print the table of doc/internals/fleet.md; HOSTS=n for fewer
	@scripts/measure-fleet.sh

.PHONY: proof
proof: ## check the models of the ring and of recycled leases with Spin, small configurations, and refute their mutants (doc/internals/proof.md)
	@scripts/proof.sh small

.PHONY: proof-full
proof-full: ## the same with the large configurations, which takes 15 minutes and 6 GB of memory
	@scripts/proof.sh full

.PHONY: mutants
mutants: ## change the core packages in ways that are wrong, one after the other; the tests must notice each; PACKAGES="uid segment": only these
	@scripts/gremlins.sh $(PACKAGES)
	@scripts/mutants.sh $(PACKAGES)

.PHONY: guard
guard: ## measure the most frequent calls; fail if they are far slower than their limits (a part of make test-full)
	@cd benchmarks && go run ./cmd/guard

.PHONY: bench-server
bench-server: ## measure the HTTP server next to one that returns a constant; fail if it takes more than 1.1 times as long (a list of 1,000: 1.2); BENCHFLAGS="-memory 10m": its memory
	@cd cmd/ringuid && go run ./internal/benchserver $(BENCHFLAGS)

.PHONY: lint-kubernetes
lint-kubernetes: ## run kube-score on the Kubernetes manifest of the server
	@scripts/kubernetes.sh

.PHONY: vuln
vuln: ## run govulncheck for all modules; requires https://vuln.go.dev
	@scripts/vuln.sh
