// Package ssh is the platform of a machine behind the system's ssh. Nothing has to be installed
// there: plimsoll's agent is copied into a scratch folder, is started, and removes the folder
// when the connection ends.
package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/agent/program"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Settings are the settings of the platform.
type Settings struct {
	Host     string   `name:"host" doc:"host name or address, or an alias of the ssh configuration"`
	User     string   `name:"user" doc:"login user; empty is that of the ssh configuration"`
	Port     int      `name:"port" doc:"port of the ssh server; 0 is that of the ssh configuration" min:"0" max:"65535"`
	Identity string   `name:"identity" doc:"private key file; empty is the ssh configuration and ssh-agent"`
	Options  []string `name:"options" doc:"additional ssh options, such as ProxyJump=gateway"`
	Folder   string   `name:"folder" doc:"folder on the machine for plimsoll's agent and the files of workloads; must not be mounted noexec"`
}

// options that a study may set. Others could run programs here, or trust an unknown host: they
// belong into the user's ssh configuration.
var options = []string{
	"AddressFamily", "BindAddress", "BindInterface", "Ciphers", "Compression", "ConnectionAttempts", "ConnectTimeout", "HostKeyAlgorithms", "HostKeyAlias",
	"IPQoS", "KexAlgorithms", "MACs", "ProxyJump", "PubkeyAcceptedAlgorithms", "RekeyLimit", "ServerAliveCountMax", "ServerAliveInterval", "TCPKeepAlive",
	"UserKnownHostsFile",
}

// Kind is the platform's entry in the catalog.
func Kind() platform.Kind { return kind(program.Find) }

// kind takes how the agent for an architecture is found.
func kind(find func(arch string) (string, error)) platform.Kind {
	defaults := Settings{Folder: "/var/tmp"}
	return platform.Kind{
		Needs:    "a host behind ssh",
		Name:     "ssh",
		Doc:      "another machine, over ssh; nothing is installed or left there",
		Defaults: defaults,
		Open: func(ctx context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			s := defaults
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			if err := s.check(); err != nil {
				return nil, err
			}
			m := &machine{settings: s, find: find}
			m.Keep(m.connect)
			if _, err := m.Up(ctx); err != nil {
				return nil, err
			}
			return &testbed{m}, nil
		},
	}
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:%-]*$`)

// check refuses values that ssh or a shell could misinterpret.
func (s Settings) check() error {
	switch {
	case s.Host == "":
		return errors.New("platform ssh requires the setting host")
	case !plainWord.MatchString(s.Host):
		return fmt.Errorf("%q is not the name of a host", s.Host)
	case s.User != "" && !plainWord.MatchString(s.User):
		return fmt.Errorf("%q is not the name of a user", s.User)
	case !path.IsAbs(s.Folder) || strings.ContainsAny(s.Folder, "'\n\x00"):
		return fmt.Errorf("folder %q is not an absolute path without quotes", s.Folder)
	}
	for _, o := range s.Options {
		key, value, found := strings.Cut(o, "=")
		if !found || !slices.Contains(options, key) || strings.ContainsAny(value, "\n\x00") {
			return fmt.Errorf("option %q is not one that a study may set (%s); set others in the user's ssh configuration", o, strings.Join(options, ", "))
		}
	}
	return nil
}

// args are the arguments of ssh, up to the command.
func (s Settings) args() []string {
	args := []string{
		// No prompts, no terminal, no forwarding; unknown host keys are refused.
		"-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no",
		"-o", "PermitLocalCommand=no", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "EscapeChar=none", "-o", "LogLevel=ERROR",
	}
	for _, o := range s.Options {
		args = append(args, "-o", o)
	}
	args = append(args, "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5") // the first that is given counts
	if s.Port != 0 {
		args = append(args, "-p", fmt.Sprint(s.Port))
	}
	if s.User != "" {
		args = append(args, "-l", s.User)
	}
	if s.Identity != "" {
		args = append(args, "-i", home(s.Identity), "-o", "IdentitiesOnly=yes")
	}
	return append(args, "--", s.Host)
}

// home expands ~/ at the beginning of a path.
func home(name string) string {
	if rest, found := strings.CutPrefix(name, "~/"); found {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return name
}

// testbed is the platform, open.
type testbed struct{ machine *machine }

// Machine is the machine behind ssh.
func (t *testbed) Machine() platform.Machine { return t.machine }

// Scratch is a folder on the machine for workloads. It stays when the connection is lost, so
// that a run can go on; the run itself removes it.
func (t *testbed) Scratch() string {
	name, err := os.Hostname()
	if err != nil || !plainWord.MatchString(name) {
		name = "lab"
	}
	return path.Join(t.machine.settings.Folder, fmt.Sprintf("plimsoll-%s-%d", name, os.Getuid()))
}

// Close ends the agent, which removes itself.
func (t *testbed) Close() error { return t.machine.close() }
