# make demo     set up, build, and tune a real storage load on this machine; ends with a report
# make test     set up and run every test: fast ones, and those that drive real parts
# make build    static binaries: ./plimsoll, and ./plimsoll-agent for other machines and guests
# make release  archives and Debian packages for amd64 and arm64, with checksums
# make check    what a change must pass: format, vet, static analysis, tests with the race detector, fuzzing
# make test-deep   the statistical promises with many more simulated studies
# make bench    benchmarks against named peers and limits

GO = bin/go

.PHONY: demo test test-together test-alone test-fast test-deep build release check bench clean

demo: results = results/demo-$(shell date +%Y%m%d-%H%M%S)
demo:
	@./setup run
	@$(MAKE) --no-print-directory build
	./plimsoll tune hci-diagnostics --rounds 1 --out $(results)

build:
	@./setup build
	@./build

release:
	@./release

# Guests and replays take all CPUs for minutes, and what lives by leases suffers from that:
# they come one by one, after what measures time.
alone = plimsoll/cmd/plimsoll$$|internal/guest/|internal/agent/boot$$|internal/platform/(guest|fleet|ssh|libvirt)$$|internal/libvirt$$|internal/cluster/replay(/|$$)|internal/agent/fabric/hub$$|internal/service(/(postgresql|mariadb|cassandra))?$$|internal/engine/|internal/workload/(orderentry|oltp|dvdstore|brokerage|cqliot|compile)$$

test:
	@./setup test
	@$(MAKE) --no-print-directory --keep-going test-together test-alone

test-together:
	PLIMSOLL_REAL=1 $(GO) test -timeout 30m $$($(GO) list ./... | grep -Ev '$(alone)')

test-alone:
	PLIMSOLL_REAL=1 $(GO) test -timeout 30m -p 1 $$($(GO) list ./... | grep -E '$(alone)')

test-fast:
	@./setup build
	$(GO) test ./...

test-deep:
	@./setup build
	PLIMSOLL_DEEP=1 $(GO) test -timeout 3h ./...

check:
	@./setup test
	./check

bench:
	@./setup run
	$(GO) run ./bench

clean:
	rm -rf plimsoll plimsoll-agent bin
