package libvirt

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// daemonURI names a daemon and the driver in it, as libvirt's own tools have it.
type daemonURI struct {
	Driver string // what the daemon opens, such as qemu:///system
	Socket string // of the daemon
}

// modular are the sockets of daemons with a single driver; without them libvirtd has all.
var modular = map[string]string{"qemu": "virtqemud-sock"}

// parseURI parses URIs such as qemu:///system and qemu:///session, with +unix and ?socket=PATH.
// Only sockets of this machine are supported.
func parseURI(text string) (daemonURI, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return daemonURI{}, fmt.Errorf("%q is not a libvirt connection URI: must be one such as qemu:///system", text)
	}
	driver, transport, _ := strings.Cut(u.Scheme, "+")
	if u.Host != "" || transport != "" && transport != "unix" {
		return daemonURI{}, fmt.Errorf("%q: only local sockets are supported: forward the remote socket "+
			"(ssh -L /tmp/libvirt.sock:/run/libvirt/libvirt-sock HOST) and use %s+unix://%s?socket=/tmp/libvirt.sock", text, driver, u.Path)
	}
	query := u.Query()
	socket := query.Get("socket")
	query.Del("socket")
	if len(query) > 0 {
		return daemonURI{}, fmt.Errorf("%q: the only supported parameter is socket", text)
	}
	if socket == "" {
		if socket, err = socketOf(driver, u.Path); err != nil {
			return daemonURI{}, err
		}
	}
	return daemonURI{driver + "://" + u.Path, socket}, nil
}

// socketOf is the default socket of a daemon; a session daemon's is in the user's runtime folder.
func socketOf(driver, path string) (string, error) {
	folder := "/run/libvirt"
	if path == "/session" {
		run := os.Getenv("XDG_RUNTIME_DIR")
		if run == "" {
			home, err := os.UserCacheDir()
			if err != nil {
				return "", errors.New("find the user's libvirt daemon: neither XDG_RUNTIME_DIR nor HOME is set")
			}
			run = home
		}
		folder = filepath.Join(run, "libvirt")
	}
	if name, ok := modular[driver]; ok {
		if name = filepath.Join(folder, name); exists(name) {
			return name, nil
		}
	}
	return filepath.Join(folder, "libvirt-sock"), nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// CheckURI says what is wrong with the URI of a daemon.
func CheckURI(uri string) error {
	_, err := parseURI(uri)
	return err
}
