package hub_test

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"plimsoll/internal/agent/fabric"
)

// eavesdrop connects with one agent's key and tries to publish and subscribe to another's
// subjects. The channel gets the server's error for each.
func eavesdrop(t testing.TB, url string, key *fabric.Key, other string) <-chan error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := key.Write(file); err != nil {
		t.Fatal(err)
	}
	option, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 16)
	c, err := nats.Connect(url, option, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Publish("plimsoll."+other+".up", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SubscribeSync("plimsoll." + other + ".down"); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return said
}
