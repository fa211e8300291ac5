// Package netem adds latency to a link by the kernel's network emulator, without tc: it uses
// rtnetlink directly. It is for guests, which contain nothing but plimsoll; settings are read
// back from the kernel.
//
// The emulator acts on packets that leave a link: a delay affects one direction, and a round
// trip once for each side with a delay.
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

// DefaultLimit is the default queue limit in packets. It exceeds tc's 1,000, which a delay of
// 10 ms fills at 1.2 Gbit/s, so that latency does not turn into loss.
const DefaultLimit = 100_000

// longest is the maximum delay, to catch a wrong unit.
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

// State is the queueing discipline of a link.
type State struct {
	Link string `json:"link"`
	// Root is the kind of the queueing discipline at the root; "" if the kernel reports none.
	Root string `json:"root"`
	// Default reports that the kernel chose it.
	Default bool `json:"default"`
	// Netem is the settings of the emulator; nil if there is none.
	Netem *Settings `json:"netem,omitempty"`
	// Foreign is true if the emulator has further settings, such as jitter, loss or a rate.
	Foreign bool `json:"foreign,omitempty"`
}

// Read reads the queueing discipline of a link.
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

// set adds an emulator to a link, or changes the present one. It refuses to replace another
// queueing discipline that somebody set. It returns the resulting state.
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

// remove removes the emulator of a link, if there is one, and nothing else. It returns the
// resulting state.
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

// Command is the internal command that starts such a process.
const Command = "netem"

// Order is the input of the process, as JSON.
type Order struct {
	Do       string   `json:"do"` // read, set or remove
	Link     string   `json:"link"`
	Settings Settings `json:"settings"`
}

// Line is the order as the process reads it.
func (o Order) Line() []byte {
	b, _ := json.Marshal(o) // strings and numbers can always be marshalled
	return append(b, '\n')
}

// Serve is the process: it reads an Order, carries it out, and writes the resulting State, as
// JSON.
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
