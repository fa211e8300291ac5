package network

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// preparedTest is a test that the reflector is ready for.
type preparedTest struct {
	session *peer.Session
	asked   peer.Test
	ready   peer.Ready
	address string // where the data goes
}

// Run runs the test until stage.Length or until the recorder has enough. It ends with
// an error as soon as the reflector does.
func (n *network) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) (err error) {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	session, err := dial(ctx, env)
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // the reflector ends the test when it is gone
	t := preparedTest{session: session, asked: n.asked()}
	t.asked.Stamp = uint32(stage.Seed) ^ uint32(time.Now().UnixNano())
	if t.ready, err = session.Prepare(ctx, t.asked); err != nil {
		return err
	}
	t.address = session.At(t.ready.Port)
	if n.stream() {
		return n.runStream(ctx, t, stage, out)
	}
	return n.runExchange(ctx, t, stage, out)
}

// observe records the settings as the two kernels report them.
func (t preparedTest) observe(n *network, seen equipment, out *measure.Recorder) {
	for name, v := range map[string]int{"flows": n.Flows, "threads": n.Threads, "burst": n.Burst} {
		out.Observe("network."+name, strconv.Itoa(v))
	}
	if n.Buffer > 0 {
		out.Observe("network.socket_buffer", buffers(n.Buffer, seen.send, seen.receive))
	}
	if n.Remote > 0 {
		out.Observe("network.remote_buffer", buffers(n.Remote, t.ready.SendBuffer, t.ready.ReceiveBuffer))
	}
	if n.protocol() == "tcp" {
		on := seen.noDelay
		if t.ready.NoDelay != n.NoDelay {
			on = t.ready.NoDelay
		}
		out.Observe("network.nodelay", strconv.FormatBool(on))
	}
}

// buffers is the size of a pair of socket buffers, of which Linux tells twice what
// was asked: that of the one which is not as asked, if any.
func buffers(asked parameter.Bytes, send, receive int) string {
	for _, size := range []int{send, receive} {
		if size != 2*int(asked) {
			return parameter.Bytes(size / 2).String()
		}
	}
	return asked.String()
}

// far records the reflector's own figures.
func far(r peer.Report, out *measure.Recorder) {
	seconds := r.Elapsed.Seconds()
	if seconds <= 0 {
		return
	}
	out.Value("server.cpu", r.CPU.Seconds()/seconds)
	if r.Messages > 0 {
		out.Value("server.cpu_per_operation", r.CPU.Seconds()/float64(r.Messages))
	}
	if m := r.Machine; m != nil {
		out.Value("server.busy", m.Busy.Seconds()/seconds)
		out.Value("server.interrupts", float64(m.Interrupts)/seconds)
		out.Value("server.softirqs", float64(m.SoftIRQs)/seconds)
	}
}

// operations is what all intervals counted so far, and how long they are.
func operations(out *measure.Recorder) (sum measure.Sample, length time.Duration) {
	for _, in := range out.Intervals() {
		length += in.To - in.From
		for _, s := range in.Samples {
			sum.Add(s)
		}
	}
	return sum, length
}

// strange warns of datagrams that belong to nothing.
func strange(c peer.Counts) string {
	if c.Strange == 0 {
		return ""
	}
	return fmt.Sprintf("; %d datagrams came that belong to no flow of the test", c.Strange)
}
