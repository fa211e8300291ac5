package guest

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/hosttest"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
)

// Everything that can be varied about a guest is read back where it takes effect, several
// levels in one boot each: first what QEMU does itself, then what a server does for it,
// with the NVDIMM in the place of the disk.
func TestTheShapeIsReadBack(t *testing.T) {
	effort.Deep(t, "boot guests with all shapes")
	b := booted(t, func(s *spec.Guest) { s.VCPUs, s.Pmem = 2, 64<<20 })
	levels := map[string]string{
		"guest.nodes": "2", "guest.model": "Skylake-Server-noTSX-IBRS,-avx512f", "guest.cache": "directsync", "guest.aio": "native", "guest.iothread": "true",
		"guest.queues": "2", "guest.io_filter": "none", "guest.storage": "dax", "guest.parameters": "mitigations=auto plimsoll.test=1",
		"guest.pin": "0/1", "guest.host_nodes": "0",
	}
	if os.Geteuid() == 0 {
		levels["guest.scheduler"] = "batch:3"
	}
	if hugePagesOfHost(t, 128) {
		levels["guest.huge_pages"] = "2MiB"
	}
	platformtest.SetAndReadBack(t, b.Machine(), vm.Factors(), levels)
	first := b.vms.First().running.qemu.Load().PID()
	m := b.Machine()
	write := func(text string) {
		t.Helper()
		if err := m.WriteFile(t.Context(), spec.Scratch+"/kept", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("in memory")
	if b.vms.First().running.qemu.Load().PID() != first {
		t.Error("it took more than one boot")
	}
	platformtest.SetAndReadBack(t, b.Machine(), vm.Factors(), map[string]string{
		"guest.cache": "writeback", "guest.aio": "threads", "guest.iothread": "false", "guest.io_filter": "stats daemon:null", "guest.storage": "disk",
		"guest.controller": "virtio-scsi", "guest.queues": "1", "guest.pin": "none", "guest.parameters": "none",
	})
	write("on the disk")
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sync"}}); err != nil || r.Exit != 0 {
		t.Errorf("%v, exit status %d", err, r.Exit)
	}
	st, err := b.vms.First().running.disk.Status()
	if err != nil || len(st.Counts) < 2 || st.Counts[1].Bytes == 0 {
		t.Errorf("the server has counted %+v, %v", st, err)
	}
	if given, err := b.vms.First().Given(t.Context()); err != nil || given.Others <= 0 {
		t.Errorf("%+v, %v", given, err)
	}
	platformtest.SetAndReadBack(t, b.Machine(), vm.Factors(), map[string]string{"guest.storage": "pmem", "guest.io_filter": "delay:1ms"})
	if text, err := m.ReadFile(t.Context(), spec.Scratch+"/kept"); err != nil || string(text) != "in memory" {
		t.Errorf("the NVDIMM kept %q, %v", text, err)
	}
}

// sparePages are for programs of others that take free huge pages, as servers of PostgreSQL do.
const sparePages = 384

// hugePagesOfHost has the host set huge pages of 2 MiB aside until the test ends, where it
// lets us.
func hugePagesOfHost(t *testing.T, pages int) bool {
	t.Helper()
	hosttest.Exclusive(t)
	const all, free = "/proc/sys/vm/nr_hugepages", "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
	former, err := os.ReadFile(all)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(former)))
	if err != nil || os.WriteFile(all, []byte(strconv.Itoa(n+pages+sparePages)), 0) != nil {
		return false
	}
	t.Cleanup(func() {
		if err := os.WriteFile(all, former, 0); err != nil {
			t.Error(err)
		}
	})
	text, err := os.ReadFile(free)
	has, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && has >= pages
}
