package nbd

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// errEnded is returned if the client aborts the handshake.
var errEnded = errors.New("the client ended the handshake")

// handshake negotiates an export. Its answers are small and written at once.
type handshake struct {
	exports  []Export
	in       *bufio.Reader
	out      io.Writer
	noZeroes bool
	fixed    bool
}

// agree negotiates until the client has chosen an export.
func (h *handshake) agree() (*Export, error) {
	hello := binary.BigEndian.AppendUint64(nil, magicInit)
	hello = binary.BigEndian.AppendUint64(hello, magicOption)
	hello = binary.BigEndian.AppendUint16(hello, flagFixed|flagNoZeroes)
	if _, err := h.out.Write(hello); err != nil {
		return nil, fmt.Errorf("greet: %w", err)
	}
	var word [4]byte
	if _, err := io.ReadFull(h.in, word[:]); err != nil {
		return nil, fmt.Errorf("read the client's flags: %w", err)
	}
	flags := binary.BigEndian.Uint32(word[:])
	if flags&^(flagFixed|flagNoZeroes) != 0 {
		return nil, fmt.Errorf("unknown client flags %#x", flags)
	}
	h.fixed, h.noZeroes = flags&flagFixed != 0, flags&flagNoZeroes != 0
	for range mostOptions {
		if e, err := h.option(); e != nil || err != nil {
			return e, err
		}
	}
	return nil, fmt.Errorf("the client sent %d options and chose no export", mostOptions)
}

// option reads an option and responds. It returns an export if the client chose one.
func (h *handshake) option() (*Export, error) {
	var head [16]byte
	if _, err := io.ReadFull(h.in, head[:]); err != nil {
		return nil, fmt.Errorf("read an option: %w", err)
	}
	if m := binary.BigEndian.Uint64(head[:]); m != magicOption {
		return nil, fmt.Errorf("an option starts with %#x instead of %#x", m, uint64(magicOption))
	}
	option, length := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	if length > longestOption {
		if option == optExportName {
			return nil, fmt.Errorf("the name of an export has %d bytes", length)
		}
		if _, err := io.CopyN(io.Discard, h.in, int64(length)); err != nil {
			return nil, fmt.Errorf("read option %d: %w", option, err)
		}
		return nil, h.answer(option, repErrTooBig, nil)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(h.in, data); err != nil {
		return nil, fmt.Errorf("read option %d: %w", option, err)
	}
	switch {
	case option == optExportName:
		return h.exportName(string(data))
	case !h.fixed:
		return nil, fmt.Errorf("the client requested option %d without fixed newstyle negotiation", option)
	case option == optAbort:
		_ = h.answer(option, repAck, nil) // the client need not wait for it
		return nil, errEnded
	case option == optList:
		return nil, h.list(data)
	case option == optInfo, option == optGo:
		return h.info(option, data)
	}
	return nil, h.answer(option, repErrUnsupported, nil)
}

func (h *handshake) find(name string) *Export {
	i := slices.IndexFunc(h.exports, func(e Export) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &h.exports[i]
}

func (h *handshake) exportName(name string) (*Export, error) {
	e := h.find(name)
	if e == nil { // the protocol allows no other answer
		return nil, fmt.Errorf("the client requested unknown export %.100q", name)
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(e.Device.Size()))
	b = binary.BigEndian.AppendUint16(b, e.flags())
	if !h.noZeroes {
		b = append(b, make([]byte, 124)...)
	}
	_, err := h.out.Write(b)
	return e, err
}

func (h *handshake) list(data []byte) error {
	if len(data) != 0 {
		return h.answer(optList, repErrInvalid, nil)
	}
	for _, e := range h.exports {
		if err := h.answer(optList, repServer, append(binary.BigEndian.AppendUint32(nil, uint32(len(e.Name))), e.Name...)); err != nil {
			return err
		}
	}
	return h.answer(optList, repAck, nil)
}

// info answers NBD_OPT_INFO and NBD_OPT_GO; for the latter it returns the export.
func (h *handshake) info(option uint32, data []byte) (*Export, error) {
	name, asked, ok := parseInfo(data)
	if !ok {
		return nil, h.answer(option, repErrInvalid, nil)
	}
	e := h.find(name)
	if e == nil {
		return nil, h.answer(option, repErrUnknown, nil)
	}
	b := binary.BigEndian.AppendUint16(nil, infoExport)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Device.Size()))
	b = binary.BigEndian.AppendUint16(b, e.flags())
	err := h.answer(option, repInfo, b)
	if slices.Contains(asked, infoName) {
		err = errors.Join(err, h.answer(option, repInfo, append(binary.BigEndian.AppendUint16(nil, infoName), e.Name...)))
	}
	b = binary.BigEndian.AppendUint16(b[:0], infoBlockSize)
	for _, size := range []uint32{1, 4096, longestData} { // minimum, preferred and maximum
		b = binary.BigEndian.AppendUint32(b, size)
	}
	err = errors.Join(err, h.answer(option, repInfo, b), h.answer(option, repAck, nil))
	if option == optInfo {
		e = nil
	}
	return e, err
}

// parseInfo reads a length-prefixed name, and the list of requested information.
func parseInfo(data []byte) (name string, asked []uint16, ok bool) {
	if len(data) < 6 {
		return "", nil, false
	}
	length := int64(binary.BigEndian.Uint32(data))
	if length > longestName || int64(len(data)) < 6+length {
		return "", nil, false
	}
	name, data = string(data[4:4+length]), data[4+length:]
	count := int(binary.BigEndian.Uint16(data))
	if data = data[2:]; len(data) != 2*count {
		return "", nil, false
	}
	for ; len(data) > 0; data = data[2:] {
		asked = append(asked, binary.BigEndian.Uint16(data))
	}
	return name, asked, true
}

func (h *handshake) answer(option, kind uint32, data []byte) error {
	b := binary.BigEndian.AppendUint64(nil, magicAnswer)
	b = binary.BigEndian.AppendUint32(b, option)
	b = binary.BigEndian.AppendUint32(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	if _, err := h.out.Write(append(b, data...)); err != nil {
		return fmt.Errorf("answer option %d: %w", option, err)
	}
	return nil
}
