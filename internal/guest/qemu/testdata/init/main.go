// The init of the guests of the real tests: it answers each line on the virtio port.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

func main() {
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}} {
		_ = os.MkdirAll(m[1], 0o755)
		_ = syscall.Mount(m[0], m[1], m[0], 0, "")
	}
	order, _ := os.ReadFile("/mods/order")
	for _, name := range strings.Fields(string(order)) {
		load("/mods/" + name)
	}
	port, err := os.OpenFile(find(), os.O_RDWR, 0)
	if err != nil {
		fmt.Println("init:", err)
		off()
	}
	lines := bufio.NewScanner(port)
	for {
		for lines.Scan() {
			answer(port, lines.Text())
		}
		lines = bufio.NewScanner(port)
		_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 10e6}, nil)
	}
}

func answer(port *os.File, line string) {
	command, argument, _ := strings.Cut(line, " ")
	switch command {
	case "read":
		b, err := os.ReadFile(argument)
		if err != nil {
			fmt.Fprintln(port, "absent")
			return
		}
		fmt.Fprintf(port, "%q\n", b)
	case "list":
		names, _ := filepath.Glob(argument)
		fmt.Fprintf(port, "%q\n", strings.Join(names, "\n"))
	case "spin":
		go func() {
			for {
			}
		}()
		fmt.Fprintln(port, `"ok"`)
	case "sweep":
		n, _ := strconv.Atoi(argument)
		memory.pages = make([]byte, n<<20)
		go memory.sweep()
		fmt.Fprintln(port, `"ok"`)
	case "swept":
		fmt.Fprintf(port, "%q\n", memory.state())
	case "off":
		off()
	}
}

// swept is memory that is written page by page, with the number of the sweep.
type swept struct {
	mu    sync.Mutex
	pages []byte
	n     uint64
}

var memory swept

const page = 4096

func (s *swept) sweep() {
	for {
		s.mu.Lock()
		s.n++
		s.mu.Unlock()
		for at := 0; at < len(s.pages); at += page {
			s.mu.Lock()
			binary.LittleEndian.PutUint64(s.pages[at:], s.n)
			s.mu.Unlock()
		}
	}
}

// state is the number of the sweep, and whether the pages are those of it up to one page, and of the sweep before from there.
func (s *swept) state() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, sound := s.n, true
	for at := 0; at < len(s.pages); at += page {
		v := binary.LittleEndian.Uint64(s.pages[at:])
		if v == now-1 && now == s.n {
			now = v
		}
		sound = sound && v == now
	}
	return fmt.Sprintf("%d %v", s.n, sound)
}

func off() {
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

func load(path string) {
	f, err := os.Open(path)
	if err == nil {
		empty := []byte{0}
		if _, _, e := syscall.Syscall(313, f.Fd(), uintptr(unsafe.Pointer(&empty[0])), 0); e != 0 && e != syscall.EEXIST {
			err = e
		}
	}
	if err != nil {
		fmt.Println("init:", path, err)
	}
}

// find waits for the port: its driver names it some time after it is loaded.
func find() string {
	for range 500 {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, n := range names {
			if b, _ := os.ReadFile(n); strings.TrimSpace(string(b)) == "plimsoll" {
				return "/dev/" + filepath.Base(filepath.Dir(n))
			}
		}
		_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 10e6}, nil)
	}
	return "no port named plimsoll"
}
