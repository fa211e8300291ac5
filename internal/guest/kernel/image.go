package kernel

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/guest/unpack"
)

// Offsets in a bzImage, in bytes (Documentation/arch/x86/boot.rst of the kernel).
const (
	setupSectors   = 0x1f1 // u8, in sectors of 512 bytes
	bootMagic      = 0x202 // "HdrS"
	bootVersion    = 0x206 // u16; the payload is located from 2.08 on
	releasePointer = 0x20e // u16, from 0x200
	payloadOffset  = 0x248 // u32, from the end of the setup sectors
	payloadLength  = 0x24c // u32
	headerEnd      = 0x250
)

// mostPlain is the maximum size of an unpacked kernel, in bytes.
const mostPlain = 512 << 20

var errNoKernel = errors.New("neither a bzImage nor an ELF kernel of x86-64")

func isELF(text []byte) bool { return bytes.HasPrefix(text, []byte(elf.ELFMAG)) }

func isBzImage(text []byte) bool {
	return len(text) >= headerEnd && string(text[bootMagic:bootMagic+4]) == "HdrS"
}

// releaseOf reads the version of a bzImage.
func releaseOf(image []byte) (string, error) {
	if !isBzImage(image) {
		return "", errNoKernel
	}
	at := int(binary.LittleEndian.Uint16(image[releasePointer:])) + 0x200
	if at == 0x200 || at >= len(image) {
		return "", errors.New("its header has no version")
	}
	text := image[at:min(at+256, len(image))]
	release, _, _ := bytes.Cut(text, []byte{0})
	return firstWord(string(release))
}

// banner reads the version of an uncompressed kernel from its boot message.
func banner(plain []byte) (string, error) {
	const before = "Linux version "
	for rest := plain; ; {
		i := bytes.Index(rest, []byte(before))
		if i < 0 {
			return "", errors.New("it has no version string")
		}
		rest = rest[i+len(before):]
		release, err := firstWord(string(rest[:min(256, len(rest))]))
		if err == nil && !strings.Contains(release, "%") {
			return release, nil
		}
	}
}

// firstWord is the version at the start of a text: from a digit to a space.
func firstWord(text string) (string, error) {
	word, _, _ := strings.Cut(text, " ")
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }
	if word == "" || word[0] < '0' || word[0] > '9' || strings.ContainsFunc(word, odd) || len(word) > 128 {
		return "", errors.New("its version cannot be read")
	}
	return word, nil
}

// extract unpacks the ELF kernel inside a bzImage.
func extract(image []byte) ([]byte, error) {
	if !isBzImage(image) {
		return nil, errNoKernel
	}
	if v := binary.LittleEndian.Uint16(image[bootVersion:]); v < 0x208 {
		return nil, fmt.Errorf("boot protocol %d.%02d does not locate the kernel", v>>8, v&0xff)
	}
	sectors := int64(image[setupSectors])
	if sectors == 0 {
		sectors = 4
	}
	from := (sectors+1)*512 + int64(binary.LittleEndian.Uint32(image[payloadOffset:]))
	length := int64(binary.LittleEndian.Uint32(image[payloadLength:]))
	if length < 8 || from+length > int64(len(image)) {
		return nil, errors.New("the compressed kernel is truncated")
	}
	payload := image[from : from+length]
	// The build appends the uncompressed length; gzip already ends with it.
	size := int64(binary.LittleEndian.Uint32(payload[length-4:]))
	if unpack.Probe(payload) != unpack.Gzip {
		payload = payload[:length-4]
	}
	if size > mostPlain {
		return nil, fmt.Errorf("a kernel of %d bytes", size)
	}
	plain, err := unpack.All(payload, size)
	if err != nil {
		return nil, err
	}
	if !isELF(plain) {
		return nil, errors.New("unknown compression")
	}
	if int64(len(plain)) != size {
		return nil, fmt.Errorf("%d bytes, but its header says %d", len(plain), size)
	}
	return plain, nil
}

// hasPVH reports whether an ELF kernel of x86-64 has the note XEN_ELFNOTE_PHYS32_ENTRY (type
// 18 of owner "Xen"), with its entry point for hypervisors.
func hasPVH(plain []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(plain))
	if err != nil || f.Machine != elf.EM_X86_64 {
		return false
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		notes, err := io.ReadAll(p.Open())
		if err == nil && holdsNote(notes, "Xen\x00", 18) {
			return true
		}
	}
	return false
}

// holdsNote walks ELF notes: lengths of owner and content, a type, and both
// padded to four bytes.
func holdsNote(notes []byte, owner string, kind uint32) bool {
	for len(notes) >= 12 {
		name := uint64(binary.LittleEndian.Uint32(notes))
		content := uint64(binary.LittleEndian.Uint32(notes[4:]))
		is := binary.LittleEndian.Uint32(notes[8:])
		next := 12 + (name+3)&^3 + (content+3)&^3
		if 12+name > uint64(len(notes)) {
			return false
		}
		if is == kind && string(notes[12:12+name]) == owner {
			return true
		}
		if next > uint64(len(notes)) {
			return false
		}
		notes = notes[next:]
	}
	return false
}
