package main

import (
	"errors"
	"flag"
	"os"
	"strings"
	"time"

	"plimsoll/bench/guests"
	"plimsoll/bench/measured"
)

// killed is how often a protected guest is killed, and at what interval it takes checkpoints.
type killed struct {
	kills int
	every time.Duration
	// standby is another host for the standby, by ssh; empty for this one.
	standby string
}

// killing reads flags, which are for the benchmark where its name stands before them.
func killing() (k killed, err error) {
	f := flag.NewFlagSet("protection", flag.ContinueOnError)
	f.IntVar(&k.kills, "kills", 100, "kills of the guest's QEMU")
	f.DurationVar(&k.every, "every", 100*time.Millisecond, "interval of checkpoints")
	f.StringVar(&k.standby, "standby", "", "other host for the standby, by ssh: USER@HOST")
	if len(os.Args) < 3 || os.Args[1] != "protection" || !strings.HasPrefix(os.Args[2], "-") {
		return k, nil
	}
	if err := f.Parse(os.Args[2:]); err != nil {
		return k, err
	}
	os.Args = os.Args[:2]
	if f.NArg() > 0 || k.kills < 1 {
		return k, errors.New("there is at least one kill, and nothing stands after the flags")
	}
	return k, nil
}

func (k killed) run() ([]measured.Result, error) { return guests.Kills(k.kills, k.every, k.standby) }
