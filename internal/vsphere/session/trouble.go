package session

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/connection"
)

// Refused is an error that repeating the call will not cure: a refused login, or a
// certificate that is not trusted.
type Refused struct{ text string }

// Error says what was refused, and what to do.
func (r *Refused) Error() string { return r.text }

// Permanent reports whether connecting again is in vain.
func Permanent(err error) bool {
	var refused *Refused
	return errors.As(err, &refused) || fault.Is(err, &types.NoPermission{}) || fault.Is(err, &types.InvalidLogin{})
}

// anonymous reports whether properties are missing from a reply because the session had expired: reads of properties
// are answered all the same.
func anonymous(response soap.HasFault) bool {
	var objects []types.ObjectContent
	switch body := response.(type) {
	case *methods.RetrievePropertiesExBody:
		if body.Res != nil && body.Res.Returnval != nil {
			objects = body.Res.Returnval.Objects
		}
	case *methods.RetrievePropertiesBody:
		if body.Res != nil {
			objects = body.Res.Returnval
		}
	}
	if len(objects) == 0 || len(objects[0].MissingSet) == 0 {
		return false
	}
	_, is := objects[0].MissingSet[0].Fault.Fault.(*types.NotAuthenticated)
	return is
}

// explain says what to do about an untrusted certificate, and about a vCenter that is not reached.
func explain(err error) error {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) && len(untrusted.UnverifiedCertificates) > 0 {
		return &Refused{fmt.Sprintf("its certificate is not trusted: %v. Its SHA-256 thumbprint is %s: compare it with that on the vCenter, then add thumbprint=... or ca=FILE to the address",
			untrusted.Err, thumbprint(untrusted.UnverifiedCertificates[0]))}
	}
	return connection.Explain(err)
}
