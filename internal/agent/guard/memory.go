package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/charset"
)

// setting is the state of a kernel setting before a lab wrote it.
type setting struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// chosen is the selected value if the kernel lists all: "none [mq-deadline]".
func chosen(text string) (value string, ok bool) {
	found := 0
	for _, part := range strings.Split(text, "[")[1:] {
		if word, _, closed := strings.Cut(part, "]"); closed && word != "" && !strings.ContainsAny(word, charset.Space) {
			value = word
			found++
		}
	}
	return value, found == 1
}

// formerOf returns the text that restores the present value of a setting.
func formerOf(text string) string {
	if value, ok := chosen(text); ok {
		return value
	}
	return strings.TrimSuffix(text, "\n")
}

// remember saves the value of a setting to disk before its first change, with all other
// settings that the lab has claimed, since the kernel may change them as well. A write-only
// setting cannot be restored; the write is allowed nevertheless.
func (w *Machine) remember(ctx context.Context, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := len(w.former)
	for _, file := range append(slices.Clone(w.claimed), name) {
		if slices.ContainsFunc(w.former, func(s setting) bool { return s.File == file }) {
			continue
		}
		text, err := w.ReadFile(ctx, file)
		if file == name && errors.Is(err, fs.ErrNotExist) {
			w.former = w.former[:known]
			return err
		}
		if err == nil {
			w.former = append(w.former, setting{file, formerOf(string(text))})
		}
	}
	if len(w.former) == known {
		return nil
	}
	if err := w.save(); err != nil {
		w.former = w.former[:known]
		return fmt.Errorf("save %s before it is written: %w", name, err)
	}
	return nil
}

// rounds limits the passes of Restore, since a write to one setting may change another.
const rounds = 3

// Restore restores all settings that were written since the last call, newest first. The
// next call retries failures.
func (w *Machine) Restore(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.former) == 0 {
		return nil
	}
	var failed []setting
	var all error
	for range rounds {
		if failed, all = w.putBack(ctx); all == nil {
			break
		}
	}
	w.former = failed
	return errors.Join(all, w.save())
}

// putBack makes one pass over the settings and returns those that still differ.
func (w *Machine) putBack(ctx context.Context) (failed []setting, all error) {
	trouble := map[string]error{}
	for _, s := range slices.Backward(w.former) {
		if now, err := w.ReadFile(ctx, s.File); err == nil && formerOf(string(now)) == s.Text {
			continue
		}
		if err := w.Whole.WriteFile(ctx, s.File, []byte(s.Text)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			trouble[s.File] = err
		}
	}
	for _, s := range w.former {
		now, err := w.ReadFile(ctx, s.File)
		if errors.Is(err, fs.ErrNotExist) || err == nil && formerOf(string(now)) == s.Text || err != nil && trouble[s.File] == nil {
			continue
		}
		if err = trouble[s.File]; err == nil {
			err = fmt.Errorf("the kernel reports %q", formerOf(string(now)))
		}
		failed = append(failed, s)
		all = errors.Join(all, fmt.Errorf("restore %s to %q: %w", s.File, s.Text, err))
	}
	return failed, all
}

func (w *Machine) save() error {
	if len(w.former) == 0 {
		err := os.Remove(w.rules.Memory)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	text, err := json.Marshal(w.former)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(w.rules.Memory), 0o700); err != nil {
		return err
	}
	fresh := w.rules.Memory + ".new"
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, w.rules.Memory)
}

// recall reads the settings that an earlier guard did not restore.
func (w *Machine) recall() error {
	text, err := os.ReadFile(w.rules.Memory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the settings to restore: %w", err)
	}
	if err := json.Unmarshal(text, &w.former); err != nil {
		return fmt.Errorf("read the settings to restore from %s: %w", w.rules.Memory, err)
	}
	return nil
}
