package outpost

import (
	"bytes"
	"errors"

	"plimsoll/internal/guest/pages"
)

const (
	// empty marks the number of a page without data: one of zeros.
	empty = 1 << 31
	// batch is the number of bytes of pages from which a frame is sent.
	batch = 256 << 10
)

var zeros [pages.Size]byte

// appendPage appends a page: its number and its data.
func appendPage(payload []byte, page int, data []byte) []byte {
	if bytes.Equal(data, zeros[:]) {
		return append(payload, number(page|empty)...)
	}
	return append(append(payload, number(page)...), data...)
}

// eachPage calls put for the pages of a frame.
func eachPage(payload []byte, put func(page int, data []byte) error) (err error) {
	for len(payload) > 0 {
		var page int
		if page, payload, err = take(payload); err != nil {
			return err
		}
		data := zeros[:]
		if page&empty == 0 {
			if len(payload) < pages.Size {
				return errors.New("a page is cut off")
			}
			data, payload = payload[:pages.Size], payload[pages.Size:]
		}
		if err := put(page&^empty, data); err != nil {
			return err
		}
	}
	return nil
}

// stream is a target at the other end of a wire.
type stream struct {
	wire    *wire
	size    int64 // bytes
	touched func() ([]int, error)
	flushed func() error // the other end has all pages
	pages   []byte       // to be sent
}

func (s *stream) Touched() (written []int, of int, err error) {
	written, err = s.touched()
	return written, int(s.size / pages.Size), err
}

func (s *stream) Close() error { return nil }

func (s *stream) Put(page int, data []byte) error {
	if s.pages = appendPage(s.pages, page, data); len(s.pages) < batch {
		return nil
	}
	return s.sendPages()
}

func (s *stream) sendPages() error {
	err := s.wire.send(kindPages, s.pages)
	s.pages = s.pages[:0]
	return err
}

func (s *stream) Flush() error {
	if len(s.pages) > 0 {
		if err := s.sendPages(); err != nil {
			return err
		}
	}
	return s.flushed()
}
