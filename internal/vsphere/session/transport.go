package session

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// mostConnections is the maximum number of idle connections, so that concurrent calls reuse
// them.
const mostConnections = 64

// replyKey is the context key of a function that receives replies.
type replyKey struct{}

// WithPeek passes the whole reply to a call to a function as text, before it is decoded. The
// function must not keep it.
func WithPeek(ctx context.Context, see func([]byte)) context.Context {
	return context.WithValue(ctx, replyKey{}, see)
}

// whole sends requests of unknown length with a content length instead of in chunks: one
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
	answer, err := w.to.RoundTrip(&sized)
	if see, is := r.Context().Value(replyKey{}).(func([]byte)); is && err == nil {
		return seen(answer, see)
	}
	return answer, err
}

// seen reads a reply to its end, and passes it on.
func seen(answer *http.Response, see func([]byte)) (*http.Response, error) {
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	if err := answer.Body.Close(); err != nil {
		return nil, err
	}
	see(text)
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, nil
}
