// Package disk makes a disk that any hypervisor with UEFI firmware boots: a GPT with one EFI
// system partition that contains a kernel and an initramfs. It is not written to later, and
// equal inputs give equal bytes. The kernel is not signed, so Secure Boot must be off.
package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode/utf16"
)

// Spec describes a bootable disk.
type Spec struct {
	Kernel    []byte // a bzImage with the EFI stub
	Initramfs []byte
	Command   string // command line of the kernel, without initrd=
}

const (
	firstSector = 2048 // of the partition: aligned to one MiB, the usual default
	gptEntries  = 128
	gptSectors  = gptEntries*128/sector + 1 // entries and a header
	mebibyte    = 1 << 20
)

// Type of an EFI system partition (UEFI 2.10, table 5.7), in on-disk byte order.
const typeESP = "\x28\x73\x2a\xc1\x1f\xf8\xd2\x11\xba\x4b\x00\xa0\xc9\x3e\xc9\x3b"

// Raw makes the disk, byte for byte.
func Raw(s Spec) ([]byte, error) {
	if !bootable(s.Kernel) {
		return nil, errors.New("create a disk image: the kernel has no EFI stub (CONFIG_EFI_STUB): use a bzImage that has one")
	}
	if strings.ContainsAny(s.Command, "\x00\n") {
		return nil, errors.New("create a disk image: the kernel command line contains a newline")
	}
	// The kernel's EFI stub finds ramdisks on the device that it was loaded from.
	app := application(s.Kernel, strings.TrimSpace(`initrd=\INITRD.IMG `+s.Command))
	content := len(app) + len(s.Initramfs)
	sectors := max(up(content+content/32+2*mebibyte, mebibyte), 36*mebibyte) / sector
	esp, err := fat32(sectors, []file{
		{name: "EFI        ", folder: true, children: []file{
			{name: "BOOT       ", folder: true, children: []file{{name: "BOOTX64 EFI", content: app}}},
		}},
		{name: "INITRD  IMG", content: s.Initramfs},
	})
	if err != nil {
		return nil, fmt.Errorf("create a disk: %w", err)
	}
	out := make([]byte, (firstSector+sectors)*sector+mebibyte)
	copy(out[firstSector*sector:], esp)
	partition(out, sectors, sha256.Sum256(esp))
	return out, nil
}

// bootable reports whether a kernel is also a PE file, which firmware can start.
func bootable(kernel []byte) bool {
	if len(kernel) < 0x250 || string(kernel[:2]) != "MZ" {
		return false
	}
	at := int64(binary.LittleEndian.Uint32(kernel[0x3c:]))
	return at+6 <= int64(len(kernel)) && string(kernel[at:at+6]) == "PE\x00\x00\x64\x86"
}

// partition writes the partition table to both ends of a disk (UEFI 2.10, 5.3), with GUIDs
// derived from its content.
func partition(disk []byte, sectors int, identity [32]byte) {
	last := uint64(len(disk)/sector - 1)
	protective := disk[446:]
	protective[4] = 0xee
	binary.LittleEndian.PutUint32(protective[8:], 1)
	binary.LittleEndian.PutUint32(protective[12:], uint32(last))
	copy(protective[1:], "\x00\x02\x00")
	copy(protective[5:], "\xff\xff\xff")
	disk[510], disk[511] = 0x55, 0xaa

	entries := make([]byte, gptEntries*128)
	copy(entries, typeESP)
	copy(entries[16:], random(identity[:16]))
	binary.LittleEndian.PutUint64(entries[32:], firstSector)
	binary.LittleEndian.PutUint64(entries[40:], uint64(firstSector+sectors-1))
	for i, u := range utf16.Encode([]rune("plimsoll")) {
		binary.LittleEndian.PutUint16(entries[56+2*i:], u)
	}
	copy(disk[2*sector:], entries)
	backup := last - gptSectors + 1
	copy(disk[backup*sector:], entries)
	header := func(self, other, table uint64) {
		h := disk[self*sector:]
		le := binary.LittleEndian
		copy(h, "EFI PART\x00\x00\x01\x00")
		le.PutUint32(h[12:], 92)
		le.PutUint64(h[24:], self)
		le.PutUint64(h[32:], other)
		le.PutUint64(h[40:], gptSectors+1)
		le.PutUint64(h[48:], last-gptSectors)
		copy(h[56:], random(identity[16:]))
		le.PutUint64(h[72:], table)
		le.PutUint32(h[80:], gptEntries)
		le.PutUint32(h[84:], 128)
		le.PutUint32(h[88:], crc32.ChecksumIEEE(entries))
		le.PutUint32(h[16:], crc32.ChecksumIEEE(h[:92]))
	}
	header(1, last, 2)
	header(last, 1, backup)
}

// random formats bytes as a random UUID (RFC 9562, version 4).
func random(id []byte) []byte {
	u := append([]byte{}, id[:16]...)
	u[7] = u[7]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}
