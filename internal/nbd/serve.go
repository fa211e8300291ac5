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
)

// Command is the internal command that starts a server process.
const Command = "nbd-server"

// Order is the input of the process, as JSON on one line.
type Order struct {
	Path string `json:"path"` // of the unix socket
	File string `json:"file"` // of the disk
	// Filters are texts for ParseFilter, nearest to the client first. After daemon: a filter runs in a process of its own.
	Filters []string `json:"filters,omitempty"`
	// Epochs has the disk buffer writes, as orders say (see Epoch).
	Epochs bool `json:"epochs,omitempty"`
}

// Line is the order as the process reads it.
func (o Order) Line() []byte {
	b, _ := json.Marshal(o) // strings can always be marshalled
	return append(b, '\n')
}

// open opens the disk with its filters. Self is the program that runs FilterCommand.
func (o Order) open(self string) (Device, *chain, error) {
	file, err := openFile(o.File)
	if err != nil {
		return nil, nil, err
	}
	c, d := &chain{}, Device(file)
	if o.Epochs {
		c.epochs = newEpochs(file)
		d = c.epochs
	}
	for _, text := range o.Filters {
		if err := c.add(self, text); err != nil {
			_, ended := c.end()
			return nil, nil, errors.Join(err, ended, d.Close())
		}
	}
	return withFilters(d, c.filters...), c, nil
}

// chain is the filters of an order, with their processes.
type chain struct {
	filters []Filter
	apart   []*Apart
	epochs  *epochs // nil unless the order has them
}

func (c *chain) add(self, text string) error {
	inner, outside := strings.CutPrefix(text, "daemon:")
	f, err := ParseFilter(inner)
	if err != nil {
		return err
	}
	if outside {
		a, err := startFiltering([]string{self, FilterCommand}, inner)
		if err != nil {
			return err
		}
		c.apart, f = append(c.apart, a), a
	}
	c.filters = append(c.filters, f)
	return nil
}

func (c *chain) counts() (counts []Count) {
	for _, f := range c.filters {
		if s, ok := f.(*stats); ok {
			counts = s.Counts()
		}
	}
	return counts
}

func (c *chain) end() (counts []Count, err error) {
	for _, a := range c.apart {
		err = errors.Join(err, a.Close())
	}
	return c.counts(), err
}

// Status is the status of a server.
type Status struct {
	Filters []string `json:"filters"` // as in the order
	// Apart are the ids of the filter processes.
	Apart   []int   `json:"apart,omitempty"`
	Clients int     `json:"clients"` // open connections
	Counts  []Count `json:"counts,omitempty"`
}

// Ask is a line of input that requests the Status, as JSON on one line.
const Ask = "\"status\"\n"

// Epoch is an order, in quotes on a line, to a server with epochs. A line with an Outcome answers it.
type Epoch string

// The orders about epochs. At first nothing is buffered.
const (
	AdmitEpoch   Epoch = "admit"   // until the next mark no write waits for room: the client is about to stop
	MarkEpoch    Epoch = "mark"    // the epoch ends, and another begins, whose writes are buffered
	CommitEpoch  Epoch = "commit"  // what was marked is written to the disk
	DiscardEpoch Epoch = "discard" // what was not committed is forgotten
	EndEpochs    Epoch = "end"     // all is written to the disk, and nothing is buffered any more
)

// Outcome is the answer to an Epoch.
type Outcome struct {
	Error string `json:"error,omitempty"`
}

// Serve is the process: it reads an Order, listens, and writes a line. It serves until the end
// of ctx or of its input, and then writes the counts of a filter stats, as JSON. Meanwhile it
// answers each Ask and each Epoch.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var o Order
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	disk, chain, err := o.open(self)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", o.Path)
	if err != nil {
		_, ended := chain.end()
		return errors.Join(fmt.Errorf("listen for NBD clients: %w", err), ended, disk.Close())
	}
	s := &Server{Exports: []Export{{Device: disk}}}
	_, said := fmt.Fprintf(out, "%s listens\n", Command)
	go func() { // the parent has ended when the input ends
		for {
			var ask string
			if d.Decode(&ask) != nil || json.NewEncoder(out).Encode(o.answer(ctx, ask, s, chain)) != nil {
				cancel()
				return
			}
		}
	}()
	err = errors.Join(said, s.Serve(ctx, l))
	counts, ended := chain.end()
	if counts != nil {
		err = errors.Join(err, json.NewEncoder(out).Encode(counts))
	}
	return errors.Join(err, ended, disk.Close())
}

// answer is the answer to a line of input.
func (o Order) answer(ctx context.Context, ask string, s *Server, c *chain) any {
	if ask == "status" {
		return o.status(s, c)
	}
	err := errors.New("the disk has no epochs")
	if c.epochs != nil {
		err = c.epochs.obey(ctx, Epoch(ask))
	}
	if err != nil {
		return Outcome{err.Error()}
	}
	return Outcome{}
}

func (o Order) status(s *Server, c *chain) Status {
	st := Status{Filters: append([]string{}, o.Filters...), Clients: int(s.clients.Load()), Counts: c.counts()}
	for _, a := range c.apart {
		if id := a.alive(); id > 0 {
			st.Apart = append(st.Apart, id)
		}
	}
	return st
}
