package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Read reads an inventory as JSON and validates it. Unknown keys and trailing data are errors.
// An error names the line on which the entry in question begins.
func Read(r io.Reader) (*Inventory, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read storage inventory: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	f := file{data: data, dec: dec}
	inv, err := f.inventory()
	if err != nil {
		return nil, fmt.Errorf("read storage inventory: line %d: %w", f.line(), err)
	}
	if err := inv.Validate(); err != nil {
		return nil, fmt.Errorf("read storage inventory: %w", err)
	}
	return inv, nil
}

// file is a document that is read entry by entry, so that errors have a position.
type file struct {
	data  []byte
	dec   *json.Decoder
	start int64 // start of the value, or of the white space before it
}

func (f *file) line() int {
	skip := f.start
	for skip < int64(len(f.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), f.data[skip]) >= 0 {
		skip++
	}
	return 1 + bytes.Count(f.data[:skip], []byte("\n"))
}

func (f *file) token() (json.Token, error) {
	f.start = f.dec.InputOffset()
	t, err := f.dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("truncated file")
	}
	return t, err
}

func (f *file) inventory() (*Inventory, error) {
	if t, err := f.token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errors.New("an inventory is an object: begin with {")
	}
	var inv Inventory
	seen := map[string]bool{}
	for f.dec.More() {
		t, err := f.token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		if seen[key] {
			return nil, fmt.Errorf("%q appears twice", key)
		}
		seen[key] = true
		switch key {
		case "datastores":
			inv.Datastores, err = list[Datastore](f, key)
		case "policies":
			inv.Policies, err = list[Policy](f, key)
		case "vms":
			inv.VMs, err = list[VM](f, key)
		default:
			return nil, fmt.Errorf("unknown key %q of an inventory: only datastores, policies and vms", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := f.token(); err != nil {
		return nil, err
	}
	f.start = f.dec.InputOffset()
	if _, err := f.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("trailing data after the inventory")
	}
	return &inv, nil
}

// list reads a list entry by entry; null is an empty list.
func list[T any](f *file, key string) ([]T, error) {
	if t, err := f.token(); err != nil {
		return nil, err
	} else if t == nil {
		return nil, nil
	} else if t != json.Delim('[') {
		return nil, fmt.Errorf("%s is a list: begin with [", key)
	}
	all := []T{}
	for f.dec.More() {
		f.start = f.dec.InputOffset()
		var one T
		if err := f.dec.Decode(&one); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, len(all), plainly(err))
		}
		all = append(all, one)
	}
	_, err := f.token()
	return all, err
}

// plainly rewrites decoder errors that mention Go types.
func plainly(err error) error {
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		return fmt.Errorf("%q must be a %[3]s, not a %[2]s", kind.Field, kind.Value, kind.Type)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("truncated file")
	}
	return err
}
