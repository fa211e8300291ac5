// Package boot is what the first process of a guest does that holds nothing but
// plimsoll: it mounts what programs expect, loads the modules that the initramfs
// brings, gives network interfaces their addresses and serves the machine over the
// virtio port that the lab has opened. When the lab says that it is over, it
// powers the guest off. Each step is a line on the console.
package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/platform"
)

// Options are what a guest's first process has to know. Its further wishes come
// with the kernel's command line:
//
//	plimsoll.name=NAME           the host name; without it, "guest"
//	plimsoll.addr=IF=ADDRESS/N   an address of a network interface; may be repeated
type Options struct {
	Version  string   // of the build
	Self     string   // path of this program
	Programs []string // names under which this program does what others do elsewhere; those that are absent get a link
	Console  io.Writer
	// Open opens the machine to serve, once everything is mounted.
	Open func(ctx context.Context) (platform.Machine, error)
}

// port is the name of the virtio port that leads to the lab.
const port = "plimsoll"

// Init lives as the first process of a guest. It does not return: it powers the
// guest off when the lab says that it is over or when nothing can be done.
func Init(ctx context.Context, o Options) {
	g := &guest{o}
	err := g.live(ctx)
	if err != nil {
		g.say("cannot go on: %v", err)
	}
	g.say("power off")
	unix.Sync()
	// The first way needs a controller that knows how; the second one ends a guest
	// whose hypervisor was told not to start it again.
	err = errors.Join(unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF), unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART))
	g.say("power off: %v", err)
	select {} // the kernel panics when its first process ends
}

type guest struct{ Options }

func (g *guest) say(format string, args ...any) {
	fmt.Fprintf(g.Console, "plimsoll: "+format+"\n", args...)
}

func (g *guest) live(ctx context.Context) error {
	if err := os.Setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin"); err != nil {
		return err
	}
	if err := mountAll(); err != nil {
		return err
	}
	g.say("mounted")
	if err := link(g.Self, g.Programs); err != nil {
		return err
	}
	loaded, err := loadModules("/mods")
	if err != nil {
		g.say("modules: %v", err) // the port may be there without them
	}
	g.say("%d modules", loaded)
	text, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return fmt.Errorf("read the kernel's command line: %w", err)
	}
	w, err := readWishes(string(text))
	if err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(w.name)); err != nil {
		return fmt.Errorf("name the guest: %w", err)
	}
	if err := bringUp(ctx, w.addresses); err != nil {
		return err
	}
	g.say("%s, %d addresses", w.name, len(w.addresses))
	go reapOrphans(ctx)
	return g.serve(ctx)
}

// serve serves one lab after the other, until one says that it is over.
func (g *guest) serve(ctx context.Context) error {
	name, err := findPort(ctx, "/sys/class/virtio-ports", port)
	if err != nil {
		return err
	}
	m, err := g.Open(ctx)
	if err != nil {
		return err
	}
	return g.attend(ctx, name, remote.Server{Machine: m, Version: g.Version})
}

// attend serves one lab after the other over a port, until one says that it is over.
func (g *guest) attend(ctx context.Context, name string, server remote.Server) error {
	for {
		conn, err := openPort(ctx, name)
		if err != nil {
			return err
		}
		g.say("ready on %s", name)
		if err = server.Serve(ctx, conn); err == nil {
			return nil
		}
		<-conn.ctx.Done() // a port can be opened only once at a time
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		g.say("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// Serve serves a machine over the virtio port with a name, the one of Init where that is
// empty, to one lab after the other until the context ends: for machines that have more to
// do than to serve, and that no lab may power off.
func Serve(ctx context.Context, name string, server remote.Server, console io.Writer) error {
	if name == "" {
		name = port
	}
	device, err := findPort(ctx, "/sys/class/virtio-ports", name)
	g := &guest{Options{Console: console}}
	for err == nil {
		err = g.attend(ctx, device, server)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
