// Package session is an authenticated session with a vCenter: verified TLS, login and renewal,
// keep-alive, and a transport that sends small requests in one piece.
package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/load"
)

const (
	// keepAlive is the interval of calls that prevent the expiry of an idle session, after 30
	// minutes by default.
	keepAlive = 5 * time.Minute
	// answerLimit is the time limit of one call. Waits for tasks and updates consist of
	// shorter calls.
	answerLimit = 2 * time.Minute
	logoutLimit = 10 * time.Second
)

// Session is a session with a vCenter. Its methods may be called concurrently.
type Session struct {
	at     live.Address
	client *vim25.Client
	bare   *soap.Client
	Limit  time.Duration // time limit of one call
	stop   context.CancelFunc
	idle   sync.WaitGroup

	login  sync.Mutex // held during a login
	logins int        // successful ones
	user   string     // the vCenter's name of the account
}

// Address is the address of a vCenter that is the service of a study.
func Address(of load.Endpoint) (live.Address, error) {
	if of.URL != "" {
		return live.ParseAddress(of.URL)
	}
	at := live.Address{Scheme: "vsphere", User: of.User, Host: of.Address, Path: of.Database, Parameters: map[string]string{"password": of.Secret}, Dial: of.Dial}
	if of.Thumbprint != "" {
		at.Parameters["thumbprint"] = of.Thumbprint
	}
	if of.Authority != "" {
		at.Parameters["ca"] = of.Authority
	}
	return at, nil
}

// Open connects to the vCenter of an address, verifies it, and logs in.
func Open(ctx context.Context, at live.Address) (*Session, error) {
	if err := at.Allow("password", "ca", "thumbprint"); err != nil {
		return nil, err
	}
	if at.Host == "" || at.User == "" || at.Parameters["password"] == "" {
		return nil, &live.Mistake{Err: errors.New("the address of a vCenter needs a user, a host and a reference to the password: vsphere://user@host/datacenter/cluster?password=file:PATH")}
	}
	if _, err := at.Secret("password"); err != nil { // before any connection
		return nil, err
	}
	verified, err := trust(at)
	if err != nil {
		return nil, &live.Mistake{Err: err}
	}
	of := &url.URL{Scheme: "https", Host: at.Host, Path: vim25.Path}
	if _, err := url.Parse(of.String()); err != nil { // govmomi would panic
		return nil, &live.Mistake{Err: fmt.Errorf("%q must be a host, with or without a port", at.Host)}
	}
	bare := soap.NewClient(of, false)
	bare.UserAgent = "plimsoll"
	transport := bare.DefaultTransport()
	transport.TLSClientConfig, transport.DialTLSContext = verified, nil
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, mostConnections
	if at.Dial != nil {
		transport.DialContext = at.Dial
	}
	bare.Transport = whole{transport}
	bare.Namespace, bare.Version = "urn:"+vim25.Namespace, vim25.Version

	s := &Session{at: at, bare: bare, Limit: answerLimit}
	if s.client, err = vim25.NewClient(ctx, bare); err != nil {
		return nil, fmt.Errorf("connect to vCenter %s: %w", at.Host, explain(err))
	}
	s.client.RoundTripper = s
	if !s.client.IsVC() {
		return nil, fmt.Errorf("%s is %s: a vCenter is required for a live cluster", at.Host, s.client.ServiceContent.About.FullName)
	}
	if err := s.authenticate(ctx, 0); err != nil {
		return nil, err
	}
	alive, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.idle.Go(func() { s.stayAlive(alive) })
	return s, nil
}

// Client makes calls in this session.
func (s *Session) Client() *vim25.Client { return s.client }

// User is the vCenter's name of the account.
func (s *Session) User() string {
	s.login.Lock()
	defer s.login.Unlock()
	return s.user
}

// RoundTrip makes a call. If the session has expired or the vCenter was restarted, it logs in
// again and repeats the call, which was refused without effect.
func (s *Session) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limit, fmt.Errorf("vCenter %s did not answer within %v", s.at.Host, s.Limit))
	defer cancel()
	logins := s.count()
	err := send(ctx, s.bare, request, response)
	if fault.Is(err, &types.NotAuthenticated{}) || err == nil && anonymous(response) {
		if err := s.authenticate(ctx, logins); err != nil {
			return err
		}
		reflect.ValueOf(response).Elem().SetZero()
		err = send(ctx, s.bare, request, response)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return explain(err)
}

// Renewed is the number of renewed logins, after an expired session or a restart of the
// vCenter.
func (s *Session) Renewed() int { return s.count() - 1 }

func (s *Session) count() int {
	s.login.Lock()
	defer s.login.Unlock()
	return s.logins
}

// authenticate logs in unless another caller has done so since the given number of logins. It
// reads the password each time, as it may have changed.
func (s *Session) authenticate(ctx context.Context, since int) error {
	s.login.Lock()
	defer s.login.Unlock()
	if s.logins > since {
		return nil
	}
	password, err := s.at.Secret("password")
	if err != nil {
		return err
	}
	answer, err := methods.Login(ctx, s.bare, &types.Login{This: *s.client.ServiceContent.SessionManager, UserName: s.at.User, Password: password, Locale: "en_US"})
	if fault.Is(err, &types.InvalidLogin{}) {
		return &Refused{fmt.Sprintf("vCenter %s refused the login of %s: check the user name, and the password that the address refers to", s.at.Host, s.at.User)}
	}
	if err != nil {
		return fmt.Errorf("log in to vCenter %s as %s: %w", s.at.Host, s.at.User, explain(err))
	}
	s.logins++
	s.user = answer.Returnval.UserName
	return nil
}

func (s *Session) stayAlive(ctx context.Context) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// The next call reports any failure.
			_, _ = methods.GetCurrentTime(ctx, s)
		}
	}
}

// Close logs out.
func (s *Session) Close() error {
	s.stop()
	s.idle.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), logoutLimit)
	defer cancel()
	_, err := methods.Logout(ctx, s.bare, &types.Logout{This: *s.client.ServiceContent.SessionManager})
	s.bare.CloseIdleConnections()
	if err != nil && !fault.Is(err, &types.NotAuthenticated{}) {
		return fmt.Errorf("log out of vCenter %s: %w", s.at.Host, err)
	}
	return nil
}
