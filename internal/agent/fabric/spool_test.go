package fabric

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func spoolAt(t testing.TB, folder string, most int64) *Spool {
	t.Helper()
	s, err := OpenSpool(folder, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A spool is a queue, whatever happens to it: restarts, full disks that take a part
// of a record, acknowledgements in any steps, large and small records.
func TestTheSpoolIsAQueue(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		folder := t.TempDir()
		s := spoolAt(t, folder, 0)
		name := s.name
		var oracle []string // record i+1
		acked := uint64(0)
		for range 60 {
			switch rng.IntN(6) {
			case 0:
				_ = s.Close()
				s = spoolAt(t, folder, 0)
				if s.name != name {
					t.Fatal("the spool has another name after a restart")
				}
				acked = min(acked, s.acked) // what was acknowledged may come again
			case 1:
				s.write = func(f *os.File, p []byte) (int, error) {
					n, _ := f.Write(p[:rng.IntN(len(p))])
					return n, syscall.ENOSPC
				}
				if _, err := s.Append([]byte("lost")); !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("a full disk is no error: %v", err)
				}
				s.write = func(f *os.File, p []byte) (int, error) { return f.Write(p) }
			case 2:
				if n := uint64(len(oracle)); n > acked {
					acked += 1 + rng.Uint64N(n-acked)
					if err := s.acknowledge(acked); err != nil {
						t.Fatal(err)
					}
				}
			default:
				text := strings.Repeat(fmt.Sprint(len(oracle)), rng.IntN(200_000))
				n, err := s.Append([]byte(text))
				if oracle = append(oracle, text); err != nil || n != uint64(len(oracle)) {
					t.Fatalf("record %d got number %d, %v", len(oracle), n, err)
				}
			}
			for i, want := range oracle {
				got, err := s.read(uint64(i + 1))
				if err != nil || uint64(i) >= s.acked && string(got) != want {
					t.Fatalf("seed %d: record %d has %d bytes, not %d, %v", seed, i+1, len(got), len(want), err)
				}
			}
			if s.acked > acked || s.Waiting() != len(oracle)-int(s.acked) {
				t.Fatalf("seed %d: %d wait of %d, %d acknowledged", seed, s.Waiting(), len(oracle), acked)
			}
		}
	}
}

func TestASpoolHasAnEnd(t *testing.T) {
	s := spoolAt(t, t.TempDir(), 1000)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = s.Append(make([]byte, 90))
	}
	if !errors.Is(err, ErrSpoolFull) || n < 8 || n > 12 {
		t.Errorf("after %d records: %v", n, err)
	}
	if err := s.acknowledge(uint64(n - 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(make([]byte, 90)); err != nil {
		t.Errorf("an empty spool takes nothing: %v", err)
	}
	if _, err := s.Append(make([]byte, MaxRecord+1)); err == nil {
		t.Error("a record that no message can carry is taken")
	}
}

func TestAcknowledgedRecordsLeaveTheDisk(t *testing.T) {
	folder := t.TempDir()
	s := spoolAt(t, folder, 0)
	for range 40 {
		if _, err := s.Append(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.acknowledge(40); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	parts, _ := filepath.Glob(filepath.Join(folder, "*"+partSuffix))
	for _, p := range parts {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if len(parts) != 1 || size != 0 {
		t.Errorf("%d bytes in %d files are left", size, len(parts))
	}
}

func FuzzPart(f *testing.F) {
	dir := f.TempDir()
	p, err := openPart(filepath.Join(dir, partName(7)), 7)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "one", "two"} {
		if err := p.append([]byte(text), (*os.File).Write); err != nil {
			f.Fatal(err)
		}
	}
	whole, err := os.ReadFile(p.file.Name())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), partName(7))
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := openPart(name, 7)
		if err != nil {
			t.Fatal(err)
		}
		defer p.file.Close()
		n := len(p.ends)
		if err := p.append([]byte("next"), (*os.File).Write); err != nil {
			t.Fatal(err)
		}
		again, err := openPart(name, 7)
		if err != nil || len(again.ends) != n+1 {
			t.Fatalf("%d records became %d, %v", n+1, len(again.ends), err)
		}
		defer again.file.Close()
		if last, err := again.read(n); err != nil || string(last) != "next" {
			t.Errorf("the last record is %q, %v", last, err)
		}
	})
}

func ledgerAt(t testing.TB, folder string) *Ledger {
	t.Helper()
	l, err := OpenLedger(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Records that come twice, late or with one missing before them are passed over, and
// a line that was half written when the lab died does not count.
func TestTheLedgerTakesEachRecordOnce(t *testing.T) {
	folder := t.TempDir()
	l := ledgerAt(t, folder)
	record := func(agent string, n uint64) Record {
		return Record{Agent: agent, Spool: "s", Number: n, Data: number(n)}
	}
	if err := l.Append([]Record{record("a", 1), record("a", 1), record("b", 1), record("a", 3), record("a", 2), record("b", 2)}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "records.jsonl")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"agent":"a","spool":"s","number":3,"da`); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	again := ledgerAt(t, folder)
	if again.Last("a", "s") != 2 || again.Last("b", "s") != 2 {
		t.Errorf("a: %d, b: %d", again.Last("a", "s"), again.Last("b", "s"))
	}
	if err := again.Append([]Record{record("a", 2), record("a", 3)}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]uint64{}
	err = again.Read(func(r Record) error {
		if seen[r.Agent]++; r.Number != seen[r.Agent] || string(r.Data) != fmt.Sprint(r.Number) {
			return fmt.Errorf("record %d of %s holds %s and comes as number %d", r.Number, r.Agent, r.Data, seen[r.Agent])
		}
		return nil
	})
	if err != nil || seen["a"] != 3 || seen["b"] != 2 {
		t.Errorf("%v, %v", seen, err)
	}
	if missed := again.skip("a", "s", 9); missed != 5 || again.Last("a", "s") != 8 {
		t.Errorf("%d records are in another ledger", missed)
	}
	if missed := again.skip("a", "s", 2); missed != 0 || again.Last("a", "s") != 8 {
		t.Error("the ledger goes backwards")
	}
}

func number(n uint64) json.RawMessage { return json.RawMessage(fmt.Sprint(n)) }
