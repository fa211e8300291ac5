package libvirt

import (
	"strings"
	"testing"
	"testing/fstest"

	"plimsoll/internal/libvirt"
)

// A domain's process is the one with its UUID, whatever the domain and others are called.
func TestTheProcessOfADomain(t *testing.T) {
	command := func(words ...string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.Join(words, "\x00") + "\x00")}
	}
	qemu := func(uuid string) *fstest.MapFile {
		return command("/usr/bin/qemu-system-x86_64", "-name", "guest=db1,debug-threads=on", "-S", "-uuid", uuid, "-display", "none")
	}
	proc := fstest.MapFS{
		"1/cmdline":       command("/sbin/init"),
		"17/cmdline":      qemu("00010203-0405-0607-0809-0a0b0c0d0e00"),
		"40/cmdline":      qemu("00010203-0405-0607-0809-0a0b0c0d0e0f"),
		"41/stat":         command("a process that ends"),
		"50/cmdline":      command("grep", "00010203-0405-0607-0809-0a0b0c0d0e0f"),
		"60/cmdline":      command("qemu-system-x86_64", "-uuid"),
		"self/cmdline":    qemu("00010203-0405-0607-0809-0a0b0c0d0e0f"),
		"sys/kernel/name": command(),
	}
	d := libvirt.Domain{Name: "db1", UUID: [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
	if pid, err := processOf(proc, d); pid != 40 || err != nil {
		t.Errorf("process %d, %v", pid, err)
	}
	d.UUID[0] = 1
	if pid, err := processOf(proc, d); pid != 0 || err == nil || !strings.Contains(err.Error(), "domain db1") {
		t.Errorf("of a domain elsewhere: process %d, %v", pid, err)
	}
}
