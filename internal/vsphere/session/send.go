package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/vsphere/envelope"
)

// send makes a call to an endpoint. Common messages bypass govmomi's general XML encoder and
// decoder, which cost more than the rest of a small call.
func send(ctx context.Context, to *soap.Client, request, response soap.HasFault) error {
	var session string
	if to.Cookie != nil {
		cookie := to.Cookie()
		if cookie == nil || cookie.Value == "" {
			return to.RoundTrip(ctx, request, response)
		}
		session = cookie.Value
	}
	if ctx.Value(replyKey{}) != nil || ctx.Value(types.ID{}) != nil {
		return to.RoundTrip(ctx, request, response)
	}
	text, plain := envelope.Request(request, session)
	if !plain {
		return to.RoundTrip(ctx, request, response)
	}
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	call := &http.Request{
		Method: http.MethodPost, URL: to.URL(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: to.URL().Host, ContentLength: int64(len(text)), GetBody: body,
		Header: http.Header{"Content-Type": {`text/xml; charset="utf-8"`}, "Soapaction": {to.Namespace + "/" + to.Version}},
	}
	call.Body, _ = body()
	return to.Do(ctx, call, func(answer *http.Response) error { return read(answer, to.Types, response) })
}

// usual is how long replies are at most that are read at once.
const usual = 1 << 20

// content is the text of a reply.
func content(answer *http.Response) ([]byte, error) {
	if n := answer.ContentLength; n >= 0 && n <= usual {
		text := make([]byte, n)
		_, err := io.ReadFull(answer.Body, text)
		return text, err
	}
	return io.ReadAll(answer.Body)
}

// read reads the reply to a call, with values of some types.
func read(answer *http.Response, kinds types.Func, response soap.HasFault) error {
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusInternalServerError {
		return &url.Error{Op: http.MethodPost, URL: answer.Request.URL.Path, Err: errors.New(answer.Status)}
	}
	text, err := content(answer)
	if err != nil {
		return err
	}
	if answer.StatusCode == http.StatusOK && envelope.Reply(text, response) {
		return nil
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.TypeFunc = kinds
	if err := d.Decode(&soap.Envelope{Body: response}); err != nil {
		return err
	}
	if f := response.Fault(); f != nil {
		return soap.WrapSoapFault(f)
	}
	return nil
}
