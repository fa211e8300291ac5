package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

// TestbedRecord describes the testbed of a study as facts, always in the same order. In JSON
// it is one object, whose keys are the names.
type TestbedRecord []Fact

// Fact is one property in which testbeds may differ.
type Fact struct {
	Name  string
	Value string // readable text; begins with NotReadable if the fact could not be read
}

// NotReadable is the prefix of the reason why a fact could not be read.
const NotReadable = "not readable: "

// Testbed reads the hardware and configuration of a machine, and of the storage of folder dir.
// It changes nothing and never fails: facts that cannot be read have the reason. Serial
// numbers are not read, and what looks like a secret is redacted.
func Testbed(ctx context.Context, m platform.Machine, dir string) TestbedRecord {
	s := &survey{ctx: ctx, machine: m}
	s.system()
	s.processors()
	s.memory()
	s.kernel()
	s.storage(dir)
	s.described()
	return s.facts
}

// described adds the facts that the platform reports.
func (s *survey) described() {
	m, ok := s.machine.(platform.Described)
	if !ok {
		return
	}
	facts, err := m.Facts(s.ctx)
	if err != nil {
		s.facts = append(s.facts, Fact{"machine", NotReadable + err.Error()})
	}
	for _, f := range facts {
		s.facts = append(s.facts, Fact{f.Name, f.Value})
	}
	if caution, err := m.Caution(s.ctx); err == nil && caution != "" {
		s.facts = append(s.facts, Fact{"caution", caution})
	}
}

// Get returns the value of a fact.
func (t TestbedRecord) Get(name string) (string, bool) {
	i := slices.IndexFunc(t, func(f Fact) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return t[i].Value, true
}

// MarshalJSON writes one object and keeps the order.
func (t TestbedRecord) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range t {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, text := range []string{f.Name, f.Value} {
			quoted, err := json.Marshal(text)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				b.WriteByte(':')
			}
			b.Write(quoted)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads one object of texts and keeps the order.
func (t *TestbedRecord) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(errors.New("a testbed must be an object of strings"), err)
	}
	*t = nil
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		value, err := d.Token()
		if err != nil {
			return err
		}
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("testbed: %v is not a string", name)
		}
		*t = append(*t, Fact{name.(string), text})
	}
	return nil
}

// survey collects facts.
type survey struct {
	ctx     context.Context // of the call of Testbed
	machine platform.Machine
	facts   TestbedRecord
}

func (s *survey) add(name, value string, err error) {
	if err != nil {
		value = NotReadable + strings.Join(strings.Fields(err.Error()), " ")
	}
	s.facts = append(s.facts, Fact{name, value})
}

// file returns the trimmed text of a file.
func (s *survey) file(name string) (string, error) {
	text, err := s.machine.ReadFile(s.ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("no %s", name)
	case err != nil:
		return "", err
	}
	return strings.TrimSpace(strings.TrimRight(string(text), "\x00")), nil
}

// files joins the texts of the readable files.
func (s *survey) files(names ...string) (string, error) {
	var found []string
	var first error
	for _, name := range names {
		text, err := s.file(name)
		if err == nil && text != "" {
			found = append(found, text)
		} else if first == nil {
			first = err
		}
	}
	if len(found) == 0 && first == nil {
		first = fmt.Errorf("%s is empty", names[0])
	}
	if len(found) > 0 {
		first = nil
	}
	return strings.Join(found, " "), first
}

// list returns the names in a folder, sorted; none if it is missing.
func (s *survey) list(folder string) []string {
	r, err := s.machine.Run(s.ctx, platform.Command{Argv: []string{"ls", folder}})
	if err != nil || r.Exit != 0 {
		return nil
	}
	return slices.Sorted(strings.FieldsSeq(string(r.Stdout)))
}
