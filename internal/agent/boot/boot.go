// Package boot is the init process of a guest without an image. It mounts the usual file
// systems, loads the kernel modules of the initramfs, sets the addresses of network
// interfaces and serves the machine over the virtio port of the lab. When the lab ends the
// session, it powers the guest off. Each step prints a line on the console.
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

// Options configure a guest's init process. More options come from the kernel command line:
//
//	plimsoll.name=NAME           the host name; without it, "guest"
//	plimsoll.addr=IF=ADDRESS/N   an address of a network interface; may be repeated
//	plimsoll.lab=cd              the lab is reached over the network, with the ticket on a CD
type Options struct {
	Version  string   // version of plimsoll
	Self     string   // path of this program
	Programs []string // names of the programs in this binary; those missing in /bin get a link
	Console  io.Writer
	// Open returns the machine to serve, after all file systems are mounted.
	Open func(ctx context.Context) (platform.Machine, error)
}

// port is the name of the virtio port of the lab.
const port = "plimsoll"

// Init runs as the init process of a guest. It does not return: it powers the guest off
// when the lab ends the session or after a failure.
func Init(ctx context.Context, o Options) {
	g := &guest{o}
	err := g.live(ctx)
	if err != nil {
		g.say("cannot go on: %v", err)
	}
	g.say("power off")
	unix.Sync()
	// A power-off requires ACPI or a similar controller; a reset ends a guest whose
	// hypervisor was started with -no-reboot.
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
		g.say("modules: %v", err) // the port may exist without them
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
	if w.ticketOnCD {
		return g.serveTicket(ctx)
	}
	return g.serve(ctx)
}

// serve serves one lab after the other, until one ends the session.
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

// attend serves one lab after the other over a port, until one ends the session.
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
		<-conn.ctx.Done() // a port can be opened by one process at a time
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		g.say("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// Serve serves a machine over the named virtio port (default: the port of Init) to one lab
// after the other until the context ends. It is for machines with other tasks, which no lab
// may power off.
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
