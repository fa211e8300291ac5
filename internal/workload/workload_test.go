package workload

import (
	"context"
	"io"
	"net"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
)

// far is a machine from which everything leads to one listener.
type far struct {
	platform.Machine
	to string
}

func (f far) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", f.to)
}

// A service is reached from the machine of the load, and from the process itself where that
// is on the machine.
func TestServicesAreReachedFromTheMachine(t *testing.T) {
	t.Parallel()
	listen := func(says string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, says)
				_ = conn.Close()
			}
		}()
		return l.Addr().String()
	}
	here, there := listen("here"), listen("there")
	for want, e := range map[string]Env{"here": {}, "there": {Machine: far{to: there}}} {
		conn, err := e.Dial(t.Context(), load.Endpoint{Network: "tcp", Address: here})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); string(got) != want || err != nil {
			t.Errorf("%q, %v: want %q", got, err, want)
		}
		_ = conn.Close()
	}
}

func TestExitErrorNamesTheLackOfMemory(t *testing.T) {
	t.Parallel()
	const cause = ": the machine or its control group ran out of memory (OOM killer)"
	for _, test := range []struct {
		err  ExitError
		want string
	}{
		{ExitError{Program: "fio", Exit: -1, Signal: "SIGKILL"}, "fio was ended by signal SIGKILL"},
		{ExitError{Program: "fio", Exit: -1, Signal: "SIGKILL", OutOfMemory: true}, "fio was ended by signal SIGKILL" + cause},
		{ExitError{Program: "fio", Exit: 1, OutOfMemory: true}, "fio ended with status 1" + cause},
		{ExitError{Program: "fio", Exit: 1}, "fio ended with status 1"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
