package hub_test

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/agent/fabric"
)

// An agent with an allowed key is still untrusted: its own name and address are used in files
// of the lab, in output, and as the target of loads.
func TestWhatAHostileAgentSaysOfItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(o *fabric.AgentOptions)
		want   string // empty for an agent that joins
	}{
		"honest":              {func(o *fabric.AgentOptions) { o.Name, o.Facts.Scratch = "Node_1.example-2", "/var/tmp/with space/" }, ""},
		"nameless":            {func(o *fabric.AgentOptions) { o.Name = "" }, ""},
		"upward":              {func(o *fabric.AgentOptions) { o.Name = "/../../../../etc/cron.d/x" }, "name"},
		"absolute":            {func(o *fabric.AgentOptions) { o.Name = "/etc/passwd" }, "name"},
		"folder":              {func(o *fabric.AgentOptions) { o.Name = ".." }, "name"},
		"zero byte":           {func(o *fabric.AgentOptions) { o.Name = "a\x00" }, "name"},
		"two lines":           {func(o *fabric.AgentOptions) { o.Name = "a\nplimsoll: done" }, "name"},
		"escape":              {func(o *fabric.AgentOptions) { o.Name = "a\x1b[2Jb" }, "name"},
		"reversed":            {func(o *fabric.AgentOptions) { o.Name = "a\u202eb" }, "name"},
		"option":              {func(o *fabric.AgentOptions) { o.Name = "-rf" }, "name"},
		"long":                {func(o *fabric.AgentOptions) { o.Name = strings.Repeat("a", 201) }, "name"},
		"scratch upward":      {func(o *fabric.AgentOptions) { o.Facts.Scratch = "/tmp/../etc" }, "scratch"},
		"scratch relative":    {func(o *fabric.AgentOptions) { o.Facts.Scratch = "etc" }, "scratch"},
		"scratch of all":      {func(o *fabric.AgentOptions) { o.Facts.Scratch = "/" }, "scratch"},
		"scratch, two lines":  {func(o *fabric.AgentOptions) { o.Facts.Scratch = "/a\n/b" }, "scratch"},
		"scratch, long":       {func(o *fabric.AgentOptions) { o.Facts.Scratch = "/" + strings.Repeat("a", 4096) }, "scratch"},
		"address of a name":   {func(o *fabric.AgentOptions) { o.Facts.Address = "victim.example" }, "address"},
		"kernel":              {func(o *fabric.AgentOptions) { o.Facts.Kernel = "\x1b]0;x\x07" }, "printable"},
		"version":             {func(o *fabric.AgentOptions) { o.Facts.Version = strings.Repeat("1", 10_000) }, "256 bytes"},
		"cores":               {func(o *fabric.AgentOptions) { o.Facts.Cores = -1 }, "cores"},
		"memory":              {func(o *fabric.AgentOptions) { o.Facts.Memory = -1 << 63 }, "memory"},
		"more than a message": {func(o *fabric.AgentOptions) { o.Facts.Scratch = "/" + strings.Repeat("a", 1<<20) }, "sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := newKey(t)
			r := newRig(t, key).start()
			logged := make(chan string, 256)
			w := r.join(key, func(o *fabric.AgentOptions) {
				c.change(o)
				o.Log = tell(logged)
			})
			if c.want == "" {
				r.await(1)
				return
			}
			if c.want == "sent" { // it is not admitted, and retries
				await(t, logged, "the end of a session")
			} else if err := await(t, w.ended, "the refusal"); !errors.Is(err, fabric.ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the agent ended with %v, want %q", err, c.want)
			}
			if m := r.lab.Members(); len(m) != 0 {
				t.Errorf("it joined: %+v", m)
			}
		})
	}
}
