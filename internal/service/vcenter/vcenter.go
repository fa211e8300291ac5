// Package vcenter is the service vcenter: a vCenter simulator in a process of its own, or a vCenter
// that the user provides.
package vcenter

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/live"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Protocol is that of vSphere's interface.
const Protocol = "vsphere"

// Settings are what a study may set.
type Settings struct {
	Address    string `name:"address" doc:"host:port of a vCenter you provide; empty starts a simulator"`
	User       string `name:"user" doc:"user at a vCenter you provide"`
	Password   string `name:"password" doc:"source of that user's password: env:NAME or file:PATH"`
	Cluster    string `name:"cluster" doc:"DATACENTER/CLUSTER at a vCenter you provide; empty where it has one"`
	Thumbprint string `name:"thumbprint" doc:"SHA-256 thumbprint of the certificate of a vCenter you provide; empty verifies it by the host's trust store"`
	CA         string `name:"ca" doc:"absolute path of a PEM file with the certificate authority of a vCenter you provide, instead of a thumbprint"`

	Hosts   int                `name:"hosts" doc:"hosts of the simulator" min:"1" max:"2000"`
	VMs     int                `name:"vms" doc:"VMs of the simulator, besides those of the load" min:"0" max:"30000"`
	Seed    int                `name:"seed" doc:"random seed of the simulator's inventory" min:"0" max:"1000000000"`
	Time    parameter.Duration `name:"time" doc:"mean modelled time of an operation; 0s is none: the rate is then the ceiling of simulator and client" max:"1h"`
	Spread  parameter.Share    `name:"spread" doc:"standard deviation of that time, as a share of it; the distribution is log-normal"`
	PerHost int                `name:"per_host" doc:"operations that a host of the simulator carries out at once; the others queue; 0 is no limit" min:"0" max:"1000"`

	Inventory string `name:"inventory" doc:"same: all trials have the inventory of the seed; block: each block has another one, the same for its trials, and each trial a fresh simulator" choices:"same,block"`
	Load      int    `name:"load" doc:"mean demand of CPU over a week in percent of what the hosts of the simulator have, as far as VMs are large enough; 0 is 50" min:"0" max:"100"`
	Skew      int    `name:"skew" doc:"VMs in a hundred that run on the first fifth of the simulator's hosts whatever their load" min:"0" max:"100"`
	Speed     int    `name:"speed" doc:"speed of the simulator's time: 60 is a minute in a second. Above 1 the demand of VMs changes every minute of it" min:"1" max:"3600"`
	DRS       string `name:"drs" doc:"what DRS of the simulator does, every 5 minutes of its time: recommend moves, or make them if fullyAutomated" choices:"off,manual,partiallyAutomated,fullyAutomated"`

	Policies int    `name:"policies" doc:"storage policies of the simulator, which the homes and disks of its VMs have in turn" min:"0" max:"1000"`
	Checks   string `name:"checks" doc:"incremental: a check of compliance judges what has changed since the last one; full: the whole inventory of the simulator" choices:"incremental,full"`
}

func defaults() Settings {
	return Settings{Hosts: 64, VMs: 1000, Seed: 1, Checks: incremental, Inventory: same, Skew: 10, Speed: 1, DRS: "manual"}
}

// Which trials have the same inventory.
const (
	same  = "same"
	block = "block"
)

// The checks of compliance.
const (
	incremental = "incremental"
	full        = "full"
)

// Kind is the service as the catalog lists it.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Name:   "vcenter",
		Doc:    "vCenter: the built-in simulator in a process of its own, or one you provide",
		Speaks: []string{Protocol},
		Metrics: []measure.Metric{
			{Name: "vcenter.cpu", Unit: "1", Doc: "CPUs used by the simulator"},
			{Name: "vcenter.memory", Unit: "B", Doc: "resident memory of the simulator", Better: measure.LowerIsBetter},
		},
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	at, err := service.Provided(s.Address, s, defaults(), "user", "password", "cluster", "thumbprint", "ca")
	switch {
	case err != nil:
		return nil, err
	case at == nil && (s.User != "" || s.Password != "" || s.Cluster != "" || s.Thumbprint != "" || s.CA != ""):
		return nil, errors.New("user, password, cluster, thumbprint and ca require address, as they are for a vCenter you provide")
	case at == nil && s.Spread > 0 && s.Time == 0:
		return nil, errors.New("spread requires time")
	case at == nil:
		_, err := s.spec(0)
		return &vcenter{Settings: s}, err
	case at.Endpoint.Network != "tcp":
		return nil, fmt.Errorf("address %s must be host:port", s.Address)
	case s.User == "" || s.Password == "":
		return nil, errors.New("a vCenter you provide needs user and password, which is a reference: env:NAME or file:PATH")
	case !strings.HasPrefix(s.Password, "env:") && !strings.HasPrefix(s.Password, "file:"):
		return nil, errors.New("password: give a reference, env:NAME or file:PATH, not the password itself")
	case s.CA != "" && s.Thumbprint != "":
		return nil, errors.New("ca and thumbprint are mutually exclusive")
	case s.CA != "" && !filepath.IsAbs(s.CA):
		return nil, errors.New("ca must be an absolute path")
	}
	e := at.Endpoint
	e.Authority = s.CA
	e.User, e.Secret, e.Database, e.Thumbprint, e.TLS = s.User, s.Password, s.Cluster, s.Thumbprint, true
	return &vcenter{Settings: s, at: &e}, nil
}

type vcenter struct {
	Settings
	at *load.Endpoint // nil: a simulator is to be started
}

// Check reports whether the machine can start the simulator, or reaches the vCenter.
func (v *vcenter) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	if v.at != nil {
		_, err := (live.Address{Parameters: map[string]string{"password": v.Password}}).Secret("password")
		if err == nil {
			err = answers(ctx, env.Machine, *v.at)
		}
		return service.Needs{}, err
	}
	if err := sameArchitecture(ctx, env.Machine); err != nil {
		return service.Needs{}, err
	}
	return service.Needs{Time: time.Second + time.Duration(v.VMs)*time.Millisecond}, nil
}

// sameArchitecture is an error where a machine with plimsoll-agent, which lacks the simulator, cannot run the program that runs here.
func sameArchitecture(ctx context.Context, m platform.Machine) error {
	program, err := service.Self(ctx, m)
	if err != nil || !service.Lean(program) {
		return err
	}
	own, err := os.ReadFile("/proc/sys/kernel/arch")
	if err != nil {
		return nil // an older kernel: the start tells
	}
	theirs, err := m.ReadFile(ctx, "/proc/sys/kernel/arch")
	if err == nil && string(theirs) != string(own) {
		err = fmt.Errorf("machine %s has plimsoll-agent, which lacks the vCenter simulator, and is of another architecture than this one: use platform local, or set the address of a vCenter", m.Name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Varies reports whether each block has a simulator with another inventory.
func (v *vcenter) Varies() bool { return v.at == nil && v.Inventory == block }

// Endpoints implements service.External.
func (v *vcenter) Endpoints() map[string]load.Endpoint {
	if v.at == nil {
		return nil
	}
	return map[string]load.Endpoint{Protocol: *v.at}
}

// Start starts the simulator on a port chosen by the kernel, or uses the running vCenter.
func (v *vcenter) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	if v.at != nil {
		l, err := v.live(ctx, env.Machine, *v.at)
		if err != nil {
			return nil, err
		}
		return service.Use(l), nil
	}
	password, err := secret()
	if err != nil {
		return nil, err
	}
	return service.Own{
		Name: "the vCenter simulator", Command: Command, Whole: true,
		Options: func(place service.Location) ([]byte, error) {
			return json.Marshal(order{Settings: v.texts(), Block: env.Block, Host: place.Host, Dir: place.Dir, Password: password.text})
		},
		Ready: func(ctx context.Context, line []byte) (service.Live, error) {
			var g greeting
			if err := json.Unmarshal(line, &g); err != nil {
				return service.Live{}, fmt.Errorf("its first line is %q: %w", line, err)
			}
			l, err := v.live(ctx, env.Machine, load.Endpoint{Network: "tcp", Address: g.Address, TLS: true, Thumbprint: g.Thumbprint, User: user, Secret: password.reference()})
			l.Observe = func(ctx context.Context) (map[string]string, error) {
				now, err := ask(ctx, env.Machine, g.Control)
				return now.Settings, err
			}
			l.Count = func(ctx context.Context) (map[string]float64, error) {
				now, err := ask(ctx, env.Machine, g.Control)
				return now.Counters, err
			}
			return l, err
		},
	}.Start(ctx, env)
}

// live is a vCenter that answers.
func (v *vcenter) live(ctx context.Context, m platform.Machine, at load.Endpoint) (service.Live, error) {
	return service.Live{Endpoints: map[string]load.Endpoint{Protocol: at}}, answers(ctx, m, at)
}

// answers has a TLS handshake with a vCenter. Who uses it verifies the certificate.
func answers(ctx context.Context, m platform.Machine, at load.Endpoint) error {
	conn, err := service.Dial(ctx, m, at)
	if err != nil {
		return err
	}
	defer conn.Close()
	handshake := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nothing is sent
	if err := handshake.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("%s does not speak TLS: %w", at.Address, err)
	}
	return nil
}

// texts are the settings as text.
func (s Settings) texts() parameter.Settings {
	texts := parameter.Settings{}
	for _, f := range parameter.Fields(s) {
		if texts[f.Name] = f.Default; f.Kind == parameter.KindDuration && f.Default == "" {
			texts[f.Name] = "0s"
		}
	}
	return texts
}
