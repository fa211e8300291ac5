package session

import (
	"bytes"
	"io"
	"net/http"
)

// mostConnections are kept open, so that concurrent calls do not each open their own.
const mostConnections = 64

// whole sends a request whose length is not known with its length instead of in chunks: one
// write, and no buffer of 32 KiB.
type whole struct{ to http.RoundTripper }

func (w whole) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.ContentLength != 0 || r.Method != http.MethodPost {
		return w.to.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := r.Body.Close(); err != nil {
		return nil, err
	}
	sized := *r
	sized.ContentLength = int64(len(body))
	sized.Body = io.NopCloser(bytes.NewReader(body))
	sized.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return w.to.RoundTrip(&sized)
}
