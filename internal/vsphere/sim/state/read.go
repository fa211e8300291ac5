package state

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Read reads a file of Save, to its end.
func Read(from io.Reader) (*State, error) {
	packed, err := gzip.NewReader(bufio.NewReader(from))
	if err != nil {
		return nil, errors.New("it is not a file that plimsoll vcenter has saved")
	}
	s, t := new(State), tar.NewReader(packed)
	ended := false
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && ended {
			break
		}
		if err != nil || ended || n > mostEntries {
			return nil, fmt.Errorf("it is truncated or damaged: %w", cause(err))
		}
		if n == 0 && h.Name != headerName {
			return nil, errors.New("it is not a file that plimsoll vcenter has saved")
		}
		ended = h.Name == endName
		if err := s.entry(h, t); err != nil {
			return nil, fmt.Errorf("entry %.200q: %w", h.Name, err)
		}
	}
	if _, err := io.Copy(io.Discard, packed); err != nil { // the checksum is at the end
		return nil, fmt.Errorf("it is truncated or damaged: %w", err)
	}
	return s, nil
}

func cause(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// entry reads an entry of the archive.
func (s *State) entry(h *tar.Header, from io.Reader) error {
	limit := int64(mostEntry)
	if strings.HasPrefix(h.Name, filesDir) {
		limit = mostFile
	}
	if h.Size > limit {
		return fmt.Errorf("it has %d bytes, and at most %d are read", h.Size, limit)
	}
	text, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return fmt.Errorf("it is truncated or damaged: %w", err)
	}
	switch {
	case h.Name == headerName:
		if err := json.Unmarshal(text, &s.header); err != nil {
			return err
		}
		if s.Format != format {
			return fmt.Errorf("the file has format %d, but this version of plimsoll reads format %d", s.Format, format)
		}
		if !filepath.IsAbs(s.Folder) {
			return fmt.Errorf("the folder %.200q of the datastores is not absolute", s.Folder)
		}
	case strings.HasPrefix(h.Name, objectsDir):
		return s.object(text)
	case h.Name == partName:
		return decode(text, &s.parts)
	case h.Name == policyName:
		s.Policies = text
	case strings.HasPrefix(h.Name, filesDir):
		name := path.Clean(strings.TrimPrefix(h.Name, filesDir))
		if !filepath.IsLocal(name) {
			return errors.New("the name leaves its folder")
		}
		s.files = append(s.files, file{name: name, folder: h.Typeflag == tar.TypeDir, text: text})
	case h.Name != endName:
		return errors.New("the format has no such entry")
	}
	return nil
}

func (s *State) object(text []byte) error {
	var c types.ObjectContent
	if err := decode(text, &c); err != nil {
		return err
	}
	if _, known := made(c.Obj.Type); !known || c.Obj.Value == "" {
		return fmt.Errorf("there are no objects of type %.100q", c.Obj.Type)
	}
	s.objects = append(s.objects, c)
	return nil
}
