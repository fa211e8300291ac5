# make demo     set up, build, and tune a real storage load on this machine; ends with a report
# make hci      the same with the easy run of a private Ceph cluster, in one block
# make test     set up and run every test: fast ones, and those that drive real parts
# make build    static binaries: ./plimsoll, and ./plimsoll-agent for other machines and guests
# make release  archives, Debian and RPM packages and an image for amd64 and arm64, with checksums
# make site     the documentation as a web site with a search
# make check    what a change must pass: format, vet, static analysis, tests with the race detector, fuzzing
# make test-deep   the statistical promises with many more simulated studies, and every long test with real parts; takes hours
# make bench    benchmarks against named peers and limits

GO = bin/go
# The flags are those of ./build, so that packages are compiled once.
REAL = PLIMSOLL_REAL=1 CGO_ENABLED=0 $(GO) test -trimpath

.PHONY: demo hci test test-together test-heavy test-guests test-servers test-last test-fast test-deep build release site check bench clean

demo: results = results/demo-$(shell date +%Y%m%d-%H%M%S)
demo:
	@./setup run
	@$(MAKE) --no-print-directory build
	./plimsoll tune hci-diagnostics --rounds 1 --out $(results)

# Packages are installed while plimsoll is built. Windows are short, and may drift by the margin: one block has no verdict.
hci: results = results/hci-$(shell date +%Y%m%d-%H%M%S)
hci:
	@./setup hci go
	@./build plimsoll & build=$$!; ./setup hci packages; installed=$$?; wait $$build && exit $$installed
	./plimsoll run hci-easy --blocks 1 --set measure.window=2s --set measure.longest=4s --set margin=30% --out $(results)

build:
	@./setup build
	@./build

release:
	@./release

site:
	@./site

# What takes long begins first, or it would be waited for at the end.
long = $(addprefix plimsoll/internal/, vsphere/sim workload/storage trial workload/keyvalue workload/web report)

# Guests and servers take all CPUs for minutes: they come after what measures time, guests beside the others, long ones first. Emulated
# guests take turns: a second package of them would only wait. What changes settings of the host or
# lives by leases comes last: it mostly waits.
few = $(shell test $$(nproc) -gt 3 && echo 2 || echo 1)
guests = $(addprefix plimsoll/internal/, \
	platforms/guest platforms/vsphere guest/qemu platforms/libvirt guest/disk agent/boot libvirt guest/initramfs)
servers = $(addprefix plimsoll/internal/, \
	live/libvirt workload/cqliot service/ceph workload/orderentry service/postgresql workload/brokerage workload/oltp workload/dvdstore \
	workload/compile platforms/ssh guest/vswitch service/mariadb guest/netem router nbd service service/cassandra workload/engine/dataset \
	workload/engine)
last = plimsoll/cmd/plimsoll plimsoll/internal/agent/fabric/hub plimsoll/internal/platforms/fleet

test:
	@./setup test
	@$(MAKE) --no-print-directory --keep-going test-together test-heavy test-last

test-together:
	$(REAL) -timeout 30m $(long) $(filter-out $(guests) $(servers) $(last), $(shell $(GO) list ./...))

test-heavy:
	@$(MAKE) --no-print-directory test-guests & guests=$$!; $(MAKE) --no-print-directory test-servers; servers=$$?; wait $$guests && exit $$servers

test-guests:
	$(REAL) -timeout 30m -p $(few) $(guests)

test-servers:
	$(REAL) -timeout 30m -p $(few) $(servers)

test-last:
	$(REAL) -timeout 30m -p 2 -parallel 8 $(last)

test-fast:
	@./setup build
	$(GO) test ./...

# One package at a time: some measure time.
test-deep:
	@./setup deep
	PLIMSOLL_REAL=1 PLIMSOLL_DEEP=1 $(GO) test -timeout 5h -p 1 ./...

check:
	@./setup test
	./check

bench:
	@./setup run
	$(GO) run ./bench

clean:
	rm -rf plimsoll plimsoll-agent bin
