package disk

import (
	_ "embed"
	"encoding/binary"
	"unicode/utf16"
)

//go:generate sh -c "as -o stub.o stub.asm && objcopy -O binary -j .text stub.o stub.bin && rm stub.o"

// stub is the assembled stub.asm; its four parameters follow it.
//
//go:embed stub.bin
var stub []byte

const (
	pageSize    = 0x1000 // of sections in memory, in bytes
	fileAlign   = 0x200  // of sections in the file
	headersSize = 0x400
	codeAt      = pageSize // address of the first section in memory

	sectionCode = 0x60000020 // code, execute, read
	sectionData = 0x40000040 // initialised data, read
	sectionGone = 0x42000040 // the same, and discardable
)

type section struct {
	name    string
	flags   uint32
	content []byte
}

// application makes the EFI application: the stub, a command line and a kernel, in one PE
// file.
func application(kernel []byte, command string) []byte {
	options := utf16le(command)
	optionsAt := uint64(codeAt + up(len(stub)+32, pageSize))
	kernelAt := optionsAt + uint64(up(len(options), pageSize))
	base := uint64(codeAt + len(stub)) // offsets are relative to the parameters
	code := append([]byte{}, stub...)
	for _, n := range []uint64{kernelAt - base, uint64(len(kernel)), optionsAt - base, uint64(len(options))} {
		code = binary.LittleEndian.AppendUint64(code, n)
	}
	// Some firmware refuses applications without relocations: two that have no effect.
	none := []byte{0, codeAt >> 8, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0}
	return portable([]section{
		{".text", sectionCode, code},
		{".cmdline", sectionData, options},
		{".linux", sectionData, kernel},
		{".reloc", sectionGone, none},
	})
}

func utf16le(text string) []byte {
	var b []byte
	for _, u := range append(utf16.Encode([]rune(text)), 0) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func up(n, to int) int { return (n + to - 1) / to * to }

// portable lays out sections as a PE32+ file for UEFI on x86-64 (Microsoft's PE Format). The
// first contains the code, the last the relocations.
func portable(sections []section) []byte {
	le := binary.LittleEndian
	head := make([]byte, headersSize)
	copy(head, "MZ")
	const at = 0x40
	le.PutUint32(head[0x3c:], at)
	copy(head[at:], "PE\x00\x00")
	coff := head[at+4:]
	le.PutUint16(coff, 0x8664)
	le.PutUint16(coff[2:], uint16(len(sections)))
	le.PutUint16(coff[16:], 112+6*8)
	le.PutUint16(coff[18:], 0x0226) // executable, large addresses, no line numbers, no debug information
	optional := coff[20:]
	table := optional[112+6*8:]
	memory, file := codeAt, headersSize
	out := make([]byte, 0, headersSize)
	for i, s := range sections {
		row := table[40*i:]
		raw := up(len(s.content), fileAlign)
		copy(row[:8], s.name)
		le.PutUint32(row[8:], uint32(len(s.content)))
		le.PutUint32(row[12:], uint32(memory))
		le.PutUint32(row[16:], uint32(raw))
		le.PutUint32(row[20:], uint32(file))
		le.PutUint32(row[36:], s.flags)
		if i == len(sections)-1 {
			le.PutUint32(optional[112+5*8:], uint32(memory)) // relocations
			le.PutUint32(optional[112+5*8+4:], uint32(len(s.content)))
		}
		memory += up(len(s.content), pageSize)
		file += raw
		out = append(out, s.content...)
		out = append(out, make([]byte, raw-len(s.content))...)
	}
	le.PutUint16(optional, 0x20b)
	le.PutUint32(optional[4:], uint32(up(len(sections[0].content), fileAlign)))
	le.PutUint32(optional[16:], codeAt) // entry
	le.PutUint32(optional[20:], codeAt)
	le.PutUint32(optional[32:], pageSize)
	le.PutUint32(optional[36:], fileAlign)
	le.PutUint16(optional[48:], 5) // subsystem version
	le.PutUint32(optional[56:], uint32(memory))
	le.PutUint32(optional[60:], headersSize)
	le.PutUint16(optional[68:], 10) // an EFI application
	le.PutUint32(optional[108:], 6)
	return append(head, out...)
}
