// Package netem adds latency to a link by the kernel's network emulator, without tc: it talks to the kernel by
// rtnetlink. It is for guests, which hold nothing but plimsoll; what it sets is read back from the kernel.
//
// The emulator sits where packets leave a link: a delay adds to one direction, and to a round trip once for each side that has one.
package netem

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Settings apply to each packet sent.
type Settings struct {
	Delay time.Duration `json:"delay,omitempty"` // added, in nanoseconds
	Limit uint32        `json:"limit,omitempty"` // queue limit in packets; 0 means DefaultLimit
}

// DefaultLimit is how many packets may wait where nothing else is asked for. It is more than tc's 1,000, which a delay of 10 ms fills at
// 1.2 Gbit/s, so that what is asked for as latency does not become loss.
const DefaultLimit = 100_000

// longest is the longest delay, as a guard against a wrong unit.
const longest = 100 * time.Second

// check validates settings, and sets defaults.
func (s Settings) check() (Settings, error) {
	if s.Delay < 0 || s.Delay > longest {
		return s, fmt.Errorf("a delay of %v: must be from 0 to %v", s.Delay, longest)
	}
	if s.Limit == 0 {
		s.Limit = DefaultLimit
	}
	return s, nil
}

// State is what holds packets that leave a link.
type State struct {
	Link string `json:"link"`
	// Root is the kind of the queueing discipline at the root; "" where the kernel tells none.
	Root string `json:"root"`
	// Default reports that the kernel chose it.
	Default bool `json:"default"`
	// Netem is the settings of the emulator; nil if there is none.
	Netem *Settings `json:"netem,omitempty"`
	// Foreign is true where the emulator has further settings, such as jitter, loss or a rate.
	Foreign bool `json:"foreign,omitempty"`
}

// Read asks the kernel what holds packets that leave a link.
func Read(link string) (State, error) {
	var s State
	err := talk(link, func(c *conversation) (err error) {
		s, err = c.read()
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("read the network emulator of %s: %w", link, err)
	}
	return s, nil
}

// set puts an emulator on a link, or changes the one that is there. It refuses where somebody else gave the link another queueing
// discipline, which would be lost. What the kernel has then is returned.
func set(link string, s Settings) (State, error) {
	var now State
	err := talk(link, func(c *conversation) error {
		s, err := s.check()
		if err != nil {
			return err
		}
		if now, err = c.read(); err != nil {
			return err
		}
		if now.Netem == nil && !now.Default && now.Root != "" {
			return fmt.Errorf("the interface has a queueing discipline %s, which this would replace: remove it first (tc qdisc del dev %s root)", now.Root, link)
		}
		if now.Foreign { // a change in place would keep the other settings
			if err := c.change(deleteMessage(c.index)); err != nil {
				return err
			}
		}
		if err := c.change(replaceMessage(c.index, s)); err != nil {
			return err
		}
		now, err = c.read()
		if err == nil && now.Netem == nil {
			err = fmt.Errorf("the kernel has %q after the settings were applied", now.Root)
		}
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("set the network emulator of %s: %w", link, err)
	}
	return now, nil
}

// remove takes the emulator from a link, where there is one, and leaves everything else. What the kernel has then is returned.
func remove(link string) (State, error) {
	var now State
	err := talk(link, func(c *conversation) (err error) {
		if now, err = c.read(); err != nil || now.Netem == nil {
			return err
		}
		if err = c.change(deleteMessage(c.index)); err != nil {
			return err
		}
		now, err = c.read()
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("remove the network emulator of %s: %w", link, err)
	}
	return now, nil
}

// Command is the word that starts a process that does one of these.
const Command = "netem"

// Order is what such a process reads, as JSON.
type Order struct {
	Do       string   `json:"do"` // read, set or remove
	Link     string   `json:"link"`
	Settings Settings `json:"settings"`
}

// Line is the order as the process reads it.
func (o Order) Line() []byte {
	b, _ := json.Marshal(o) // texts and numbers always can be
	return append(b, '\n')
}

// Serve is the process: it reads an Order, obeys, and writes the State that the kernel has then, as JSON.
func Serve(in io.Reader, out io.Writer) error {
	var o Order
	d := json.NewDecoder(io.LimitReader(in, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var (
		s   State
		err error
	)
	switch o.Do {
	case "read":
		s, err = Read(o.Link)
	case "set":
		s, err = set(o.Link, o.Settings)
	case "remove":
		s, err = remove(o.Link)
	default:
		err = errors.New("the job must be read, set or remove")
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(s)
}
