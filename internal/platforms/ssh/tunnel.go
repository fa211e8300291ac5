package ssh

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/agent/program"
	"plimsoll/internal/agent/scratch"
)

// tunnel is a running ssh as a connection.
type tunnel struct {
	in      *bufio.Reader // standard output of ssh
	said    *os.File      // the pipe of in
	out     io.WriteCloser
	cmd     *exec.Cmd
	stderr  *complaints
	over    chan struct{} // closed when ssh has ended
	closing sync.Once
}

// script runs in sh on the far side, whatever the login shell: it reports the machine type,
// receives the agent and becomes it. Until then, a trap removes the folder.
const script = `set -e
umask 077
echo "plimsoll $(uname -s) $(uname -m)"
read -r size
dir='%[1]s'
mkdir "$dir"
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
head -c "$size" > "$dir/%[2]s"
[ "$(wc -c < "$dir/%[2]s")" -eq "$size" ]
chmod 700 "$dir/%[2]s"
"$dir/%[2]s" version
exec "$dir/%[2]s" serve "$dir"`

// parting is how long ssh may take to end after a failed connection.
const parting = 5 * time.Second

// dial logs in, copies the agent and starts it.
func (m *machine) dial(ctx context.Context) (*tunnel, error) {
	text := fmt.Sprintf(script, path.Join(m.settings.Folder, scratch.Prefix+rand.Text()), program.Name)
	t, err := launch(append(m.settings.args(), "exec sh -c "+quote(text)))
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() { _ = t.Close() })
	defer release()
	if err := m.carry(t); err != nil {
		limit, cancel := context.WithTimeout(context.Background(), parting)
		defer cancel()
		_ = t.wait(limit)
		return nil, t.explain(ctx, err)
	}
	return t, nil
}

// carry is the near side of the script.
func (m *machine) carry(t *tunnel) error {
	system, err := t.line("plimsoll ")
	if err != nil {
		return err
	}
	kernel, hardware, _ := strings.Cut(system, " ")
	arch := map[string]string{"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x"}[hardware]
	if kernel != "Linux" || arch == "" {
		return fmt.Errorf("the machine is %s, and plimsoll's agent runs on 64-bit Linux", system)
	}
	name, err := m.find(arch)
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(t.out, "%d\n", info.Size()); err != nil {
		return err
	}
	if _, err := io.Copy(t.out, f); err != nil {
		return fmt.Errorf("copy the agent: %w", err)
	}
	_, err = t.line(program.Name + " ")
	if err != nil {
		return fmt.Errorf("start the agent in folder %s; is it mounted noexec? (setting folder): %w", m.settings.Folder, err)
	}
	return nil
}

// mostChatter limits the output of a login before the script's, in bytes.
const mostChatter = 1 << 20

// line waits for a line with a prefix and returns its rest. Other output of the login is
// skipped.
func (t *tunnel) line(prefix string) (string, error) {
	for read := 0; read < mostChatter; {
		line, err := t.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
		read += len(line)
		if rest, found := strings.CutPrefix(string(line), prefix); found && err == nil {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("the login prints more than %d bytes without an end", mostChatter)
}

// quote quotes a text for any shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// launch starts ssh in a process group of its own, so that interrupts at the terminal do not
// reach it. It ends with its standard input.
func launch(args []string) (*tunnel, error) {
	t := &tunnel{cmd: exec.Command("ssh", args...), stderr: &complaints{}, over: make(chan struct{})}
	t.cmd.Stderr = t.stderr
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if t.out, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// The pipe of exec is closed when ssh ends, before all output is read.
	said, saying, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t.cmd.Stdout = saying
	t.in, t.said = bufio.NewReader(said), said
	err = t.cmd.Start()
	_ = saying.Close()
	if err != nil {
		_ = said.Close()
		return nil, fmt.Errorf("start ssh (install the OpenSSH client): %w", err)
	}
	go func() {
		_ = t.cmd.Wait() // its standard error is more specific than its status
		close(t.over)
	}()
	return t, nil
}

// Read reads from the agent.
func (t *tunnel) Read(p []byte) (int, error) { return t.in.Read(p) }

// Write writes to the agent.
func (t *tunnel) Write(p []byte) (int, error) { return t.out.Write(p) }

// Close ends the connection and a Read under way: the agent sees the end of its
// input, and ssh ends with the agent.
func (t *tunnel) Close() (err error) {
	t.closing.Do(func() { err = errors.Join(t.out.Close(), t.said.Close()) })
	return err
}

// wait waits until ssh has ended, and kills it at the end of the context.
func (t *tunnel) wait(ctx context.Context) error {
	_ = t.Close()
	select {
	case <-t.over:
		return t.complaint()
	case <-ctx.Done():
		_ = t.cmd.Process.Kill()
		<-t.over
		return errors.Join(context.Cause(ctx), t.complaint())
	}
}

// complaint is the standard error of a failed ssh.
func (t *tunnel) complaint() error {
	if t.cmd.ProcessState.Success() {
		return nil
	}
	if text := t.stderr.text(); text != "" {
		return errors.New(text)
	}
	return nil
}

// explain adds the standard error of ssh to an error.
func (t *tunnel) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	text := t.stderr.text()
	if strings.Contains(text, "Host key verification failed") || strings.Contains(text, "host key is known") {
		text += " (log in once by hand with ssh, and compare the key of the machine)"
	}
	switch {
	case text == "":
		return err
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE):
		return errors.New(text) // ssh is more specific than EOF
	}
	return fmt.Errorf("%s: %w", text, err)
}

// complaints keeps the tail of ssh's standard error.
type complaints struct {
	mu   sync.Mutex
	data []byte
}

// mostComplaints is the size of the tail, in bytes.
const mostComplaints = 4 << 10

// Write appends to the tail.
func (c *complaints) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data = append(c.data, p...)
	c.data = c.data[max(0, len(c.data)-mostComplaints):]
	return len(p), nil
}

func (c *complaints) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(strings.FieldsFunc(string(bytes.TrimSpace(c.data)), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
