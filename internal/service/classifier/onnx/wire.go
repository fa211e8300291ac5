package onnx

import (
	"encoding/binary"
	"errors"
	"math"
)

var errWire = errors.New("it is damaged, or no ONNX file")

// field is a field of a message of Protocol Buffers.
type field struct {
	number int
	value  uint64 // of a varint or a fixed number
	data   []byte // of anything with a length
}

// fields calls visit for each field of a message.
//
// Source: the encoding of Protocol Buffers.
func fields(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 || key>>3 == 0 || key>>3 > math.MaxInt32 {
			return errWire
		}
		message = message[n:]
		f := field{number: int(key >> 3)}
		used := 0
		switch key & 7 {
		case 0:
			f.value, used = binary.Uvarint(message)
		case 1:
			if used = 8; len(message) >= used {
				f.value = binary.LittleEndian.Uint64(message)
			}
		case 5:
			if used = 4; len(message) >= used {
				f.value = uint64(binary.LittleEndian.Uint32(message))
			}
		case 2:
			size, n := binary.Uvarint(message)
			if n <= 0 || size > uint64(len(message)-n) {
				return errWire
			}
			f.data = message[n : n+int(size)]
			used = n + int(size)
		}
		if used <= 0 || used > len(message) {
			return errWire
		}
		message = message[used:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// integers appends a repeated integer, packed or not.
func (f field) integers(all []int64) ([]int64, error) {
	if f.data == nil {
		return append(all, int64(f.value)), nil
	}
	for data := f.data; len(data) > 0; {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, errWire
		}
		all, data = append(all, int64(v)), data[n:]
	}
	return all, nil
}

// floats appends little-endian numbers of four bytes.
func floats(all []float32, data []byte) ([]float32, error) {
	if len(data)%4 != 0 {
		return nil, errWire
	}
	for ; len(data) > 0; data = data[4:] {
		all = append(all, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return all, nil
}
