package nbd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// Command is the word that starts a server in a process of its own.
const Command = "nbd-server"

// Order is what such a process reads, as JSON in one line.
type Order struct {
	Path   string `json:"path"` // of the unix socket
	Export string `json:"export,omitempty"`
	// Disk is file:NAME, memory or null.
	Disk     string  `json:"disk"`
	Size     int64   `json:"size,omitempty"`    // bytes, of what is no file
	Latency  float64 `json:"latency,omitempty"` // seconds, of null
	ReadOnly bool    `json:"read_only,omitempty"`
	// Filters are texts for ParseFilter, nearest to the client first. After daemon: a filter runs in a process of its own.
	Filters []string `json:"filters,omitempty"`
}

// Line is the order as the process reads it.
func (o Order) Line() []byte {
	b, _ := json.Marshal(o) // a Latency that cannot be fails in Serve
	return append(b, '\n')
}

// Open opens the disk with its filters. Self is the program that FilterCommand starts. What Close of the device leaves is ended by
// the function, which also tells what filters counted.
func (o Order) Open(self string) (d Device, end func() ([]Count, error), err error) {
	kind, name, _ := strings.Cut(o.Disk, ":")
	switch kind {
	case "file":
		d, err = OpenFile(name, o.ReadOnly)
	case "memory":
		d, err = NewMemory(o.Size, o.Size)
	case "null":
		d = Null{Bytes: o.Size, Latency: time.Duration(o.Latency * float64(time.Second))}
		if o.Size <= 0 {
			err = fmt.Errorf("a disk of %d bytes", o.Size)
		}
	default:
		err = fmt.Errorf("disk %q is none of file:NAME, memory and null", o.Disk)
	}
	if err != nil {
		return nil, nil, err
	}
	var (
		filters []Filter
		apart   []*Apart
	)
	end = func() (counts []Count, err error) {
		for _, a := range apart {
			err = errors.Join(err, a.Close())
		}
		for _, f := range filters {
			if s, ok := f.(*Stats); ok {
				counts = s.Counts()
			}
		}
		return counts, err
	}
	for _, text := range o.Filters {
		inner, outside := strings.CutPrefix(text, "daemon:")
		f, err := ParseFilter(inner)
		if outside && err == nil {
			var a *Apart
			if a, err = StartApart([]string{self, FilterCommand}, inner); err == nil {
				apart = append(apart, a)
				f = a
			}
		}
		if err != nil {
			_, ended := end()
			return nil, nil, errors.Join(err, ended, d.Close())
		}
		filters = append(filters, f)
	}
	return Filtered(d, filters...), end, nil
}

// Serve is the process: it reads an Order, listens, writes a line once it does, serves until the end of ctx or of its input, and then
// writes what a filter stats has counted, as JSON.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var o Order
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	disk, end, err := o.Open(self)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", o.Path)
	if err != nil {
		_, ended := end()
		return errors.Join(fmt.Errorf("listen for NBD clients: %w", err), ended, disk.Close())
	}
	_, said := fmt.Fprintf(out, "%s listens\n", Command)
	go func() { // whoever started this is gone when the input ends
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	s := Server{Exports: []Export{{Name: o.Export, Device: disk, ReadOnly: o.ReadOnly}}}
	err = errors.Join(said, s.Serve(ctx, l))
	counts, ended := end()
	if counts != nil {
		err = errors.Join(err, json.NewEncoder(out).Encode(counts))
	}
	return errors.Join(err, ended, disk.Close())
}
